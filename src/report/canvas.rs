//! Drawing in SVG: shapes with classes, one style sheet for the page and one for files that stand alone.

use std::fmt::Write;

use super::number::escape;

const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif";

/// Colours by role: name, on light paper, on dark paper.
pub(crate) const ROLES: [(&str, &str, &str); 16] = [
    ("paper", "#ffffff", "#15191c"),
    ("ink", "#1c2226", "#e7eaec"),
    ("muted", "#59646c", "#9eaab2"),
    ("rule", "#c3cace", "#47525a"),
    ("grid", "#e8ebed", "#283036"),
    ("panel", "#f5f7f8", "#1c2226"),
    ("truth", "#1f66a8", "#73b1ec"),
    ("guess", "#c4451b", "#f58a5f"),
    ("s0", "#1f66a8", "#73b1ec"),
    ("s1", "#c4451b", "#f58a5f"),
    ("s2", "#16805f", "#4cc39b"),
    ("s3", "#8a4fa3", "#c594dc"),
    ("s4", "#9a7400", "#dcb94a"),
    ("s5", "#b13c78", "#ec86b8"),
    ("s6", "#4c5f6e", "#aebfca"),
    ("s7", "#2d8aa0", "#6cc9dd"),
];

/// Lines a figure can tell apart by colour.
pub(crate) const SERIES: usize = 8;

/// The rules of every drawing; `$role` stands for a colour.
fn rules() -> String {
    let mut rules = format!(
        ".p-text{{font-family:{FONTS};font-size:13px;fill:$ink}}\
         .p-small{{font-size:12px}}.p-strong{{font-weight:600}}.p-muted{{fill:$muted}}\
         .p-halo{{stroke:$paper;stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke}}\
         .p-axis,.p-grid,.p-minor{{fill:none;stroke-width:1px}}\
         .p-axis{{stroke:$rule}}.p-minor{{stroke:$rule}}.p-grid{{stroke:$grid}}\
         .p-guide{{fill:none;stroke:$muted;stroke-width:1.2px;stroke-dasharray:5 4}}\
         .p-truth{{fill:none;stroke:$truth;stroke-width:1.3px}}\
         .p-truth-dots{{fill:none;stroke:$truth;stroke-width:5.5px;stroke-linecap:round}}\
         .p-guess{{fill:none;stroke:$guess;stroke-width:2px;stroke-dasharray:7 4}}\
         .p-input{{fill:none;stroke:$ink;stroke-width:1.4px;stroke-linejoin:round}}\
         .p-bar{{fill:none;stroke:$truth;stroke-width:1.4px}}\
         .p-fine-dots{{fill:none;stroke:$truth;stroke-width:3px;stroke-linecap:round;stroke-opacity:.55}}\
         .p-mark{{fill:$truth;stroke:$paper;stroke-width:1.2px}}\
         .p-mark-known{{fill:$paper;stroke:$ink;stroke-width:1.6px}}\
         .p-ring{{stroke:$ink;stroke-width:1.5px}}\
         .p-over{{fill:none;stroke:#fff;stroke-width:2px;stroke-linejoin:round}}\
         .p-under{{fill:none;stroke:#101417;stroke-width:4px;stroke-opacity:.75;stroke-linejoin:round}}\
         .p-dashed{{stroke-dasharray:7 4}}\
         .p-pin{{fill:#fff;stroke:#101417;stroke-width:1.6px}}\
         .p-void{{fill:$panel;stroke:none}}\
         .p-cross{{fill:none;stroke:$guess;stroke-width:1.6px;stroke-linecap:round}}\
         .p-light{{fill:none;stroke:$truth;stroke-width:.9px;stroke-opacity:.6;stroke-linejoin:round}}\
         .p-plain{{fill:none;stroke:$truth;stroke-width:1.6px;stroke-linejoin:round}}\
         .p-heavy{{fill:none;stroke:$guess;stroke-width:1.8px;stroke-linejoin:round}}\
         .p-chosen{{fill:$guess;stroke:$paper;stroke-width:1.5px}}\
         .p-fit{{fill:none;stroke:$guess;stroke-width:1.8px;stroke-linejoin:round}}\
         .p-band{{fill:$guess;fill-opacity:.16;stroke:none}}.p-range{{fill:$truth;fill-opacity:.16;stroke:none}}\
         .p-below{{fill:$paper;stroke:$truth;stroke-width:1.4px}}\
         .p-event{{fill:none;stroke:$muted;stroke-width:1px;stroke-dasharray:2 3}}\
         .p-stem{{fill:none;stroke:$ink;stroke-width:2.4px}}"
    );
    for series in 0..SERIES {
        let _ = write!(
            rules,
            ".p-line-{series}{{fill:none;stroke:$s{series};stroke-width:1px}}\
             .p-dots-{series}{{fill:none;stroke:$s{series};stroke-width:4px;stroke-linecap:round}}\
             .p-dash-{series}{{fill:none;stroke:$s{series};stroke-width:2px;stroke-dasharray:6 4}}"
        );
    }
    rules
}

