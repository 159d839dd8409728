//! Units of measurement: parsing and conversion.
//!
//! A value `v` in a unit is `scale v + offset` in SI base units; its dimension is the exponents of `m kg s A K mol cd rad`. Conversion from a
//! to b is `(scale_a v + offset_a - offset_b) / scale_b`. Counts (`cells`, `animals`) have no dimension.
//!
//! Source: BIPM, The International System of Units (2019); NIST SP 811 for units outside the SI.
//!
//! ```text
//! unit   = [number] term { ("." | "*" | " " | "/" | "per") term }
//! term   = [prefix] name [ ("^" | "**" | "") integer ] | number [ "^" integer ] | "(" unit ")"
//! ```

use std::f64::consts::PI;

/// Number of base dimensions.
const DIMENSIONS: usize = 8;

type Exponents = [i8; DIMENSIONS];

const NONE: Exponents = [0; DIMENSIONS];
const LENGTH: Exponents = [1, 0, 0, 0, 0, 0, 0, 0];
const MASS: Exponents = [0, 1, 0, 0, 0, 0, 0, 0];
const TIME: Exponents = [0, 0, 1, 0, 0, 0, 0, 0];
const CURRENT: Exponents = [0, 0, 0, 1, 0, 0, 0, 0];
const TEMPERATURE: Exponents = [0, 0, 0, 0, 1, 0, 0, 0];
const AMOUNT: Exponents = [0, 0, 0, 0, 0, 1, 0, 0];
const INTENSITY: Exponents = [0, 0, 0, 0, 0, 0, 1, 0];
const ANGLE: Exponents = [0, 0, 0, 0, 0, 0, 0, 1];
const VOLUME: Exponents = [3, 0, 0, 0, 0, 0, 0, 0];
const FORCE: Exponents = [1, 1, -2, 0, 0, 0, 0, 0];
const PRESSURE: Exponents = [-1, 1, -2, 0, 0, 0, 0, 0];
const ENERGY: Exponents = [2, 1, -2, 0, 0, 0, 0, 0];
const POWER: Exponents = [2, 1, -3, 0, 0, 0, 0, 0];
const VOLTAGE: Exponents = [2, 1, -3, -1, 0, 0, 0, 0];

/// Names, scale and dimension of units that take SI prefixes.
const PREFIXED: [(&[&str], f64, Exponents); 27] = [
    (&["m", "meter", "metre", "meters", "metres"], 1.0, LENGTH),
    (&["g", "gram", "grams"], 1e-3, MASS),
    (&["s", "sec", "secs", "second", "seconds"], 1.0, TIME),
    (&["A", "ampere", "amperes", "amp"], 1.0, CURRENT),
    (&["K", "kelvin"], 1.0, TEMPERATURE),
    (&["mol", "mole", "moles"], 1.0, AMOUNT),
    (&["cd", "candela"], 1.0, INTENSITY),
    (&["rad", "radian", "radians"], 1.0, ANGLE),
    (&["l", "L", "liter", "litre", "liters", "litres"], 1e-3, VOLUME),
    (&["t", "tonne"], 1e3, MASS),
    (&["Hz", "hertz"], 1.0, [0, 0, -1, 0, 0, 0, 0, 0]),
    (&["N", "newton"], 1.0, FORCE),
    (&["Pa", "pascal"], 1.0, PRESSURE),
    (&["bar"], 1e5, PRESSURE),
    (&["J", "joule"], 1.0, ENERGY),
    (&["eV"], 1.602_176_634e-19, ENERGY),
    (&["cal"], 4.184, ENERGY),
    (&["W", "watt", "watts"], 1.0, POWER),
    (&["Wh"], 3600.0, ENERGY),
    (&["V", "volt", "volts"], 1.0, VOLTAGE),
    (&["C", "coulomb"], 1.0, [0, 0, 1, 1, 0, 0, 0, 0]),
    (&["Ah"], 3600.0, [0, 0, 1, 1, 0, 0, 0, 0]),
    (&["ohm", "Ohm", "Ω"], 1.0, [2, 1, -3, -2, 0, 0, 0, 0]),
    (&["F", "farad"], 1.0, [-2, -1, 4, 2, 0, 0, 0, 0]),
    (&["S", "siemens"], 1.0, [-2, -1, 3, 2, 0, 0, 0, 0]),
    (&["T", "tesla"], 1.0, [0, 1, -2, -1, 0, 0, 0, 0]),
    (&["M", "molar"], 1e3, [-3, 0, 0, 0, 0, 1, 0, 0]),
];

