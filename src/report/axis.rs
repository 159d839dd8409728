//! Axes: from values to a range, from a range to ticks.

use super::number::{superscript, unit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// A range of values, its scale and its label. `low < high` are finite, and positive where the scale is logarithmic.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
    label: String,
    /// Whether only whole numbers have ticks.
    is_count: bool,
    /// What stands at 1, 2, .. in place of numbers; empty where numbers stand.
    names: Vec<String>,
}

/// A tick; those without text are the minor ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub text: Option<String>,
}

/// Least and greatest of the finite values.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

impl Axis {
    /// A linear axis that holds the values with a margin of 5 % on both sides; `None` if none is finite.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>, label: &str) -> Option<Self> {
        let (low, high) = range(values.into_iter().filter(|value| value.abs() < 1e100))?;
        let margin = match high > low {
            true => 0.05 * (high - low),
            false if high == 0.0 => 0.1,
            false => 0.1 * high.abs(),
        };
        Some(Axis {
            scale: Scale::Linear,
            low: low - margin,
            high: high + margin,
            label: label.to_owned(),
            is_count: false,
            names: Vec::new(),
        })
    }

    /// A linear axis from `low` to `high` exactly.
    pub(crate) fn exact(low: f64, high: f64, label: &str) -> Self {
        Axis { scale: Scale::Linear, low, high, label: label.to_owned(), is_count: false, names: Vec::new() }
    }

    /// A linear axis of `1, 2, .., count`.
    pub(crate) fn counts(count: usize, label: &str) -> Self {
        Axis { is_count: true, ..Axis::exact(0.5, count as f64 + 0.5, label) }
    }

    /// The same with a name at each.
    pub(crate) fn named(names: Vec<String>, label: &str) -> Self {
        let counts = Axis::counts(names.len(), label);
        Axis { names, ..counts }
    }

    /// A logarithmic axis that holds the positive values; `None` if none is finite and positive.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, label: &str) -> Option<Self> {
        let (low, high) = range(values.into_iter().filter(|value| *value > 1e-300 && *value < 1e300))?;
        let (low, high) = if high / low < 1.05 { (low / 1.5, high * 1.5) } else { (low, high) };
        let margin = (high / low).powf(0.04);
        Some(Axis {
            scale: Scale::Log,
            low: low / margin,
            high: high * margin,
            label: label.to_owned(),
            is_count: false,
            names: Vec::new(),
        })
    }

    /// The same without the margin.
    pub(crate) fn without_margin(mut self) -> Self {
        let (low, high) = (self.low, self.high);
        match self.scale {
            Scale::Linear => {
                let margin = (high - low) * 0.05 / 1.1;
                (self.low, self.high) = (low + margin, high - margin);
            }
            Scale::Log => {
                let margin = (high / low).powf(0.04 / 1.08);
                (self.low, self.high) = (low * margin, high / margin);
            }
        }
        self
    }

    /// Where `value` lies between low (0) and high (1); not finite where it has no place.
    pub(crate) fn fraction(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => f64::NAN,
        }
    }

    /// The power of ten that is taken out of the tick labels into the axis label.
    fn common_exponent(&self) -> i32 {
        let largest = self.low.abs().max(self.high.abs());
        let exponent = largest.log10().floor() as i32;
        if self.scale == Scale::Linear && !(-3..5).contains(&exponent) { exponent } else { 0 }
    }

    /// The label, with the power of ten that the ticks leave out.
    pub(crate) fn label(&self) -> String {
        match self.common_exponent() {
            0 => self.label.clone(),
            exponent => format!("{} ×10{}", self.label, superscript(exponent)).trim_start().to_owned(),
        }
    }

    /// Ticks inside the range, ascending, about `wanted` of them with text.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        let named = self.names.iter().enumerate();
        match self.scale {
            _ if !self.names.is_empty() => {
                named.map(|(place, name)| Tick { value: place as f64 + 1.0, text: Some(name.clone()) }).collect()
            }
            Scale::Log if self.high / self.low >= 4.0 => self.log_ticks(wanted),
            _ => self.linear_ticks(wanted),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let raw = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|multiple| multiple * power);
        let fits = |step: f64| step >= raw * 0.999 && (!self.is_count || step.fract() == 0.0);
        let inside = |step: f64| (self.high / step + 1e-9).floor() - (self.low / step - 1e-9).ceil() + 1.0;
        let place = steps.iter().position(|step| fits(*step));
        // One tick alone says nothing of the scale.
        let finer = place
            .filter(|_| !self.is_count)
            .and_then(|place| (0..=place).rev().map(|place| steps[place]).find(|step| inside(*step) >= 2.0));
        let step = finer.or(place.map(|place| steps[place])).unwrap_or((10.0 * power).max(if self.is_count {
            1.0
        } else {
            0.0
        }));
        if !step.is_finite() || step <= 0.0 {
            return Vec::new();
        }
        let exponent = self.common_exponent();
        let unit = 10f64.powi(exponent);
        let shown = step / unit;
        let decimals = (0..=8)
            .find(|&d| (shown * 10f64.powi(d) - (shown * 10f64.powi(d)).round()).abs() < 1e-6)
            .unwrap_or(8) as usize;
        let first = (self.low / step - 1e-9).ceil();
        (0..64)
            .map(|index| (first + f64::from(index)) * step)
            .take_while(|value| *value <= self.high + 1e-9 * step)
            .map(|value| {
                let text = format!("{:.*}", decimals, (value / unit).abs());
                let negative = value < 0.0 && text.chars().any(|c| ('1'..='9').contains(&c));
                Tick { value, text: Some(if negative { format!("−{text}") } else { text }) }
            })
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let decades = self.high.log10() - self.low.log10();
        let stride = ((decades / wanted.max(1) as f64).ceil() as i32).max(1);
        let labelled: &[i32] = if decades < 1.2 {
            &[1, 2, 3, 5]
        } else if decades < 2.2 {
            &[1, 2, 5]
        } else {
            &[1]
        };
        let plain = first >= -3 && last <= 4;
        let mut ticks = Vec::new();
        for decade in first..=last {
            for multiple in 1..10 {
                let value = f64::from(multiple) * 10f64.powi(decade);
                if value < self.low * (1.0 - 1e-9) || value > self.high * (1.0 + 1e-9) || (stride > 1 && multiple > 1) {
                    continue;
                }
                let shown = labelled.contains(&multiple) && decade.rem_euclid(stride) == 0;
                ticks.push(Tick { value, text: shown.then(|| power_text(multiple, decade, plain)) });
            }
        }
        ticks
    }
}

