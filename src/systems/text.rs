//! A user's equations as the text of a system file.

use std::fmt::Write;

use serde::Serialize;

use super::equations::Equations;

/// Characters of a line after which a derivative is broken.
const WIDTH: usize = 110;
/// Most characters of a term that is not broken itself.
const LONGEST: usize = 160;
/// Most brackets that a line is broken within.
const DEEPEST: usize = 3;

impl Equations {
    /// The text of a system file: what pipelines and commands read back as the same equations. Numbers are the shortest that do so; a long
    /// derivative is a string of several lines, broken between its terms.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut add = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        add("name", quoted(&self.name));
        if !self.description.is_empty() {
            add("description", quoted(&self.description));
        }
        add("time_unit", quoted(&self.time_unit));
        add("horizon", number(self.horizon));
        add("time_step", number(self.time_step));
        if let Some(reset) = &self.reset {
            add("reset", quoted(reset));
        }
        for state in &self.states {
            add_quantity(&mut text, "states", [&state.name, &state.unit, &state.description]);
            let _ = writeln!(text, "derivative = {}", broken(&state.derivative));
            if let Some([lower, upper]) = state.initial.map(|range| range.map(number)) {
                let _ = writeln!(text, "initial = [{lower}, {upper}]");
            }
            if let Some(start) = &state.start {
                let _ = writeln!(text, "start = {}", inline(start));
            }
        }
        for output in &self.outputs {
            add_quantity(&mut text, "outputs", [&output.name, &output.unit, &output.description]);
            if !output.channels.is_empty() {
                let _ = writeln!(text, "channels = {}", inline(&output.channels));
            }
            let _ = writeln!(text, "expression = {}", broken(&output.expression));
        }
        for parameter in &self.parameters {
            add_quantity(&mut text, "parameters", [&parameter.name, &parameter.unit, &parameter.description]);
            let [lower, upper] = [parameter.lower, parameter.upper].map(number);
            let _ = writeln!(text, "lower = {lower}\nupper = {upper}");
        }
        for input in &self.inputs {
            add_quantity(&mut text, "inputs", [&input.name, &input.unit, &input.description]);
        }
        for covariate in &self.covariates {
            add_quantity(&mut text, "covariates", [&covariate.name, &covariate.unit, &covariate.description]);
        }
        for dose in &self.doses {
            let _ = writeln!(text, "\n[[doses]]\ninput = {}\nstate = {}", quoted(&dose.input), quoted(&dose.state));
            let said = [
                ("bioavailability", &dose.bioavailability),
                ("lag", &dose.lag),
                ("interval", &dose.interval),
                ("superposed", &dose.superposed),
            ];
            for (key, value) in said {
                let _ = value.iter().try_for_each(|value| writeln!(text, "{key} = {}", quoted(value)));
            }
        }
        for infusion in &self.infusions {
            let _ = writeln!(text, "\n[[infusions]]\ninput = {}", quoted(&infusion.input));
            for (key, value) in [("interval", &infusion.interval), ("superposed", &infusion.superposed)] {
                let _ = value.iter().try_for_each(|value| writeln!(text, "{key} = {}", quoted(value)));
            }
        }
        if let Some(inputs) = &self.preequilibration {
            text.push_str("\n[preequilibration]\n");
            for (name, value) in inputs {
                let _ = writeln!(text, "{} = {}", quoted(name), number(*value));
            }
        }
        if !self.constants.is_empty() {
            text.push_str("\n[constants]\n");
        }
        for (name, value) in &self.constants {
            let _ = writeln!(text, "{} = {}", quoted(name), number(*value));
        }
        if !self.environments.is_empty() {
            text.push_str("\n[environments]\n");
        }
        for (name, values) in &self.environments {
            let _ = writeln!(text, "{} = {}", quoted(name), inline(values));
        }
        text
    }
}

/// The head of a table in the list `of`: its name, unit and description.
fn add_quantity(text: &mut String, of: &str, [name, unit, description]: [&str; 3]) {
    let _ = writeln!(text, "\n[[{of}]]\nname = {}\nunit = {}", quoted(name), quoted(unit));
    if !description.is_empty() {
        let _ = writeln!(text, "description = {}", quoted(description));
    }
}

/// The shortest digits that are read back as the same number.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A value within a line.
fn inline(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|error| quoted(&error.to_string()), |value| value.to_string())
}

/// A string in quotation marks within a line, which may be a key too.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// An expression as a string, of several lines if it is long: a backslash at the end of a line leaves out the break and the blanks behind.
fn broken(expression: &str) -> String {
    let is_indented = expression.starts_with(char::is_whitespace);
    if expression.len() <= WIDTH
        || is_indented
        || expression.contains(['"', '\\'])
        || expression.chars().any(char::is_control)
    {
        return quoted(expression);
    }
    let mut terms = Vec::new();
    add_terms(expression, 0, &mut terms);
    let mut text = String::from("\"\"\"\\\n    ");
    let mut length = 0;
    for term in terms {
        if length > 0 && length + term.len() > WIDTH {
            text.push_str(" \\\n    ");
            length = 0;
        }
        // The blank before a sign stands before the break.
        text.push_str(if length > 0 { term } else { term.strip_prefix(' ').unwrap_or(term) });
        length += term.len();
    }
    text + "\"\"\""
}

