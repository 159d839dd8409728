//! Expressions as text to code for a stack machine.
//!
//! The tokens are checked against the grammar first, then put into postfix order by precedence, with a stack of waiting operators
//! ("shunting yard"). Source: E. W. Dijkstra, Algol 60 translation, Mathematisch Centrum MR 34 (1961).

use super::functions;
use super::functions::{BINARY, UNARY};
use super::grammar::{Fault, Token, check_grammar, tokenize};
use super::program::{Code, DEEPEST, Instruction};
use crate::problems::{did_you_mean, one_of};

/// Precedence of operations; `^` alone is right-associative.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const SIGN: u8 = 3;
const POWER: u8 = 4;
const FUNCTION: u8 = 5;

/// An operation whose last operand is not yet read, with its precedence; `None` is an opening bracket.
type Waiting = Option<(u8, Instruction)>;

/// The instructions of `text` in postfix order; `name` gives that of a name and is told its position, in characters from 1.
///
/// # Errors
/// The first character that does not fit the grammar.
pub(crate) fn parse(text: &str, mut name: impl FnMut(usize, String) -> Instruction) -> Result<Vec<Instruction>, Fault> {
    let tokens = tokenize(text)?;
    check_grammar(&tokens, text.chars().count() + 1)?;
    let mut instructions = Vec::with_capacity(tokens.len());
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut follows_operand = false;
    for (character, token) in tokens {
        let is_sign = token.is_sign() && !follows_operand;
        follows_operand = matches!(token, Token::Number(_) | Token::Name(_) | Token::Close);
        match token {
            Token::Number(number) => instructions.push(Instruction::Number(number)),
            Token::Name(text) => instructions.push(name(character, text)),
            Token::Function(name) => waiting.push(function(name).map(|function| (FUNCTION, function))),
            Token::Operator('+') if is_sign => {}
            Token::Operator('-') if is_sign => waiting.push(Some((SIGN, Instruction::Negate))),
            Token::Operator(operator) => {
                let (precedence, instruction, least) = match operator {
                    '+' => (SUM, Instruction::Add, SUM),
                    '-' => (SUM, Instruction::Subtract, SUM),
                    '*' => (PRODUCT, Instruction::Multiply, PRODUCT),
                    '/' => (PRODUCT, Instruction::Divide, PRODUCT),
                    _ => (POWER, Instruction::Power, FUNCTION),
                };
                release(&mut waiting, &mut instructions, least);
                waiting.push(Some((precedence, instruction)));
            }
            Token::Open => waiting.push(None),
            Token::Comma => release(&mut waiting, &mut instructions, SUM),
            Token::Close => {
                release(&mut waiting, &mut instructions, SUM);
                waiting.pop();
            }
        }
    }
    release(&mut waiting, &mut instructions, SUM);
    Ok(instructions)
}

/// The instruction that calls a function.
fn function(name: &str) -> Option<Instruction> {
    let unary = UNARY.iter().find(|it| it.0 == name).map(|it| Instruction::Unary(it.1));
    unary.or_else(|| BINARY.iter().find(|it| it.0 == name).map(|it| Instruction::Binary(it.1)))
}

/// Appends the waiting operations after the innermost bracket, last first, down to the precedence `least`.
fn release(waiting: &mut Vec<Waiting>, instructions: &mut Vec<Instruction>, least: u8) {
    while let Some(&Some((precedence, instruction))) = waiting.last()
        && precedence >= least
    {
        instructions.push(instruction);
        waiting.pop();
    }
}

/// The code of `text`, where `names` gives the instruction of each name.
///
/// # Errors
/// Every unknown name; else the first character that does not fit the grammar, or that the expression is nested too deeply.
pub(crate) fn compile(text: &str, names: &[(&str, Instruction)]) -> Result<Code, Vec<Fault>> {
    let mut unknown_names = Vec::new();
    let instructions = parse(text, |character, name| match names.iter().find(|it| it.0 == name) {
        Some((_, instruction)) => *instruction,
        None => {
            unknown_names.push(unknown_name(character, &name, names));
            Instruction::Number(f64::NAN)
        }
    });
    let code = Code::simplified(instructions.map_err(|fault| vec![fault])?);
    match check_depth(&code) {
        _ if !unknown_names.is_empty() => Err(unknown_names),
        Ok(()) => Ok(code),
        Err(fault) => Err(vec![fault]),
    }
}

/// Checks that the values of `code` fit the stack of a program.
///
/// # Errors
/// If they do not.
pub(crate) fn check_depth(code: &Code) -> Result<(), Fault> {
    if code.depth() <= DEEPEST {
        return Ok(());
    }
    Err(Fault {
        character: 1,
        found: "an expression nested too deeply".to_owned(),
        expected: format!("at most {DEEPEST} values waiting for their operators"),
        remedy: "write long sums and products from left to right".to_owned(),
    })
}

