//! A pair of axes in a rectangle of a drawing, and what figures share: grids, labels, legends.

use super::axis::{Axis, Scale};
use super::canvas::{Anchor, Canvas, Path, shortened, text_width};

/// How far a title may reach beyond its panel.
const BEYOND: f64 = 24.0;

/// Two axes over the rectangle at (`left`, `top`).
pub(crate) struct Plot {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    /// The point of the drawing for data coordinates `(x, y)`.
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + self.x.fraction(x) * self.width, self.top + (1.0 - self.y.fraction(y)) * self.height)
    }

    pub(crate) fn area(&self) -> (f64, f64, f64, f64) {
        (self.left, self.top, self.width, self.height)
    }

    /// Grid lines, ticks and labels; `title` stands over the upper left corner, as much of it as has room there.
    pub(crate) fn frame(&self, canvas: &mut Canvas, title: &str) {
        let grid = self.scales(canvas, title);
        canvas.path("class=\"p-grid\"", &grid);
    }

    /// [`Plot::frame`] without the grid lines, which it returns.
    pub(crate) fn scales(&self, canvas: &mut Canvas, title: &str) -> Path {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let mut grid = Path::new();
        let mut marks = Path::new();
        for tick in self.x.ticks((self.width / 65.0).round().clamp(3.0, 8.0) as usize) {
            let (x, _) = self.at(tick.value, self.y.low);
            match tick.text {
                Some(text) => {
                    grid = grid.line([(x, self.top), (x, bottom)]);
                    marks = marks.line([(x, bottom), (x, bottom + 5.0)]);
                    canvas.text("p-small p-muted", Anchor::Middle, (x, bottom + 19.0), &text);
                }
                None => marks = marks.line([(x, bottom), (x, bottom + 3.0)]),
            }
        }
        let mut widest = 0f64;
        for tick in self.y.ticks((self.height / 55.0).round().clamp(3.0, 8.0) as usize) {
            let (_, y) = self.at(self.x.low, tick.value);
            match tick.text {
                Some(text) => {
                    grid = grid.line([(self.left, y), (right, y)]);
                    marks = marks.line([(self.left - 5.0, y), (self.left, y)]);
                    canvas.text("p-small p-muted", Anchor::End, (self.left - 8.0, y + 4.2), &text);
                    widest = widest.max(text_width(&text, 12.0));
                }
                None => marks = marks.line([(self.left - 3.0, y), (self.left, y)]),
            }
        }
        canvas.path("class=\"p-axis\"", &marks);
        canvas
            .path("class=\"p-axis\"", &Path::new().line([(self.left, self.top), (self.left, bottom), (right, bottom)]));
        let (x, y) = (self.x.label(), self.y.label());
        if !x.is_empty() {
            canvas.text("", Anchor::Middle, (self.left + self.width / 2.0, bottom + 40.0), &x);
        }
        if !y.is_empty() {
            canvas.upright_text("", (self.left - 17.0 - widest, self.top + self.height / 2.0), &y);
        }
        if !title.is_empty() {
            let room = (self.width + BEYOND).min(canvas.width - self.left);
            let title = shortened(title, room, 13.0);
            canvas.text("p-strong", Anchor::Start, (self.left, self.top - 10.0), &title);
        }
        grid
    }

    /// The line `y = x` where both axes are alike.
    pub(crate) fn identity(&self, canvas: &mut Canvas) {
        let (low, high) = (self.x.low.max(self.y.low), self.x.high.min(self.y.high));
        if low < high && self.x.scale == Scale::Linear {
            canvas.line("p-guide", self.at(low, low), self.at(high, high));
        }
    }

    /// Writes names beside points where they hide neither points nor each other nor the vertical `bars`
    /// (`x`, top, bottom); those without room are left out.
    pub(crate) fn labels(&self, canvas: &mut Canvas, labels: &[((f64, f64), String)], bars: &[(f64, f64, f64)]) {
        let mut taken: Vec<[f64; 4]> = labels.iter().map(|((x, y), _)| [x - 6.0, y - 6.0, x + 6.0, y + 6.0]).collect();
        for (index, ((x, y), text)) in labels.iter().enumerate() {
            if !x.is_finite() || !y.is_finite() {
                continue;
            }
            let (width, height) = (text_width(text, 12.0), 14.0);
            let places = [
                (Anchor::Start, 9.0, 4.0),
                (Anchor::End, -9.0, 4.0),
                (Anchor::Start, 8.0, -7.0),
                (Anchor::Start, 8.0, 16.0),
                (Anchor::End, -8.0, -7.0),
                (Anchor::End, -8.0, 16.0),
                (Anchor::Middle, 0.0, -11.0),
                (Anchor::Middle, 0.0, 20.0),
            ];
            let clear_of_bars = |area: &[f64; 4]| {
                bars.iter().all(|(bar, top, bottom)| {
                    area[2] < bar - 5.0 || bar + 5.0 < area[0] || area[3] < *top || *bottom < area[1]
                })
            };
            let free = places.into_iter().find_map(|(anchor, dx, dy)| {
                let start = match anchor {
                    Anchor::Start => x + dx,
                    Anchor::Middle => x + dx - width / 2.0,
                    Anchor::End => x + dx - width,
                };
                let area = [start, y + dy - height + 2.0, start + width, y + dy + 3.0];
                let inside = area[0] >= self.left
                    && area[2] <= self.left + self.width
                    && area[1] >= self.top
                    && area[3] <= self.top + self.height;
                let clear = taken.iter().enumerate().all(|(other, b)| {
                    other == index || area[2] < b[0] || b[2] < area[0] || area[3] < b[1] || b[3] < area[1]
                });
                (inside && clear && clear_of_bars(&area)).then_some((anchor, (x + dx, y + dy), area))
            });
            if let Some((anchor, at, area)) = free {
                canvas.text("p-small p-halo", anchor, at, text);
                taken.push(area);
            }
        }
    }
}

