//! The grammar of expressions, and the first place at which a text does not fit it.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = ("-" | "+") sign | power
//! power   = atom [ "^" sign ]                 so -a^2 = -(a^2) and a^b^c = a^(b^c)
//! atom    = number | name | "{" any name "}" | function "(" sum [ "," sum ] ")" | "(" sum ")"
//! ```

use super::functions;
use super::functions::BINARY;
use super::program::DEEPEST;
use crate::problems::did_you_mean;

/// Most characters of an expression. Rates that a library of products found may have hundreds of terms.
const LONGEST: usize = 32_000;

/// Why an expression is not one of the grammar, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Position of the first character that does not fit, from 1.
    pub character: usize,
    pub found: String,
    pub expected: String,
    pub remedy: String,
}

/// A number, name or sign of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Number(f64),
    Name(String),
    /// A function that is called.
    Function(&'static str),
    Operator(char),
    Open,
    Close,
    Comma,
}

impl Token {
    /// As messages show it.
    fn shown(&self) -> String {
        match self {
            Token::Number(number) => format!("`{number}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Function(name) => format!("`{name}`"),
            Token::Operator(operator) => format!("`{operator}`"),
            Token::Open => "`(`".to_owned(),
            Token::Close => "`)`".to_owned(),
            Token::Comma => "`,`".to_owned(),
        }
    }

    /// Whether it may be the sign of an operand.
    pub(crate) fn is_sign(&self) -> bool {
        matches!(self, Token::Operator('+' | '-'))
    }
}

/// The tokens of `text`, each with the position of its first character, from 1.
///
/// # Errors
/// The first character that begins no token.
pub(crate) fn tokenize(text: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let text: Vec<char> = text.chars().collect();
    let fault = |start: usize, found: String, expected: &str, remedy: String| Fault {
        character: start + 1,
        found,
        expected: expected.to_owned(),
        remedy,
    };
    if text.len() > LONGEST {
        let found = format!("{} characters", text.len());
        return Err(fault(LONGEST, found, &format!("at most {LONGEST}"), "shorten the expression".to_owned()));
    }
    let mut tokens = Vec::new();
    let mut next = 0;
    while let Some(&first) = text.get(next) {
        let start = next;
        next += 1;
        let token = match first {
            _ if first.is_whitespace() => continue,
            '+' | '-' | '*' | '/' | '^' => Token::Operator(first),
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            '0'..='9' | '.' => {
                while let Some(&c) = text.get(next) {
                    let in_exponent = matches!(c, '+' | '-') && matches!(text[next - 1], 'e' | 'E');
                    if !(c.is_alphanumeric() || c == '.' || c == '_' || in_exponent) {
                        break;
                    }
                    next += 1;
                }
                let word: String = text[start..next].iter().collect();
                match word.parse::<f64>() {
                    Ok(number) if number.is_finite() => Token::Number(number),
                    _ => {
                        let remedy = "write numbers as 2, 0.5 or 1e-3, and `*` for products".to_owned();
                        return Err(fault(start, format!("`{word}`"), "a finite number", remedy));
                    }
                }
            }
            '{' => match text[next..].iter().position(|c| *c == '}') {
                Some(length) if length > 0 => {
                    let name: String = text[next..next + length].iter().collect();
                    next += length + 1;
                    Token::Name(name.trim().to_owned())
                }
                _ => {
                    return Err(fault(
                        start,
                        "`{`".to_owned(),
                        "a name and `}` after `{`",
                        "close the brace".to_owned(),
                    ));
                }
            },
            _ if first.is_alphabetic() || first == '_' => {
                while text.get(next).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                    next += 1;
                }
                let word: String = text[start..next].iter().collect();
                let function = functions::names().into_iter().find(|function| *function == word);
                let called = text[next..].iter().find(|c| !c.is_whitespace()) == Some(&'(');
                match (function, called) {
                    (_, false) => Token::Name(word),
                    (Some(function), true) => Token::Function(function),
                    (None, true) => {
                        let remedy = match did_you_mean(&word, functions::names()) {
                            _ if word == "log" => "`ln` is the natural logarithm, `log10` that of ten".to_owned(),
                            Some(remedy) => remedy,
                            None => "write `*` for products".to_owned(),
                        };
                        let expected = format!("one of the functions {}", functions::names().join(", "));
                        return Err(fault(start, format!("`{word}(`"), &expected, remedy));
                    }
                }
            }
            _ => {
                let expected = "a number, a name, an operator or a bracket";
                return Err(fault(start, format!("`{first}`"), expected, "remove it".to_owned()));
            }
        };
        tokens.push((start + 1, token));
    }
    Ok(tokens)
}

/// An open bracket, and how many more arguments have to follow in it.
struct Opened {
    character: usize,
    more: usize,
}

/// Checks that the tokens fit the grammar; `end` is the position after the last character.
///
/// # Errors
/// The first token that does not fit, or what is missing at the end.
pub(crate) fn check_grammar(tokens: &[(usize, Token)], end: usize) -> Result<(), Fault> {
    let mut opened: Vec<Opened> = Vec::new();
    let mut has_operand = false;
    for (position, (character, token)) in tokens.iter().enumerate() {
        let fault = |expected: &str, remedy: &str| {
            let (found, expected, remedy) = (token.shown(), expected.to_owned(), remedy.to_owned());
            Err(Fault { character: *character, found, expected, remedy })
        };
        let follows = position.checked_sub(1).map(|before| &tokens[before].1);
        match (token, has_operand) {
            (Token::Number(_) | Token::Name(_), false) => has_operand = true,
            (Token::Function(_), false) => {}
            (Token::Open, false) => {
                let more = match follows {
                    Some(Token::Function(name)) => usize::from(BINARY.iter().any(|it| it.0 == *name)),
                    _ => 0,
                };
                if opened.len() == DEEPEST {
                    return fault(&format!("at most {DEEPEST} nested brackets"), "simplify the expression");
                }
                opened.push(Opened { character: *character, more });
            }
            (Token::Operator(_), false) if token.is_sign() => {}
            (Token::Operator('*'), false) if follows == Some(&Token::Operator('*')) => {
                return fault("a number, a name or a bracket", "write `^` for powers");
            }
            (_, false) => return fault("a number, a name, a function or a bracket", "write the missing operand"),
            (Token::Operator(_), true) => has_operand = false,
            (Token::Close, true) => match opened.pop() {
                Some(Opened { more: 0, .. }) => {}
                Some(_) => return fault("`,` and a second argument", "write the second argument"),
                None => return fault("an operator or the end", "remove it, or open the bracket"),
            },
            (Token::Comma, true) => match opened.last_mut() {
                Some(innermost) if innermost.more > 0 => {
                    innermost.more -= 1;
                    has_operand = false;
                }
                _ => {
                    return fault(
                        "an operator or a bracket",
                        "write decimals with a point, and no more arguments than the function takes",
                    );
                }
            },
            (_, true) => return fault("an operator", "write `*` for products"),
        }
    }
    let fault = |expected: String, remedy: &str| {
        Err(Fault { character: end, found: "the end".to_owned(), expected, remedy: remedy.to_owned() })
    };
    match (has_operand, opened.last()) {
        (false, _) => fault("a number, a name, a function or a bracket".to_owned(), "write the missing operand"),
        (true, Some(Opened { character, .. })) => {
            fault(format!("`)` for the bracket at character {character}"), "close the bracket")
        }
        (true, None) => Ok(()),
    }
}