/// The rules for drawings inside a page that sets `--role` for every role of [`ROLES`].
pub(crate) fn page_rules() -> String {
    substitute(|name, _| format!("var(--{name})"))
}

fn substitute(colour: impl Fn(&str, &str) -> String) -> String {
    ROLES.iter().fold(rules(), |rules, (name, light, _)| rules.replace(&format!("${name}"), &colour(name, light)))
}

/// Where text sits on its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A coordinate in hundredths of a user unit; what is not finite is far outside every drawing.
pub(crate) fn px(value: f64) -> String {
    if !value.is_finite() {
        return "-9999".to_owned();
    }
    let mut text = format!("{:.2}", value.clamp(-9000.0, 9000.0));
    while text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// Width of a line of text in user units, on the safe side for usual sans-serif fonts.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let narrow =
        |c: char| matches!(c, 'i' | 'l' | 'j' | 't' | 'f' | 'r' | '.' | ',' | '(' | ')' | ' ' | '⁻' | '\'' | '|');
    text.chars().map(|c| if narrow(c) { 0.38 } else { 0.6 }).sum::<f64>() * size
}

/// The beginning of a text that is no wider than that, with an ellipsis where something is left out.
pub(crate) fn shortened(text: &str, width: f64, size: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut short = text.to_owned();
    while !short.is_empty() && text_width(&short, size) > width - size {
        short.pop();
    }
    format!("{}…", short.trim_end_matches([' ', ',', ':']))
}

/// The `d` of a path under construction; points that are not finite break a line.
#[derive(Default)]
pub struct Path(String);

impl Path {
    pub fn new() -> Self {
        Path::default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line through the points; a point that is not finite leaves a gap.
    pub fn line(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut pen_down = false;
        for (x, y) in points {
            if x.is_finite() && y.is_finite() {
                let _ = write!(self.0, "{}{} {}", if pen_down { 'L' } else { 'M' }, px(x), px(y));
                pen_down = true;
            } else {
                pen_down = false;
            }
        }
        self
    }

    /// A line that stays at the height of each point until the next.
    pub fn steps(self, points: &[(f64, f64)]) -> Self {
        let steps = points.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
        self.line(steps.chain(points.last().copied()))
    }

    /// A smooth line through points passed at the given times: cubic Hermite pieces with central-difference slopes.
    pub fn curve(mut self, times: &[f64], points: &[(f64, f64)]) -> Self {
        let finite = |index: usize| points.get(index).is_some_and(|(x, y)| x.is_finite() && y.is_finite());
        let slope = |index: usize| {
            let before = if index > 0 && finite(index - 1) { index - 1 } else { index };
            let after = if finite(index + 1) && index + 1 < times.len() { index + 1 } else { index };
            let span = times[after] - times[before];
            if span > 0.0 {
                ((points[after].0 - points[before].0) / span, (points[after].1 - points[before].1) / span)
            } else {
                (0.0, 0.0)
            }
        };
        let mut pen_down = false;
        for index in 0..points.len().min(times.len()) {
            let (x, y) = points[index];
            if !finite(index) {
                pen_down = false;
            } else if pen_down {
                let third = (times[index] - times[index - 1]) / 3.0;
                let ((ax, ay), (bx, by)) = (slope(index - 1), slope(index));
                let (px0, py0) = points[index - 1];
                let _ = write!(
                    self.0,
                    "C{} {} {} {} {} {}",
                    px(px0 + third * ax),
                    px(py0 + third * ay),
                    px(x - third * bx),
                    px(y - third * by),
                    px(x),
                    px(y)
                );
            } else {
                let _ = write!(self.0, "M{} {}", px(x), px(y));
                pen_down = true;
            }
        }
        self
    }

    /// The area between two lines over the same `xs`; where an end is not finite it has a gap.
    pub fn area(mut self, points: &[(f64, f64, f64)]) -> Self {
        let is_whole = |point: &(f64, f64, f64)| point.0.is_finite() && point.1.is_finite() && point.2.is_finite();
        for part in points.split(|point| !is_whole(point)).filter(|part| part.len() > 1) {
            let above = part.iter().map(|(x, y, _)| (*x, *y));
            self = self.line(above.chain(part.iter().rev().map(|(x, _, y)| (*x, *y))));
            self.0.push('z');
        }
        self
    }

    /// A dot, where the path is stroked with round caps.
    pub fn dot(&mut self, (x, y): (f64, f64)) {
        if x.is_finite() && y.is_finite() {
            let _ = write!(self.0, "M{} {}h.01", px(x), px(y));
        }
    }

    pub fn rectangle(&mut self, left: f64, top: f64, width: f64, height: f64) {
        let _ = write!(self.0, "M{} {}h{}v{}h{}z", px(left), px(top), px(width), px(height), px(-width));
    }

    pub fn cross(&mut self, (x, y): (f64, f64), half: f64) {
        if x.is_finite() && y.is_finite() {
            let (size, back) = (px(2.0 * half), px(-2.0 * half));
            let (left, top) = (px(x - half), px(y - half));
            let _ = write!(self.0, "M{left} {top}l{size} {size}m0 {back}l{back} {size}");
        }
    }

    pub fn diamond(&mut self, (x, y): (f64, f64), half: f64) {
        if x.is_finite() && y.is_finite() {
            let (h, back) = (px(half), px(-half));
            let _ = write!(self.0, "M{} {}l{h} {h}l{back} {h}l{back} {back}z", px(x), px(y - half));
        }
    }
}

/// A drawing in user units, origin at the top left.
pub struct Canvas {
    name: String,
    pub width: f64,
    pub height: f64,
    body: String,
    clips: usize,
}

impl Canvas {
    /// An empty drawing; `name` makes its ids unique within a page.
    pub fn new(name: impl Into<String>, width: f64, height: f64) -> Self {
        Canvas { name: name.into(), width, height, body: String::new(), clips: 0 }
    }