/// Names, scale and dimension of units without prefixes.
const UNPREFIXED: [(&[&str], f64, Exponents); 24] = [
    (&["min", "mins", "minute", "minutes"], 60.0, TIME),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0, TIME),
    (&["d", "day", "days"], 86_400.0, TIME),
    (&["wk", "week", "weeks"], 604_800.0, TIME),
    (&["yr", "a", "year", "years"], 31_557_600.0, TIME),
    (&["deg", "degree", "degrees", "arc_degree", "°"], PI / 180.0, ANGLE),
    (&["rpm"], PI / 30.0, [0, 0, -1, 0, 0, 0, 0, 1]),
    (&["rev", "revolution", "turn"], 2.0 * PI, ANGLE),
    (&["in", "inch", "inches"], 0.0254, LENGTH),
    (&["ft", "foot", "feet"], 0.3048, LENGTH),
    (&["yd", "yard"], 0.9144, LENGTH),
    (&["mi", "mile", "miles"], 1609.344, LENGTH),
    (&["lb", "lbs", "pound", "pounds"], 0.453_592_37, MASS),
    (&["oz", "ounce", "ounces"], 0.028_349_523_125, MASS),
    (&["ha", "hectare"], 1e4, [2, 0, 0, 0, 0, 0, 0, 0]),
    (&["gal", "gallon"], 3.785_411_784e-3, VOLUME),
    (&["cc"], 1e-6, VOLUME),
    (&["atm"], 101_325.0, PRESSURE),
    (&["mmHg", "Torr", "torr"], 133.322_387_415, PRESSURE),
    (&["psi"], 6_894.757_293_168, PRESSURE),
    (&["mph"], 0.447_04, [1, 0, -1, 0, 0, 0, 0, 0]),
    (&["kph"], 1.0 / 3.6, [1, 0, -1, 0, 0, 0, 0, 0]),
    (&["%", "percent"], 1e-2, NONE),
    (&["ppm"], 1e-6, NONE),
];

/// Names of counts.
const COUNTS: [&str; 18] = [
    "1",
    "count",
    "counts",
    "cell",
    "cells",
    "animal",
    "animals",
    "individual",
    "individuals",
    "ind",
    "egg",
    "eggs",
    "particles",
    "molecules",
    "persons",
    "people",
    "copies",
    "items",
];

/// Names, scale and offset in kelvin of temperature scales, which cannot be part of a compound unit.
const TEMPERATURES: [(&[&str], f64, f64); 2] = [
    (
        &[
            "degC",
            "°C",
            "℃",
            "celsius",
            "Celsius",
            "deg_C",
            "degreeC",
            "degree_C",
            "degree_Celsius",
            "degrees_Celsius",
            "degree_celsius",
            "degrees_celsius",
        ],
        1.0,
        273.15,
    ),
    (&["degF", "°F", "℉", "fahrenheit", "Fahrenheit", "deg_F", "degreeF"], 5.0 / 9.0, 459.67 * 5.0 / 9.0),
];

/// Prefixes and their factors.
const PREFIXES: [(&str, f64); 27] = [
    ("da", 1e1),
    ("Q", 1e30),
    ("R", 1e27),
    ("Y", 1e24),
    ("Z", 1e21),
    ("E", 1e18),
    ("P", 1e15),
    ("T", 1e12),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
    ("h", 1e2),
    ("d", 1e-1),
    ("c", 1e-2),
    ("m", 1e-3),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("μ", 1e-6),
    ("n", 1e-9),
    ("p", 1e-12),
    ("f", 1e-15),
    ("a", 1e-18),
    ("z", 1e-21),
    ("milli", 1e-3),
    ("micro", 1e-6),
    ("nano", 1e-9),
    ("kilo", 1e3),
];

/// A parsed unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    scale: f64,
    offset: f64,
    exponents: Exponents,
}

/// The conversion of values from unit a to unit b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Conversion {
    /// `scale_a / scale_b`, or its inverse if that is greater: usual ratios are then whole numbers, and exact.
    ratio: f64,
    divides: bool,
    /// Added first, in units of a.
    shift: f64,
}

