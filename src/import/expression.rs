//! Arithmetic over the columns of a side table: how a parameter follows from what was measured.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = ("-" | "+") sign | power
//! power   = atom [ "^" sign ]                 so -a^2 = -(a^2) and a^b^c = a^(b^c)
//! atom    = number | column | "{" any column name "}" | "pi" | function "(" sum ")" | "(" sum ")"
//! ```

use std::collections::BTreeSet;

/// Brackets and signs that may be nested; bounds the recursion.
const DEEPEST: usize = 64;

type Function = fn(f64) -> f64;

const FUNCTIONS: [(&str, Function); 5] =
    [("sqrt", f64::sqrt), ("exp", f64::exp), ("ln", f64::ln), ("log10", f64::log10), ("abs", f64::abs)];

/// A parsed expression.
#[derive(Debug)]
pub struct Expression {
    root: Node,
    columns: Vec<String>,
}

#[derive(Debug)]
enum Node {
    Number(f64),
    /// Position in [`Expression::columns`].
    Column(usize),
    Negative(Box<Node>),
    Function(Function, Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
}

/// Where an expression stops making sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("character {character}: found {found}; expected {expected}")]
pub struct Error {
    /// From 1.
    pub character: usize,
    pub found: String,
    pub expected: String,
}

impl Expression {
    /// Parses an expression of the grammar above.
    ///
    /// # Errors
    /// At the first character that does not fit the grammar.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parser = Parser { text: text.chars().collect(), next: 0, depth: 0, columns: Vec::new() };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Expression { root, columns: parser.columns }),
            Some(_) => Err(parser.error("an operator or the end")),
        }
    }

    /// Names of the columns it uses, in order of first use.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Its value, where `values` holds the values of [`Expression::columns`] in their order.
    pub fn value(&self, values: &[f64]) -> f64 {
        evaluate(&self.root, values)
    }
}

fn evaluate(node: &Node, values: &[f64]) -> f64 {
    match node {
        Node::Number(number) => *number,
        Node::Column(index) => values[*index],
        Node::Negative(inner) => -evaluate(inner, values),
        Node::Function(function, inner) => function(evaluate(inner, values)),
        Node::Binary(operator, left, right) => {
            let (left, right) = (evaluate(left, values), evaluate(right, values));
            match operator {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                '/' => left / right,
                _ => left.powf(right),
            }
        }
    }
}

struct Parser {
    text: Vec<char>,
    next: usize,
    depth: usize,
    columns: Vec<String>,
}

