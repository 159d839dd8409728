//! Right-hand sides of a user's system: text to code.
//!
//! The crate `exmex` reads the expression. It says of no error where it is, and it reads `-a^2` as `(-a)^2` and `a^b^c` as
//! `(a^b)^c`; so the text is held against the grammar first, and goes to `exmex` with brackets that leave no doubt. What
//! `exmex` computes with is [`Code`] instead of numbers, so that evaluating once gives the code of the expression.

use exmex::{BinOp, Express, FlatEx, MakeOperators, Operator};

use super::functions::{BINARY, UNARY};
use super::grammar::{Fault, Token, check, scan};
use super::problem::nearest;
use super::program::{Code, DEEPEST, Instruction};

/// The code of `text`, where `names` gives the code of each name.
///
/// # Errors
/// Every unknown name; else the first character that does not fit the grammar.
pub(super) fn compile(text: &str, names: &[(&str, Instruction)]) -> Result<Code, Vec<Fault>> {
    let tokens = scan(text).map_err(|fault| vec![fault])?;
    let partners = check(&tokens, text.chars().count() + 1).map_err(|fault| vec![fault])?;
    let known: Vec<&str> = names.iter().map(|name| name.0).collect();
    let strangers = tokens.iter().filter_map(|(character, token)| match token {
        Token::Name(name) if !known.contains(&name.as_str()) => Some(unknown(*character, name, &known)),
        _ => None,
    });
    let strangers: Vec<Fault> = strangers.collect();
    if !strangers.is_empty() {
        return Err(strangers);
    }
    let whole = |found: String, expected: &str, remedy: &str| {
        vec![Fault { character: 1, found, expected: expected.to_owned(), remedy: remedy.to_owned() }]
    };
    let code = FlatEx::<Code, Operators>::parse(&unambiguous(&tokens, &partners)).and_then(|parsed| {
        let code_of = |name: &String| names.iter().find(|it| it.0 == name.as_str()).map(|it| Code::one(it.1));
        parsed.eval(&parsed.var_names().iter().filter_map(code_of).collect::<Vec<_>>())
    });
    match code {
        Ok(code) if code.depth() <= DEEPEST => Ok(code),
        Ok(_) => Err(whole(
            "an expression nested too deeply".to_owned(),
            &format!("at most {DEEPEST} values that wait for their operators"),
            "write long sums and products from left to right",
        )),
        Err(error) => Err(whole(format!("an expression that cannot be read ({error})"), "an expression", "rewrite it")),
    }
}

fn unknown(character: usize, name: &str, known: &[&str]) -> Fault {
    let remedy = match nearest(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "name a state, a parameter or a constant".to_owned(),
    };
    Fault { character, found: format!("`{name}`"), expected: format!("one of {}", known.join(", ")), remedy }
}

/// The expression as `exmex` reads it: powers after a sign or a `^` in brackets of their own, functions of two arguments as
/// operators, names in braces, numbers without exponents.
fn unambiguous(tokens: &[(usize, Token)], partners: &[usize]) -> String {
    let mut closing = vec![0_usize; tokens.len() + 1];
    let mut separators: Vec<Option<&str>> = Vec::new();
    let mut text = String::new();
    for (position, (_, token)) in tokens.iter().enumerate() {
        text.extend(std::iter::repeat_n(')', closing[position]));
        let before = position.checked_sub(1).map(|before| &tokens[before].1);
        match token {
            Token::Number(number) => text.push_str(&number.to_string()),
            Token::Name(name) => text.push_str(&format!("{{{name}}}")),
            Token::Function(name) if UNARY.iter().any(|it| it.0 == *name) => text.push_str(name),
            Token::Function(_) => {}
            Token::Operator(operator) => {
                text.push(*operator);
                let is_sign =
                    token.is_sign() && matches!(before, None | Some(Token::Operator(_) | Token::Open | Token::Comma));
                if is_sign || *operator == '^' {
                    text.push('(');
                    closing[end_of_power(tokens, partners, position + 1)] += 1;
                }
            }
            Token::Open => {
                let operator = match before {
                    Some(Token::Function(name)) => BINARY.iter().map(|it| it.0).find(|it| it == name),
                    _ => None,
                };
                text.push_str(if operator.is_some() { "((" } else { "(" });
                separators.push(operator);
            }
            Token::Comma => {
                let operator = separators.last().copied().flatten().unwrap_or_default();
                text.push_str(&format!("){operator}("));
            }
            Token::Close => text.push_str(if separators.pop().flatten().is_some() { "))" } else { ")" }),
        }
    }
    text.extend(std::iter::repeat_n(')', closing[tokens.len()]));
    text
}

/// The position after the power that begins at `position`, with its signs and exponents.
fn end_of_power(tokens: &[(usize, Token)], partners: &[usize], mut position: usize) -> usize {
    loop {
        while tokens[position].1.is_sign() {
            position += 1;
        }
        position = match tokens[position].1 {
            Token::Open => partners[position] + 1,
            Token::Function(_) => partners[position + 1] + 1,
            _ => position + 1,
        };
        match tokens.get(position) {
            Some((_, Token::Operator('^'))) => position += 1,
            _ => return position,
        }
    }
}

/// The operators on [`Code`].
#[derive(Clone, Debug)]
struct Operators;

/// A binary operator of that name; the greater `prio` binds tighter.
macro_rules! binary {
    ($prio:expr, $operation:expr) => {
        BinOp { apply: |left: Code, right: Code| left.binary(right, $operation), prio: $prio, is_commutative: false }
    };
}

/// A function of [`UNARY`] or [`BINARY`]: `exmex` takes function pointers, which capture nothing.
macro_rules! functions {
    ($($kind:ident $position:literal),* $(,)?) => { vec![$(functions!(@ $kind $position)),*] };
    (@ unary $position:literal) => {
        Operator::make_unary(UNARY[$position].0, |code: Code| code.unary(Instruction::Unary(UNARY[$position].1)))
    };
    (@ binary $position:literal) => {
        Operator::make_bin(BINARY[$position].0, binary!(0, Instruction::Binary(BINARY[$position].1)))
    };
}

impl MakeOperators<Code> for Operators {
    fn make<'a>() -> Vec<Operator<'a, Code>> {
        let mut operators = functions![
            unary 0, unary 1, unary 2, unary 3, unary 4, unary 5, unary 6, unary 7, unary 8, unary 9, unary 10, unary 11,
            unary 12, unary 13, unary 14, binary 0, binary 1, binary 2,
        ];
        operators.extend([
            Operator::make_bin_unary("+", binary!(1, Instruction::Add), |code: Code| code),
            Operator::make_bin_unary("-", binary!(1, Instruction::Subtract), |code| code.unary(Instruction::Negate)),
            Operator::make_bin("*", binary!(2, Instruction::Multiply)),
            Operator::make_bin("/", binary!(2, Instruction::Divide)),
            Operator::make_bin("^", binary!(3, Instruction::Power)),
        ]);
        operators
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::program::Program;
    use super::*;

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
        Program::new(vec![code]).derivative(&[0.7], 11.0, &[3.0, 2.0], &mut value);
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
            ["(".repeat(3000), "2^".repeat(1000) + "x", "-".repeat(3000) + "x", "x+(".repeat(100), "x".repeat(9000)]
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
            Program::new(vec![code]).derivative(&[beta], 0.0, &[x, minimum], &mut value);
            let expected = (x - minimum) / minimum + beta * minimum.powf(x) * x - -beta;
            prop_assert!(value[0] == expected || value[0].is_nan() && expected.is_nan());
        }
    }
}