impl Unit {
    /// Parses a unit; `None` if a part of it is unknown.
    pub(crate) fn parse(text: &str) -> Option<Unit> {
        let text = text.trim();
        if is_dash(text) {
            return Some(Unit { scale: 1.0, offset: 0.0, exponents: NONE });
        }
        if let Some((_, scale, offset)) = TEMPERATURES.iter().find(|(names, ..)| names.contains(&text)) {
            return Some(Unit { scale: *scale, offset: *offset, exponents: TEMPERATURE });
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let unit = parser.unit()?;
        (parser.rest.is_empty() && unit.scale.is_finite() && unit.scale > 0.0).then_some(unit)
    }

    /// The conversion into `other`; `None` if the dimensions differ.
    pub(crate) fn to(self, other: Unit) -> Option<Conversion> {
        let shift = (self.offset - other.offset) / self.scale;
        let divides = self.scale < other.scale;
        let ratio = if divides { other.scale / self.scale } else { self.scale / other.scale };
        // Ratios that differ from a whole number by rounding errors only are made exact.
        let ratio = if (ratio - ratio.round()).abs() < 1e-12 * ratio { ratio.round() } else { ratio };
        (self.exponents == other.exponents).then_some(Conversion { ratio, divides, shift })
    }
}

impl Conversion {
    /// The identity.
    pub(crate) const NONE: Conversion = Conversion { ratio: 1.0, divides: false, shift: 0.0 };

    /// Converts a value.
    pub(crate) fn apply(self, value: f64) -> f64 {
        let shifted = value + self.shift;
        if self.divides { shifted / self.ratio } else { shifted * self.ratio }
    }
}

/// Whether values in units `a` and `b` are the same numbers; `None` if one of the units is unknown.
pub fn is_same_unit(a: &str, b: &str) -> Option<bool> {
    if a.trim() == b.trim() {
        return Some(true);
    }
    Some(Unit::parse(a)?.to(Unit::parse(b)?) == Some(Conversion::NONE))
}

/// Whether a unit is a dash of any kind, which stands for no unit.
pub(crate) fn is_dash(text: &str) -> bool {
    matches!(text, "-" | "–" | "—" | "−")
}

/// Splits a header into the column's name and the unit in brackets after it: `time (d)`, `level [m]`.
pub(crate) fn split_header(header: &str) -> (&str, Option<&str>) {
    let header = header.trim();
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some((name, unit)) = header.strip_suffix(close).and_then(|start| start.split_once(open))
            && !name.trim().is_empty()
            && !unit.trim().is_empty()
        {
            return (name.trim(), Some(unit.trim()));
        }
    }
    (header, None)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn unit(&mut self) -> Option<Unit> {
        let mut whole = self.term()?;
        loop {
            self.skip_blanks();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                return Some(whole);
            }
            let divide = self.take("/") || self.take("per ");
            let _ = !divide && ["*", "·", "."].into_iter().any(|token| self.take(token));
            self.skip_blanks();
            let term = self.term()?;
            whole = combine(whole, term, if divide { -1 } else { 1 })?;
        }
    }

    fn term(&mut self) -> Option<Unit> {
        self.skip_blanks();
        let unit = if self.rest.starts_with('(') {
            self.bracket()?
        } else if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            self.number()?
        } else if self.take("per ") {
            let term = self.term()?;
            return combine(Unit { scale: 1.0, offset: 0.0, exponents: NONE }, term, -1);
        } else {
            self.name()?
        };
        let exponent = self.exponent()?;
        combine(Unit { scale: 1.0, offset: 0.0, exponents: NONE }, unit, exponent)
    }

    fn bracket(&mut self) -> Option<Unit> {
        self.depth += 1;
        if self.depth > 8 || !self.take("(") {
            return None;
        }
        let unit = self.unit()?;
        self.depth -= 1;
        self.take(")").then_some(unit)
    }

    fn number(&mut self) -> Option<Unit> {
        let digits = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.rest.len());
        let mut end = digits;
        if let Some(power) = self.rest[digits..].strip_prefix(['e', 'E']) {
            let sign = usize::from(power.starts_with(['-', '+']));
            let length = power[sign..].bytes().take_while(u8::is_ascii_digit).count();
            end += if length > 0 { 1 + sign + length } else { 0 };
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(Unit { scale: number.parse().ok()?, offset: 0.0, exponents: NONE })
    }

    fn name(&mut self) -> Option<Unit> {
        let is_name = |c: char| c.is_alphabetic() || matches!(c, '_' | '%' | '°' | 'µ' | 'μ');
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        named(name)
    }

    /// The exponent after a term, 1 if there is none; `None` if it is not valid.
    fn exponent(&mut self) -> Option<i8> {
        let marked = self.take("**") || self.take("^");
        for (sign, power) in [("²", 2), ("³", 3)] {
            if self.take(sign) {
                return Some(power);
            }
        }
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let length = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return (!marked).then_some(1);
        }
        let (exponent, rest) = self.rest.split_at(sign + length);
        self.rest = rest;
        exponent.parse().ok().filter(|exponent: &i8| (-40..=40).contains(exponent))
    }
}