impl Parser {
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.next).is_some_and(|c| c.is_whitespace()) {
            self.next += 1;
        }
        self.text.get(self.next).copied()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let found = self.peek().filter(|c| wanted.contains(c))?;
        self.next += 1;
        Some(found)
    }

    fn error(&mut self, expected: &str) -> Error {
        let found = match self.peek() {
            Some(c) => format!("`{c}`"),
            None => "the end".to_owned(),
        };
        Error { character: self.next + 1, found, expected: expected.to_owned() }
    }

    fn sum(&mut self) -> Result<Node, Error> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, Error> {
        let mut left = self.sign()?;
        while let Some(operator) = self.take(&['*', '/']) {
            left = Node::Binary(operator, Box::new(left), Box::new(self.sign()?));
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Node, Error> {
        if self.depth == DEEPEST {
            return Err(self.error(&format!("at most {DEEPEST} nested brackets, powers and signs")));
        }
        self.depth += 1;
        let node = match self.take(&['-', '+']) {
            Some('-') => Node::Negative(Box::new(self.sign()?)),
            Some(_) => self.sign()?,
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(node)
    }

    fn power(&mut self) -> Result<Node, Error> {
        let base = self.atom()?;
        Ok(match self.take(&['^']) {
            Some(operator) => Node::Binary(operator, Box::new(base), Box::new(self.sign()?)),
            None => base,
        })
    }

    fn atom(&mut self) -> Result<Node, Error> {
        let expected = "a number, a column, `pi`, a function or a bracket";
        match self.peek() {
            Some('(') => self.bracket(),
            Some('{') => self.braced_column(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.error(expected)),
        }
    }

    fn bracket(&mut self) -> Result<Node, Error> {
        self.next += 1;
        let inner = self.sum()?;
        self.take(&[')']).ok_or_else(|| self.error("an operator or `)`"))?;
        Ok(inner)
    }

    fn braced_column(&mut self) -> Result<Node, Error> {
        let start = self.next + 1;
        match self.text[start..].iter().position(|&c| c == '}') {
            Some(length) if length > 0 => {
                self.next = start + length + 1;
                let name: String = self.text[start..start + length].iter().collect();
                Ok(self.column(name.trim()))
            }
            _ => Err(self.error("a column's name and `}` after `{`")),
        }
    }

    fn number(&mut self) -> Result<Node, Error> {
        let start = self.next;
        let mut end = start;
        while let Some(&c) = self.text.get(end) {
            let in_exponent = matches!(c, '+' | '-') && end > start && matches!(self.text[end - 1], 'e' | 'E');
            if !(c.is_ascii_alphanumeric() || c == '.' || in_exponent) {
                break;
            }
            end += 1;
        }
        let text: String = self.text[start..end].iter().collect();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.next = end;
                Ok(Node::Number(number))
            }
            _ => Err(Error { character: start + 1, found: format!("`{text}`"), expected: "a number".to_owned() }),
        }
    }

    fn name(&mut self) -> Result<Node, Error> {
        let start = self.next;
        while self.text.get(self.next).is_some_and(|&c| c.is_alphanumeric() || c == '_') {
            self.next += 1;
        }
        let name: String = self.text[start..self.next].iter().collect();
        if self.peek() != Some('(') {
            return Ok(if name == "pi" { Node::Number(std::f64::consts::PI) } else { self.column(&name) });
        }
        match FUNCTIONS.iter().find(|function| function.0 == name) {
            Some((_, function)) => Ok(Node::Function(*function, Box::new(self.bracket()?))),
            None => {
                let functions = FUNCTIONS.map(|function| function.0).join(", ");
                Err(Error {
                    character: start + 1,
                    found: format!("`{name}(`"),
                    expected: format!("one of the functions {functions}, or a column's whole name in braces"),
                })
            }
        }
    }

    fn column(&mut self, name: &str) -> Node {
        let known = self.columns.iter().position(|column| column == name);
        Node::Column(known.unwrap_or_else(|| {
            self.columns.push(name.to_owned());
            self.columns.len() - 1
        }))
    }
}

/// All columns that some of the expressions use.
pub fn columns_of<'a>(expressions: impl IntoIterator<Item = &'a Expression>) -> BTreeSet<&'a str> {
    expressions.into_iter().flat_map(|expression| expression.columns.iter().map(String::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> f64 {
        Expression::parse(text).unwrap().value(&[])
    }

    #[test]
    fn precedence_is_that_of_mathematics() {
        assert_eq!(value("1 + 2 * 3"), 7.0);
        assert_eq!(value("-2^2"), -4.0);
        assert_eq!(value("2^3^2"), 512.0);
        assert_eq!(value("2^-1"), 0.5);
        assert_eq!(value("8 / 4 / 2 - 1 - 1"), -1.0);
        assert_eq!(value("(1 + 2) * sqrt(9) * 1e-3"), 9.0 * 1e-3);
        assert_eq!(value("pi"), std::f64::consts::PI);
    }

    #[test]
    fn columns_are_plain_or_in_braces() {
        let expression = Expression::parse("{weight(oz)} * mass + {mass}").unwrap();
        assert_eq!(expression.columns(), ["weight(oz)", "mass"]);
        assert_eq!(expression.value(&[2.0, 3.0]), 9.0);
    }

    #[test]
    fn errors_say_where() {
        for (text, character, found) in [
            ("", 1, "the end"),
            ("1 +", 4, "the end"),
            ("(1 + 2", 7, "the end"),
            ("1 2", 3, "`2`"),
            ("weight(oz)", 1, "`weight(`"),
            ("1.2.3", 1, "`1.2.3`"),
            ("3kg", 1, "`3kg`"),
            ("{oops", 1, "`{`"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!((error.character, error.found.as_str()), (character, found), "{text}");
        }
        assert!(Expression::parse(&"(".repeat(100_000)).is_err());
        assert!(Expression::parse(&"2^".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-z(){}^*/+. -]{0,40}|\\PC{0,20}") {
            let _ = Expression::parse(&text);
        }

        #[test]
        fn sums_and_products_agree_with_rust(a in -1e3..1e3f64, b in 0.1..1e3f64, c in -3..3i32) {
            let expression = Expression::parse("(a - b) / b + a * b^c - -a").unwrap();
            prop_assert_eq!(expression.columns().len(), 3);
            prop_assert_eq!(expression.value(&[a, b, f64::from(c)]), (a - b) / b + a * b.powf(f64::from(c)) - -a);
        }
    }
}
