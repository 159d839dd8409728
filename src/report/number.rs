//! Numbers, names and units as they are typeset.

use crate::printable::is_hidden;
use crate::schema::Quantity;

/// Shown in place of a missing number.
pub(crate) const ABSENT: &str = "–";

/// `value` with three significant digits, as `1.24×10⁻⁵` where it is small or large; [`ABSENT`] where it is not finite.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:.2e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = if (-3..6).contains(&exponent) {
        format!("{:.*}", usize::try_from(2 - exponent).unwrap_or(0), value.abs())
    } else {
        format!("{mantissa}×10{}", superscript(exponent))
    };
    if value < 0.0 { format!("−{digits}") } else { digits }
}

/// A setting such as a tolerance, with the digits it was given: `10⁻⁹`, `2.5×10⁻⁷`, `0.01`.
pub(crate) fn setting(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let scientific = format!("{value:e}");
    match scientific.split_once('e').map(|(mantissa, exponent)| (mantissa, exponent.parse::<i32>())) {
        Some((mantissa, Ok(exponent))) if !(-2..=4).contains(&exponent) => {
            let factor = if mantissa == "1" { String::new() } else { format!("{mantissa}×") };
            format!("{factor}10{}", superscript(exponent))
        }
        _ => value.to_string(),
    }
}

/// [`significant`] of a number that may be absent.
pub(crate) fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), significant)
}

/// A percentage with its sign.
pub(crate) fn percent(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{}\u{202f}%", significant(value)),
        None => ABSENT.to_owned(),
    }
}

/// A count with a narrow space between groups of three digits from five digits on.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Seconds as `0.42 s`, `12.3 s`, `4 min 12 s` or `1 h 3 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return ABSENT.to_owned();
    }
    if seconds < 99.95 {
        return format!("{}\u{202f}s", significant(seconds));
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        format!("{}\u{202f}min {}\u{202f}s", whole / 60, whole % 60)
    } else {
        format!("{}\u{202f}h {}\u{202f}min", whole / 3600, whole % 3600 / 60)
    }
}

/// An exponent in superscript digits.
pub(crate) fn superscript(exponent: i32) -> String {
    exponent.to_string().chars().map(raised).collect()
}

fn raised(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' | '4'..='9' => char::from_u32(0x2070 + u32::from(digit) - u32::from('0')).unwrap_or(digit),
        _ => digit,
    }
}

/// A UDUNITS unit with raised exponents (`m s-1` is `m s⁻¹`); nothing for `1`.
pub(crate) fn unit(unit: &str) -> Option<String> {
    let unit = unit.trim();
    if unit.is_empty() || unit == "1" {
        return None;
    }
    let unit = unit.replace("degC", "°C").replace("degF", "°F");
    let mut out = String::new();
    let mut exponent = false;
    for character in unit.chars() {
        match character {
            '^' => exponent = true,
            '-' | '0'..='9' if exponent || out.chars().last().is_some_and(char::is_alphabetic) => {
                exponent = true;
                out.push(raised(character));
            }
            _ => {
                exponent = false;
                out.push(character);
            }
        }
    }
    Some(out)
}

/// A name as it stands on an axis: Greek letters for their names, spaces for underscores.
pub(crate) fn name(name: &str) -> String {
    const GREEK: [(&str, char); 24] = [
        ("alpha", 'α'),
        ("beta", 'β'),
        ("gamma", 'γ'),
        ("delta", 'δ'),
        ("epsilon", 'ε'),
        ("zeta", 'ζ'),
        ("eta", 'η'),
        ("theta", 'θ'),
        ("iota", 'ι'),
        ("kappa", 'κ'),
        ("lambda", 'λ'),
        ("mu", 'μ'),
        ("nu", 'ν'),
        ("xi", 'ξ'),
        ("omicron", 'ο'),
        ("pi", 'π'),
        ("rho", 'ρ'),
        ("sigma", 'σ'),
        ("tau", 'τ'),
        ("upsilon", 'υ'),
        ("phi", 'φ'),
        ("chi", 'χ'),
        ("psi", 'ψ'),
        ("omega", 'ω'),
    ];
    match GREEK.iter().find(|(word, _)| *word == name) {
        Some((_, letter)) => letter.to_string(),
        None => name.replace('_', " "),
    }
}

/// Name and unit of a quantity, as on an axis.
pub(crate) fn quantity(quantity: &Quantity) -> String {
    match unit(&quantity.unit) {
        Some(unit) => format!("{} ({unit})", name(&quantity.name)),
        None => name(&quantity.name),
    }
}

/// Text safe inside XML and HTML, in content and in quoted attributes.
///
/// Characters that XML 1.0 forbids become U+FFFD; marks of text direction, which would show another text than there is, are written out as
/// `\u{202e}`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            hidden if is_hidden(hidden) => out.extend(hidden.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_at_every_size() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.00"),
            (0.153, "0.153"),
            (-2.5, "−2.50"),
            (9.999, "10.0"),
            (0.00124, "0.00124"),
            (1.24e-5, "1.24×10⁻⁵"),
            (12345.0, "12345"),
            (6.02e23, "6.02×10²³"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn settings_keep_their_digits() {
        for (value, text) in [(1e-9, "10⁻⁹"), (2.5e-7, "2.5×10⁻⁷"), (0.01, "0.01"), (0.0, "0"), (f64::NAN, "–")]
        {
            assert_eq!(setting(value), text);
        }
    }

    #[test]
    fn units_are_raised() {
        assert_eq!(unit("m s-1"), Some("m s⁻¹".to_owned()));
        assert_eq!(unit("m2 kg-1"), Some("m² kg⁻¹".to_owned()));
        assert_eq!(unit("s-12"), Some("s⁻¹²".to_owned()));
        assert_eq!(unit("W degC-1"), Some("W °C⁻¹".to_owned()));
        assert_eq!(unit("1"), None);
        assert_eq!(unit("1000 m"), Some("1000 m".to_owned()));
    }

    #[test]
    fn what_hides_in_a_text_is_written_out() {
        assert_eq!(escape("<b>\u{202e}gnp.exe\u{1b}[2J&'\""), "&lt;b&gt;\\u{202e}gnp.exe\u{fffd}[2J&amp;&#39;&quot;");
        assert_eq!(escape("two\nlines\tof é"), "two\nlines\tof é");
    }

    #[test]
    fn durations_and_counts() {
        assert_eq!(duration(0.4), "0.400\u{202f}s");
        assert_eq!(duration(252.4), "4\u{202f}min 12\u{202f}s");
        assert_eq!(duration(3780.0), "1\u{202f}h 3\u{202f}min");
        assert_eq!(count(2601), "2601");
        assert_eq!(count(12000), "12\u{202f}000");
    }
}