    /// Draws a path with the attributes given as they stand in SVG.
    pub fn path(&mut self, attributes: &str, path: &Path) {
        if !path.is_empty() {
            let _ = writeln!(self.body, "<path {attributes} d=\"{}\"/>", path.0);
        }
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(&format!("class=\"{class}\""), &Path::new().line([from, to]));
    }

    pub fn circle(&mut self, attributes: &str, (x, y): (f64, f64), radius: f64) {
        if x.is_finite() && y.is_finite() {
            let _ =
                writeln!(self.body, "<circle {attributes} cx=\"{}\" cy=\"{}\" r=\"{}\"/>", px(x), px(y), px(radius));
        }
    }

    /// Text with its baseline at the point.
    pub fn text(&mut self, class: &str, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"p-text {class}\" text-anchor=\"{}\" x=\"{}\" y=\"{}\">{}</text>",
            anchor.name(),
            px(x),
            px(y),
            escape(text)
        );
    }

    /// Text turned a quarter to the left about its middle.
    pub fn upright_text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let (x, y) = (px(x), px(y));
        let _ = writeln!(
            self.body,
            "<text class=\"p-text {class}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\" x=\"{x}\" y=\"{y}\">{}</text>",
            escape(text)
        );
    }

    /// What `draw` draws is cut off outside the rectangle.
    pub fn clipped(&mut self, (left, top, width, height): (f64, f64, f64, f64), draw: impl FnOnce(&mut Canvas)) {
        self.clips += 1;
        let id = format!("{}-clip-{}", self.name, self.clips);
        let _ = writeln!(
            self.body,
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n<g clip-path=\"url(#{id})\">",
            px(left),
            px(top),
            px(width),
            px(height)
        );
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// The drawing for a page that has [`page_rules`].
    pub fn inline(&self, title: &str, description: &str) -> String {
        self.document("", "", title, description)
    }

    /// The drawing as a file of its own, on white.
    pub fn standalone(&self, title: &str, description: &str) -> String {
        let style = format!("<style>{}</style>\n", substitute(|_, light| light.to_owned()));
        let (width, height) = (px(self.width), px(self.height));
        let background = format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n");
        self.document(&format!(" width=\"{width}\" height=\"{height}\""), &(style + &background), title, description)
    }

    fn document(&self, attributes: &str, before: &str, title: &str, description: &str) -> String {
        let name = &self.name;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\"{attributes} role=\"img\" \
             aria-labelledby=\"{name}-title {name}-description\">\n<title id=\"{name}-title\">{}</title>\n\
             <desc id=\"{name}-description\">{}</desc>\n{before}{}</svg>\n",
            px(self.width),
            px(self.height),
            escape(title),
            escape(description),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#rrggbb`. Source: WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel = |place: usize| {
            let share = f64::from(u8::from_str_radix(&colour[place..place + 2], 16).unwrap()) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        f64::max(one / other, other / one)
    }

    /// What level AA asks of text and of graphics.
    #[test]
    fn colours_stand_out_from_the_paper() {
        assert_eq!(contrast("#ffffff", "#000000"), 21.0);
        let of =
            |name: &str| ROLES.iter().find(|(role, ..)| *role == name).map(|(_, light, dark)| [*light, *dark]).unwrap();
        for (name, least) in ["ink", "muted", "guess"]
            .map(|it| (it, 4.5))
            .into_iter()
            .chain(["truth", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"].map(|it| (it, 3.0)))
        {
            for paper in ["paper", "panel"] {
                for (colour, paper) in of(name).into_iter().zip(of(paper)) {
                    assert!(contrast(colour, paper) >= least, "{name}: {:.2}", contrast(colour, paper));
                }
            }
        }
    }
}