/// The terms of a sum within so many brackets, with their signs; of longer ones those within more brackets.
fn add_terms<'a>(sum: &'a str, brackets: usize, terms: &mut Vec<&'a str>) {
    let (mut opened, mut start) = (0_usize, 0);
    let mut ends: Vec<usize> = Vec::new();
    for (at, character) in sum.char_indices() {
        match character {
            '(' => opened += 1,
            ')' => opened = opened.saturating_sub(1),
            ' ' if at > 0 && opened == brackets && [" + ", " - "].iter().any(|sign| sum[at..].starts_with(sign)) => {
                ends.push(at);
            }
            _ => {}
        }
    }
    for end in ends.into_iter().chain([sum.len()]) {
        let term = &sum[start..end];
        if term.len() > LONGEST && brackets < DEEPEST {
            add_terms(term, brackets + 1, terms);
        } else {
            terms.push(term);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::systems::{Covariate, DoseEquation, FreeStart, InfusionEquation, OutputEquation, StartSetting};

    fn equations(derivative: String, words: [String; 4], numbers: [f64; 4]) -> Equations {
        let (text, [horizon, lower, upper, value]) = (toml::toml! { name = "x" }, numbers);
        let mut state = text.clone();
        state.extend([("derivative".to_owned(), derivative.into()), ("initial".to_owned(), vec![lower, upper].into())]);
        let mut parameter = text.clone();
        parameter.extend([("lower".to_owned(), lower.into()), ("upper".to_owned(), upper.into())]);
        let mut table = text;
        table.extend([("horizon".to_owned(), horizon.into()), ("time_step".to_owned(), value.into())]);
        table.insert("states".to_owned(), vec![state].into());
        table.insert("parameters".to_owned(), vec![parameter].into());
        let mut equations: Equations = table.try_into().unwrap();
        let [name, description, unit, constant] = words;
        equations.states[0].unit.clone_from(&unit);
        equations.parameters[0].description.clone_from(&description);
        equations.constants.insert(constant.clone(), value);
        let list = crate::systems::Values::List(vec![value, upper]);
        let range = crate::systems::Values::Range(crate::systems::Range { from: lower, to: upper, count: 3 });
        let constant_name = constant.clone();
        equations.environments.insert(constant, [("a".to_owned(), list), (unit.clone(), range)].into());
        let (also, twice) = (unit.clone(), vec![name.clone(), constant_name.clone()]);
        equations.inputs.push(crate::systems::InputSignal { name: unit, unit: name, description: description.clone() });
        equations.states[0].start = Some(StartSetting::Free(FreeStart { lower, upper, guess: Some(value) }));
        equations.outputs.push(OutputEquation {
            name: also.clone(),
            channels: twice,
            unit: also.clone(),
            description: description.clone(),
            expression: equations.states[0].derivative.clone(),
        });
        equations.covariates.push(Covariate {
            name: also.clone(),
            unit: constant_name,
            description: description.clone(),
        });
        equations.doses.push(DoseEquation {
            input: also.clone(),
            state: description.clone(),
            bioavailability: Some(also.clone()),
            lag: None,
            interval: Some(description.clone()),
            superposed: Some(also.clone()),
        });
        equations.infusions.push(InfusionEquation {
            input: also.clone(),
            interval: None,
            superposed: Some(also.clone()),
        });
        equations.reset = Some(also.clone());
        equations.preequilibration = Some([(also, value)].into());
        equations.description = description;
        equations
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            terms in proptest::collection::vec("[+-]{0,1}|\\(a - b\\) \\* x|\\PC{0,30}|[\\\\\"\n\t]", 0..30),
            words in proptest::array::uniform4("\\PC{0,12}|[\\\\\"'\n\r\t\u{1}\u{7f}]{0,4}"),
            numbers in proptest::array::uniform4((-1.0..1.0_f64, -200..200)),
        ) {
            let expected = equations(terms.join(" "), words, numbers.map(|(digits, power)| digits * 10.0_f64.powi(power)));
            let text = expected.to_toml();
            prop_assert_eq!(toml::from_str::<Equations>(&text).map_err(|error| format!("{error}\n{text}")), Ok(expected));
        }
    }

    #[test]
    fn a_long_derivative_is_broken_between_its_terms() {
        let derivative = ["(0.1 + 1e-7 * beta) * x"; 12].join(" - ");
        let expected = equations(derivative, ["a", "b", "c", "d"].map(str::to_owned), [1.0, 1e-9, 2.0, 3.0]);
        let text = expected.to_toml();
        assert!(text.lines().all(|line| line.len() < 130), "{text}");
        assert!(text.contains("* x \\\n    - (0.1") && text.contains("lower = 1e-9"), "{text}");
        assert_eq!(toml::from_str::<Equations>(&text), Ok(expected));
    }
}