/// The symbol of a legend entry.
#[derive(Clone, Copy)]
pub(crate) enum Key<'a> {
    /// A stroke of this class.
    Line(&'a str),
    /// A stroke with a dot on it: the classes of both.
    LineAndDot(&'a str, &'a str),
    /// A circle of this class.
    Circle(&'a str),
    Diamond(&'a str),
    Cross(&'a str),
    /// Two strokes, one upon the other.
    Cased(&'a str, &'a str),
    /// A dot of this class.
    Dot(&'a str),
    /// A filled area of this class.
    Area(&'a str),
}

fn key(canvas: &mut Canvas, (x, y): (f64, f64), key: Key) {
    let attribute = |class: &str| format!("class=\"{class}\"");
    let dot = |at| {
        let mut path = Path::new();
        path.dot(at);
        path
    };
    let (from, middle, to) = ((x, y), (x + 13.0, y), (x + 26.0, y));
    match key {
        Key::Line(class) => canvas.line(class, from, to),
        Key::Cased(below, above) => {
            canvas.line(below, from, to);
            canvas.line(above, from, to);
        }
        Key::LineAndDot(line, dots) => {
            canvas.line(line, from, to);
            canvas.path(&attribute(dots), &dot(middle));
        }
        Key::Dot(dots) => canvas.path(&attribute(dots), &dot(middle)),
        Key::Area(class) => {
            let mut path = Path::new();
            path.rectangle(x, y - 6.0, 26.0, 12.0);
            canvas.path(&attribute(class), &path);
        }
        Key::Circle(class) => canvas.circle(&attribute(class), middle, 5.0),
        Key::Diamond(class) => {
            let mut path = Path::new();
            path.diamond(middle, 6.5);
            canvas.path(&attribute(class), &path);
        }
        Key::Cross(class) => {
            let mut path = Path::new();
            path.cross(middle, 4.0);
            canvas.path(&attribute(class), &path);
        }
    }
}

/// Height of a line of a legend.
const LINE: f64 = 23.0;

/// A legend in rows that start at `(x, y)`, the middle of its first text; returns the height of the rows after the first.
pub(crate) fn legend_row(canvas: &mut Canvas, (left, y): (f64, f64), entries: &[(Key, &str)]) -> f64 {
    let (mut x, mut down) = (left, 0.0);
    for (mark, text) in entries {
        let width = 33.0 + text_width(text, 12.0);
        if x > left && x + width > canvas.width {
            (x, down) = (left, down + LINE);
        }
        key(canvas, (x, y + down), *mark);
        canvas.text("p-small", Anchor::Start, (x + 33.0, y + down + 4.2), text);
        x += width + 18.0;
    }
    down
}

/// A legend in a column.
pub(crate) fn legend_column(canvas: &mut Canvas, (x, y): (f64, f64), entries: &[(Key, &str)]) {
    for (index, (mark, text)) in entries.iter().enumerate() {
        let y = y + 24.0 * index as f64;
        key(canvas, (x, y), *mark);
        canvas.text("p-small", Anchor::Start, (x + 34.0, y + 4.2), text);
    }
}
