//! Formulas over named values, such as the columns of a table.

use super::compile::{check_depth, parse};
use super::grammar::Fault;
use super::program::{Code, Instruction, Program};

/// An expression in any names, and in `pi`.
#[derive(Debug)]
pub(crate) struct Formula {
    program: Program,
    names: Vec<String>,
}

impl Formula {
    /// Reads an expression of the [grammar](super::grammar).
    ///
    /// # Errors
    /// The first character that does not fit the grammar, or that it is nested too deeply.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let mut names: Vec<String> = Vec::new();
        let instructions = parse(text, |character, name| {
            // `{pi}` in braces is a name like any other.
            if name == "pi" && text.chars().nth(character - 1) != Some('{') {
                return Instruction::Number(std::f64::consts::PI);
            }
            let known = names.iter().position(|known| *known == name);
            Instruction::State(known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            }))
        })?;
        let code = Code::verbatim(instructions);
        check_depth(&code)?;
        Ok(Formula { program: Program::new(vec![code]), names })
    }

    /// Its names, in order of first use.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Its value, where `values` are those of its [names](Formula::names) in their order.
    pub(crate) fn value(&self, values: &[f64]) -> f64 {
        let mut value = [f64::NAN];
        self.program.derivative(&[], 0.0, values, &mut value);
        value[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_plain_or_in_braces_and_may_be_those_of_functions() {
        let formula = Formula::parse("{weight(oz)} * mass + { mass } - max").unwrap();
        assert_eq!(formula.names(), ["weight(oz)", "mass", "max"]);
        assert_eq!(formula.value(&[2.0, 3.0, 0.5]), 8.5);
        assert_eq!(
            Formula::parse("sqrt(2 * pi) * {pi}").unwrap().value(&[3.0]),
            (2.0 * std::f64::consts::PI).sqrt() * 3.0
        );
    }

    #[test]
    fn faults_say_where() {
        let nested = format!("{}1{}", "x + (".repeat(80), ")".repeat(80));
        for (text, character, found) in [
            ("", 1, "the end"),
            ("weight(oz)", 1, "`weight(`"),
            ("2 * {oops", 5, "`{`"),
            ("{}", 1, "`{`"),
            ("x^".repeat(80).as_str(), 161, "the end"),
            (&format!("{}x", "x^".repeat(80)), 1, "an expression nested too deeply"),
            (&nested, 325, "`(`"),
            (&"(".repeat(100_000), 32_001, "100000 characters"),
        ] {
            let fault = Formula::parse(text).unwrap_err();
            assert_eq!((fault.character, fault.found.as_str()), (character, found), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-z(){},^*/+. -]{0,40}|\\PC{0,20}") {
            if let Ok(formula) = Formula::parse(&text) {
                formula.value(&vec![1.5; formula.names().len()]);
            }
        }

        #[test]
        fn sums_and_products_agree_with_rust(a in -1e3..1e3f64, b in 0.1..1e3f64, c in -3..3i32) {
            let formula = Formula::parse("(a - b) / b + a * b^c - -a").unwrap();
            prop_assert_eq!(formula.names().len(), 3);
            prop_assert_eq!(formula.value(&[a, b, f64::from(c)]), (a - b) / b + a * b.powf(f64::from(c)) - -a);
        }
    }
}