/// `a b^exponent`; `None` if an exponent overflows. Offsets do not occur: temperature scales are parsed on their own.
fn combine(a: Unit, b: Unit, exponent: i8) -> Option<Unit> {
    let mut exponents = a.exponents;
    for (whole, part) in exponents.iter_mut().zip(b.exponents) {
        *whole = whole.checked_add(part.checked_mul(exponent)?)?;
    }
    Some(Unit { scale: a.scale * b.scale.powi(exponent.into()), offset: 0.0, exponents })
}

/// The unit of a name, with or without a prefix.
fn named(name: &str) -> Option<Unit> {
    let known = |name: &str, table: &[(&[&str], f64, Exponents)]| {
        let entry = table.iter().find(|(names, ..)| names.contains(&name))?;
        Some(Unit { scale: entry.1, offset: 0.0, exponents: entry.2 })
    };
    if COUNTS.contains(&name) {
        return Some(Unit { scale: 1.0, offset: 0.0, exponents: NONE });
    }
    known(name, &UNPREFIXED).or_else(|| known(name, &PREFIXED)).or_else(|| {
        PREFIXES.iter().find_map(|(prefix, factor)| {
            let unit = known(name.strip_prefix(prefix)?, &PREFIXED)?;
            Some(Unit { scale: unit.scale * factor, ..unit })
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn convert(value: f64, from: &str, to: &str) -> Option<f64> {
        Some(Unit::parse(from)?.to(Unit::parse(to)?)?.apply(value))
    }

    #[test]
    fn values_are_converted() {
        for (value, from, to, expected) in [
            (90.0, "min", "h", 1.5),
            (1.0, "days", "h", 24.0),
            (250.0, "ms", "s", 0.25),
            (150.0, "cm", "m", 1.5),
            (36.0, "km/h", "m s-1", 10.0),
            (2.0, "10^6 cells/ml", "1e6 mL-1", 2.0),
            (3.0, "animals/ml", "L^-1", 3000.0),
            (3.0, "per ml", "ml-1", 3.0),
            (1.0, "N m", "J", 1.0),
            (20.0, "degC", "K", 293.15),
            (300.0, "K", "°C", 26.85),
            (212.0, "degF", "degC", 100.0),
            (1.0, "mmol/l", "mol m-3", 1.0),
            (5.0, "mM", "mol/m**3", 5.0),
            (12.0, "kg·m²/s²", "J", 12.0),
            (5.0, "1/(s kg)", "s-1 kg-1", 5.0),
            (50.0, "%", "1", 0.5),
            (50.0, "%", "–", 0.5),
            (3.0, "-", "1", 3.0),
        ] {
            let converted = convert(value, from, to).unwrap_or_else(|| panic!("{from} to {to}"));
            approx::assert_relative_eq!(converted, expected, max_relative = 1e-14);
        }
        assert_eq!(convert(7.0, "min", "s"), Some(420.0));
    }

    #[test]
    fn what_measures_something_else_or_is_unknown_is_refused() {
        for (from, to) in [("m", "s"), ("kg", "m s-1"), ("degC", "m"), ("rad", "1")] {
            assert_eq!(convert(1.0, from, to), None, "{from} to {to}");
        }
        for text in ["", "furlong", "m^", "m^x", "m/", "degC/min", "m^99999999999", "((((((((((m", "mu mol N / l", "0"]
        {
            assert_eq!(Unit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn headers_are_split() {
        assert_eq!(split_header("time (d)"), ("time", Some("d")));
        assert_eq!(split_header("level[m]"), ("level", Some("m")));
        assert_eq!(split_header("external medium (mu mol N / l)"), ("external medium", Some("mu mol N / l")));
        for plain in ["level", "(m)", "f(x) of y", "level ()"] {
            assert_eq!(split_header(plain), (plain, None));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-zµ0-9()/*^. %-]{0,24}|\\PC{0,12}") {
            let _ = Unit::parse(&text);
            let _ = split_header(&text);
        }
    }
}