/// A name that is not known, or is that of a function without an argument.
fn unknown_name(character: usize, name: &str, names: &[(&str, Instruction)]) -> Fault {
    if functions::names().contains(&name) {
        let (found, remedy) = (format!("`{name}` without an argument"), format!("write `{name}(...)`"));
        return Fault { character, found, expected: "`(`".to_owned(), remedy };
    }
    let known: Vec<&str> = names.iter().map(|name| name.0).collect();
    let remedy = did_you_mean(name, known.iter().copied());
    let remedy = remedy.unwrap_or_else(|| "name a state, a parameter or a constant".to_owned());
    Fault { character, found: format!("`{name}`"), expected: one_of(&known), remedy }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expressions::program::Program;

    const NAMES: [(&str, Instruction); 5] = [
        ("x", Instruction::State(0)),
        ("minimum", Instruction::State(1)),
        ("beta", Instruction::Parameter(0)),
        ("half", Instruction::Number(0.5)),
        ("t", Instruction::Time),
    ];

    /// The value at x = 3, minimum = 2, beta = 0.7, t = 11.
    fn value(text: &str) -> f64 {
        let mut value = [f64::NAN];
        let code = compile(text, &NAMES).unwrap();
        Program::new(vec![code]).derivative::<f64>(&[0.7], 11.0, &[3.0, 2.0], &mut value);
        value[0]
    }

    #[test]
    fn precedence_is_that_of_mathematics() {
        assert_eq!(value("1 + 2 * 3"), 7.0);
        assert_eq!(value("-2^2"), -4.0);
        assert_eq!(value("-x^2"), -9.0);
        assert_eq!(value("2 * -x^2"), -18.0);
        assert_eq!(value("1 - -x^2^2 / 3"), 28.0);
        assert_eq!(value("2^3^2"), 512.0);
        assert_eq!(value("2^-1"), 0.5);
        assert_eq!(value("2^-x^2"), 2.0_f64.powi(-9));
        assert_eq!(value("(-x)^2"), 9.0);
        assert_eq!(value("8 / 4 / 2 - 1 - 1"), -1.0);
        assert_eq!(value("(1 + 2) * sqrt(9) * 1e-3"), 9.0 * 1e-3);
        assert_eq!(value("-exp(-x^2 * half)"), -(-4.5_f64).exp());
        assert_eq!(value("sin(x)^2 + cos(x)^2"), 3.0_f64.sin() * 3.0_f64.sin() + 3.0_f64.cos() * 3.0_f64.cos());
        assert_eq!(value("minimum + min(max(x, 5), min(t, 7)) - atan2(-1, -beta)"), 7.0 - (-1.0_f64).atan2(-0.7));
        assert_eq!(value("2e3 * .5 * 1.5E+1"), 15_000.0);
    }

    #[test]
    fn faults_say_where() {
        for (text, character, found) in [
            ("", 1, "the end"),
            ("1 +", 4, "the end"),
            ("(1 + 2", 7, "the end"),
            ("1 + 2)", 6, "`)`"),
            ("1 2", 3, "`2`"),
            ("x (1)", 1, "`x(`"),
            ("sine(x)", 1, "`sine(`"),
            ("2 * sin + 1", 5, "`sin` without an argument"),
            ("min(x)", 6, "`)`"),
            ("sin(x, x)", 6, "`,`"),
            ("x ** 2", 4, "`*`"),
            ("1.2.3", 1, "`1.2.3`"),
            ("3kg", 1, "`3kg`"),
            ("1e999", 1, "`1e999`"),
            ("x = 2", 3, "`=`"),
            ("()", 2, "`)`"),
        ] {
            let faults = compile(text, &NAMES).unwrap_err();
            assert_eq!((faults[0].character, faults[0].found.as_str()), (character, found), "{text}");
        }
        let faults = compile("bta * x + gamma", &NAMES).unwrap_err();
        let faults: Vec<_> = faults.iter().map(|it| (it.character, it.found.as_str(), it.remedy.as_str())).collect();
        let expected =
            [(1, "`bta`", "did you mean `beta`?"), (11, "`gamma`", "name a state, a parameter or a constant")];
        assert_eq!(faults, expected);
        for deep in
            ["(".repeat(3000), "2^".repeat(1000) + "x", "-".repeat(3000) + "x", "x+(".repeat(100), "x".repeat(90_000)]
        {
            let _ = compile(&deep, &NAMES);
        }
        assert!(compile(&("x+".repeat(1000) + "x"), &NAMES).is_ok());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9xtb(),{}^*/+. -]{0,40}|\\PC{0,20}|(sin|min|max|x|-|\\^|\\(|\\)|,|2){0,16}") {
            let _ = compile(&text, &NAMES);
        }

        #[test]
        fn sums_and_products_agree_with_rust(x in -1e3..1e3f64, minimum in 0.1..1e3f64, beta in -1e3..1e3f64) {
            let code = compile("(x - minimum) / minimum + beta * minimum^x * x - -beta", &NAMES).unwrap();
            let mut value = [0.0];
            Program::new(vec![code]).derivative::<f64>(&[beta], 0.0, &[x, minimum], &mut value);
            let expected = (x - minimum) / minimum + beta * minimum.powf(x) * x - -beta;
            prop_assert!(value[0] == expected || value[0].is_nan() && expected.is_nan());
        }
    }
}