/// `multiple * 10^decade` as a tick: a plain number or a power of ten.
fn power_text(multiple: i32, decade: i32, plain: bool) -> String {
    if plain || decade == 0 {
        let decimals = usize::try_from(-decade).unwrap_or(0);
        format!("{:.*}", decimals, f64::from(multiple) * 10f64.powi(decade))
    } else if multiple != 1 {
        format!("{multiple}×10{}", superscript(decade))
    } else {
        format!("10{}", superscript(decade))
    }
}

/// A label made of a name and a UDUNITS unit.
pub(crate) fn label(name: &str, units: &str) -> String {
    match unit(units) {
        Some(unit) => format!("{name} ({unit})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks(5).into_iter().filter_map(|tick| tick.text).collect()
    }

    #[test]
    fn counts_have_whole_ticks() {
        for (count, expected) in [(1, vec!["1"]), (4, vec!["1", "2", "3", "4"]), (12, vec!["5", "10"])] {
            assert_eq!(texts(&Axis::counts(count, "")), expected);
        }
        assert_eq!(texts(&Axis::named(vec!["first".to_owned(), "second".to_owned()], "")), ["first", "second"]);
    }

    #[test]
    fn linear_ticks_are_round_numbers_inside_the_range() {
        assert_eq!(texts(&Axis::exact(0.25, 1.25, "")), ["0.4", "0.6", "0.8", "1.0", "1.2"]);
        assert_eq!(texts(&Axis::exact(-1.0, 1.0, "")), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        // A step of 5 would leave one tick.
        assert_eq!(Axis::exact(9.0, 13.0, "").ticks(1).len(), 2);
        let small = Axis::exact(8e-4, 12e-4, "nu");
        assert_eq!(small.label(), "nu");
        let smaller = Axis::exact(1e-5, 3e-5, "nu");
        assert_eq!(
            (texts(&smaller), smaller.label().as_str()),
            (vec!["1.0".into(), "1.5".into(), "2.0".into(), "2.5".into(), "3.0".into()], "nu ×10⁻⁵")
        );
    }

    #[test]
    fn log_ticks_are_decades() {
        assert_eq!(texts(&Axis { scale: Scale::Log, ..Axis::exact(2e-6, 3.0, "") }), ["10⁻⁴", "10⁻²", "1"]);
        assert_eq!(
            texts(&Axis { scale: Scale::Log, ..Axis::exact(0.05, 2.0, "") }),
            ["0.05", "0.1", "0.2", "0.5", "1", "2"]
        );
    }

    #[test]
    fn values_without_a_range_make_no_axis() {
        assert!(Axis::linear([f64::NAN, f64::INFINITY], "").is_none());
        assert!(Axis::log([0.0, -1.0], "").is_none());
        let axis = Axis::linear([0.0], "").unwrap();
        assert!(axis.low < 0.0 && axis.high > 0.0);
    }
}
