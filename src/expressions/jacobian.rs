//! The derivatives of expressions by states and time, as expressions themselves: what methods for stiff systems evaluate in every step.
//!
//! ```text
//! J_rc = df_r/dy_c,    df_r/dt
//! ```
//!
//! Expressions become a list of operations on the results of earlier ones, in which each operation stands once; rules of differentiation append
//! those of the derivatives. Entries that are zero whatever the state are left out, and what no entry needs. On [`Dual`] numbers the list gives
//! the entries with their derivatives along [`LANES`](super::LANES) directions. Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed.,
//! sections 3.1 and 7.1.

use std::collections::HashMap;

use super::dual::{Dual, Scalar};
use super::functions::{Binary, Unary};
use super::program::{Instruction, Program};

/// An operation on the results at earlier places.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Number(f64),
    Time,
    State(usize),
    Parameter(usize),
    Add(usize, usize),
    Subtract(usize, usize),
    Multiply(usize, usize),
    Divide(usize, usize),
    Power(usize, usize),
    /// The product of a slope and of what moves, which is zero where nothing moves: an infinite slope does not count then.
    Chain(usize, usize),
    Negate(usize),
    Square(usize),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    /// The derivative of a function by its first or its second argument.
    Partial(Binary, usize, [usize; 2]),
}

/// An entry of the Jacobian, and where its value is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: usize,
    column: usize,
    place: usize,
}

/// The derivatives of the expressions of a program.
#[derive(Debug)]
pub(crate) struct Jacobian {
    operations: Vec<Operation>,
    /// Column by column.
    entries: Vec<Entry>,
    /// Row and place of each derivative by time.
    by_time: Vec<(usize, usize)>,
}

impl Jacobian {
    /// Of `program`, by its `states`, and by time as far as it or inputs occur.
    pub(crate) fn new(program: &Program, states: usize) -> Self {
        let mut list = List::default();
        let results = list.results(program);
        let length = list.operations.len();
        let (mut entries, mut by_time) = (Vec::new(), Vec::new());
        for column in 0..states {
            let slopes = list.slopes(length, |it| matches!(it, Operation::State(state) if state == column));
            let of_column = results.iter().enumerate().filter_map(|(row, result)| Some((row, slopes[*result]?)));
            entries.extend(of_column.map(|(row, place)| Entry { row, column, place }));
        }
        let slopes = list.slopes(length, |it| matches!(it, Operation::Time));
        by_time.extend(results.iter().enumerate().filter_map(|(row, result)| Some((row, slopes[*result]?))));
        let used = entries.iter().map(|it| it.place).chain(by_time.iter().map(|it| it.1));
        let (operations, places) = list.needed(used);
        entries.iter_mut().for_each(|it| it.place = places[it.place]);
        by_time.iter_mut().for_each(|it| it.1 = places[it.1]);
        Jacobian { operations, entries, by_time }
    }

    /// Row and column of each entry.
    pub(crate) fn pattern(&self) -> impl Iterator<Item = (usize, usize)> {
        self.entries.iter().map(|it| (it.row, it.column))
    }

    /// Writes the entries in the order of the pattern, and the derivatives by time to their rows of `by_time [C]`; `room` is for what is computed
    /// on the way.
    pub(crate) fn evaluate(
        &self,
        (parameters, time, state): (&[Dual], f64, &[Dual]),
        room: &mut Vec<Dual>,
        entries: &mut [Dual],
        by_time: &mut [Dual],
    ) {
        room.clear();
        for operation in &self.operations {
            let at = |place: usize| room[place];
            room.push(match *operation {
                Operation::Number(number) => Dual::from(number),
                Operation::Time => Dual::from(time),
                Operation::State(index) => state[index],
                Operation::Parameter(index) => parameters[index],
                Operation::Add(left, right) => at(left) + at(right),
                Operation::Subtract(left, right) => at(left) - at(right),
                Operation::Multiply(left, right) => at(left) * at(right),
                Operation::Divide(left, right) => at(left) / at(right),
                Operation::Power(left, right) => at(left).powf(at(right)),
                Operation::Chain(_, moved) if at(moved) == Dual::default() => Dual::default(),
                Operation::Chain(slope, moved) => at(slope) * at(moved),
                Operation::Negate(operand) => -at(operand),
                Operation::Square(operand) => at(operand) * at(operand),
                Operation::Unary(function, operand) => at(operand).unary(function),
                Operation::Binary(function, left, right) => at(left).binary(at(right), function),
                Operation::Partial(function, by, [left, right]) => at(left).partial(at(right), function, by),
            });
        }
        entries.iter_mut().zip(&self.entries).for_each(|(value, entry)| *value = room[entry.place]);
        self.by_time.iter().for_each(|&(row, place)| by_time[row] = room[place]);
    }
}

const LOGARITHM: Unary = Unary { value: f64::ln, slope: f64::recip, bend: |x| -1.0 / (x * x) };

/// What makes an operation the same as another: which it is, its constant or function, and its operands.
type Key = (u8, u64, [usize; 2]);

impl Operation {
    fn key(self) -> Key {
        match self {
            Operation::Number(number) => (0, number.to_bits(), [0; 2]),
            Operation::Time => (1, 0, [0; 2]),
            Operation::State(index) => (2, 0, [index, 0]),
            Operation::Parameter(index) => (3, 0, [index, 0]),
            Operation::Add(left, right) => (4, 0, [left, right]),
            Operation::Subtract(left, right) => (5, 0, [left, right]),
            Operation::Multiply(left, right) => (6, 0, [left, right]),
            Operation::Divide(left, right) => (7, 0, [left, right]),
            Operation::Power(left, right) => (8, 0, [left, right]),
            Operation::Chain(slope, moved) => (9, 0, [slope, moved]),
            Operation::Negate(operand) => (10, 0, [operand, 0]),
            Operation::Square(operand) => (11, 0, [operand, 0]),
            Operation::Unary(function, operand) => (12, function.value as usize as u64, [operand, 0]),
            Operation::Binary(function, left, right) => (13, function.value as usize as u64, [left, right]),
            Operation::Partial(function, by, operands) => (14 + by as u8, function.value as usize as u64, operands),
        }
    }

    /// The places that it reads.
    fn operands(self) -> impl Iterator<Item = usize> {
        let operands = match self {
            Operation::Number(_) | Operation::Time | Operation::State(_) | Operation::Parameter(_) => [None; 2],
            Operation::Negate(operand) | Operation::Square(operand) | Operation::Unary(_, operand) => {
                [Some(operand), None]
            }
            Operation::Add(left, right)
            | Operation::Subtract(left, right)
            | Operation::Multiply(left, right)
            | Operation::Divide(left, right)
            | Operation::Power(left, right)
            | Operation::Chain(left, right)
            | Operation::Binary(_, left, right)
            | Operation::Partial(_, _, [left, right]) => [Some(left), Some(right)],
        };
        operands.into_iter().flatten()
    }

    /// The same of operands elsewhere.
    fn moved(self, to: &[usize]) -> Self {
        match self {
            Operation::Number(_) | Operation::Time | Operation::State(_) | Operation::Parameter(_) => self,
            Operation::Add(left, right) => Operation::Add(to[left], to[right]),
            Operation::Subtract(left, right) => Operation::Subtract(to[left], to[right]),
            Operation::Multiply(left, right) => Operation::Multiply(to[left], to[right]),
            Operation::Divide(left, right) => Operation::Divide(to[left], to[right]),
            Operation::Power(left, right) => Operation::Power(to[left], to[right]),
            Operation::Chain(slope, moved) => Operation::Chain(to[slope], to[moved]),
            Operation::Negate(operand) => Operation::Negate(to[operand]),
            Operation::Square(operand) => Operation::Square(to[operand]),
            Operation::Unary(function, operand) => Operation::Unary(function, to[operand]),
            Operation::Binary(function, left, right) => Operation::Binary(function, to[left], to[right]),
            Operation::Partial(function, by, operands) => Operation::Partial(function, by, operands.map(|it| to[it])),
        }
    }
}

/// Operations, each once.
#[derive(Default)]
struct List {
    operations: Vec<Operation>,
    places: HashMap<Key, usize>,
}

impl List {
    /// The place of an operation, which is appended if it is new.
    fn place(&mut self, operation: Operation) -> usize {
        let operations = &mut self.operations;
        *self.places.entry(operation.key()).or_insert_with(|| {
            operations.push(operation);
            operations.len() - 1
        })
    }

    fn number(&self, place: usize) -> Option<f64> {
        match self.operations[place] {
            Operation::Number(number) => Some(number),
            _ => None,
        }
    }

    fn product(&mut self, left: usize, right: usize) -> usize {
        match (self.number(left), self.number(right)) {
            (Some(1.0), _) => right,
            (_, Some(1.0)) => left,
            (Some(left), Some(right)) => self.place(Operation::Number(left * right)),
            _ => self.place(Operation::Multiply(left, right)),
        }
    }

    /// `slope` times what moves.
    fn chain(&mut self, slope: usize, moved: usize) -> usize {
        match self.number(moved) {
            Some(_) => self.product(slope, moved),
            None => self.place(Operation::Chain(slope, moved)),
        }
    }

    fn sum(&mut self, left: Option<usize>, right: Option<usize>) -> Option<usize> {
        match (left, right) {
            (Some(left), Some(right)) => Some(self.place(Operation::Add(left, right))),
            (one, other) => one.or(other),
        }
    }

    /// Appends the operations of a program; the places of its results.
    fn results(&mut self, program: &Program) -> Vec<usize> {
        let (mut stack, mut results) = (Vec::new(), Vec::new());
        for instruction in program.code() {
            // Code takes no more off its stack than it has put there.
            let mut pop = || stack.pop().unwrap_or_default();
            let operation = match *instruction {
                Instruction::Number(number) => Operation::Number(number),
                Instruction::Time => Operation::Time,
                Instruction::State(index) => Operation::State(index),
                Instruction::Parameter(index) => Operation::Parameter(index),
                Instruction::Input { place, since } => {
                    let [value, slope, since] = [place, place + 1, since].map(|it| Operation::Parameter(it as usize));
                    let [value, slope, since, time] = [value, slope, since, Operation::Time].map(|it| self.place(it));
                    let elapsed = self.place(Operation::Subtract(time, since));
                    let moved = self.place(Operation::Multiply(slope, elapsed));
                    Operation::Add(value, moved)
                }
                Instruction::Negate => Operation::Negate(pop()),
                Instruction::Square => Operation::Square(pop()),
                Instruction::Unary(function) => Operation::Unary(function, pop()),
                Instruction::MultiplyState(index) => {
                    let left = pop();
                    Operation::Multiply(left, self.place(Operation::State(index)))
                }
                Instruction::Derivative(_) => {
                    results.push(pop());
                    continue;
                }
                Instruction::Add
                | Instruction::Subtract
                | Instruction::Multiply
                | Instruction::Divide
                | Instruction::Power
                | Instruction::Binary(_) => {
                    let (right, left) = (pop(), pop());
                    match *instruction {
                        Instruction::Add => Operation::Add(left, right),
                        Instruction::Subtract => Operation::Subtract(left, right),
                        Instruction::Multiply => Operation::Multiply(left, right),
                        Instruction::Divide => Operation::Divide(left, right),
                        Instruction::Binary(function) => Operation::Binary(function, left, right),
                        _ => Operation::Power(left, right),
                    }
                }
            };
            stack.push(self.place(operation));
        }
        results
    }

    /// The places of the derivatives of the first `length` operations by the one that is `by`; none of those that do not depend on it.
    fn slopes(&mut self, length: usize, by: impl Fn(Operation) -> bool) -> Vec<Option<usize>> {
        let mut slopes: Vec<Option<usize>> = Vec::with_capacity(length);
        for place in 0..length {
            let operation = self.operations[place];
            let is_moved = by(operation) || operation.operands().any(|it| slopes[it].is_some());
            let slope = if is_moved { self.slope(place, operation, &slopes) } else { None };
            slopes.push(slope);
        }
        slopes
    }

    /// The place of the derivative of an operation that depends on what moves.
    fn slope(&mut self, place: usize, operation: Operation, slopes: &[Option<usize>]) -> Option<usize> {
        match operation {
            Operation::Number(_) | Operation::Time | Operation::State(_) | Operation::Parameter(_) => {
                Some(self.place(Operation::Number(1.0)))
            }
            Operation::Add(left, right) => self.sum(slopes[left], slopes[right]),
            Operation::Subtract(left, right) => match (slopes[left], slopes[right]) {
                (Some(left), Some(right)) => Some(self.place(Operation::Subtract(left, right))),
                (left, right) => left.or_else(|| Some(self.place(Operation::Negate(right?)))),
            },
            Operation::Multiply(left, right) => {
                let by_left = slopes[left].map(|slope| self.product(slope, right));
                let by_right = slopes[right].map(|slope| self.product(left, slope));
                self.sum(by_left, by_right)
            }
            Operation::Divide(left, right) => {
                let by_right = slopes[right].map(|slope| self.product(place, slope));
                let above = match (slopes[left], by_right) {
                    (Some(left), Some(right)) => self.place(Operation::Subtract(left, right)),
                    (left, right) => left.or_else(|| Some(self.place(Operation::Negate(right?))))?,
                };
                Some(self.place(Operation::Divide(above, right)))
            }
            Operation::Power(base, exponent) => {
                let by_base = slopes[base].map(|slope| {
                    let one_less = match self.number(exponent) {
                        Some(number) => self.place(Operation::Number(number - 1.0)),
                        None => {
                            let one = self.place(Operation::Number(1.0));
                            self.place(Operation::Subtract(exponent, one))
                        }
                    };
                    let power = self.place(Operation::Power(base, one_less));
                    let factor = self.product(exponent, power);
                    self.chain(factor, slope)
                });
                let by_exponent = slopes[exponent].map(|slope| {
                    let logarithm = self.place(Operation::Unary(LOGARITHM, base));
                    let factor = self.product(place, logarithm);
                    self.chain(factor, slope)
                });
                self.sum(by_base, by_exponent)
            }
            Operation::Negate(operand) => slopes[operand].map(|slope| self.place(Operation::Negate(slope))),
            Operation::Square(operand) => slopes[operand].map(|slope| {
                let two = self.place(Operation::Number(2.0));
                let double = self.product(two, operand);
                self.product(double, slope)
            }),
            Operation::Unary(function, operand) => slopes[operand].map(|slope| {
                let factor = self.place(Operation::Unary(function.derivative(), operand));
                self.chain(factor, slope)
            }),
            Operation::Binary(function, left, right) => {
                let [by_left, by_right] = [(left, 0), (right, 1)].map(|(operand, by)| {
                    slopes[operand].map(|slope| {
                        let factor = self.place(Operation::Partial(function, by, [left, right]));
                        self.chain(factor, slope)
                    })
                });
                self.sum(by_left, by_right)
            }
            // They stand in derivatives alone, of which none is taken.
            Operation::Chain(..) | Operation::Partial(..) => None,
        }
    }

    /// The operations that the `used` ones need, in their order, and the new place of each.
    fn needed(self, used: impl Iterator<Item = usize>) -> (Vec<Operation>, Vec<usize>) {
        let mut is_needed = vec![false; self.operations.len()];
        used.for_each(|place| is_needed[place] = true);
        for place in (0..is_needed.len()).rev() {
            if is_needed[place] {
                self.operations[place].operands().for_each(|operand| is_needed[operand] = true);
            }
        }
        let (mut operations, mut places) = (Vec::new(), vec![0; is_needed.len()]);
        for (place, operation) in self.operations.into_iter().enumerate().filter(|it| is_needed[it.0]) {
            places[place] = operations.len();
            operations.push(operation.moved(&places));
        }
        (operations, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expressions::LANES;
    use crate::expressions::compile::compile;
    use crate::expressions::nested::Nested;

    const NAMES: [(&str, Instruction); 6] = [
        ("x", Instruction::State(0)),
        ("y", Instruction::State(1)),
        ("a", Instruction::Parameter(0)),
        ("b", Instruction::Parameter(1)),
        ("u", Instruction::Input { place: 2, since: 4 }),
        ("t", Instruction::Time),
    ];

    fn program(texts: &[&str]) -> Program {
        Program::new(texts.iter().map(|text| compile(text, &NAMES).unwrap()).collect())
    }

    fn dual(value: f64, tangent: [f64; LANES]) -> Dual {
        Dual { value, tangent }
    }

    /// Against nested dual numbers, along both states and time.
    #[test]
    fn entries_are_the_derivatives_by_nested_dual_numbers() {
        let texts = [
            "a * x - b * x * y / (a + y)",
            "-x^3 + y^b + 2^x - x^y + (x - a)^2 * u",
            "exp(-x / b) * sin(a * y) + sqrt(x * y) - ln(x) / cos(t) + tanh(u * x) - abs(-y) * log10(a)",
            "atan2(x, y + t) + max(x * x, y) - min(a, x) + asin(x / 4) + sign(x)",
            "a * b - 7 + u",
        ];
        let program = program(&texts);
        let jacobian = Jacobian::new(&program, 2);
        let parameters = [1.3, 0.7, 0.4, -0.2, 0.1].map(|value| dual(value, [0.3 * value, 0.0, 1.0, -0.5]));
        let state = [dual(0.9, [1.0, 0.0, 0.2, 0.1]), dual(1.7, [0.0, 1.0, -0.4, 0.3])];
        let time = 0.6;
        let (count, mut room) = (jacobian.pattern().count(), Vec::new());
        let (mut entries, mut by_time) = (vec![Dual::default(); count], vec![Dual::default(); texts.len()]);
        jacobian.evaluate((&parameters, time, &state), &mut room, &mut entries, &mut by_time);
        let nested = |value: Dual, slope: f64| Nested { value, slope: Dual::from(slope) };
        for column in 0..3 {
            let unit = |of: usize| f64::from(u8::from(of == column));
            let states: Vec<Nested> = state.iter().enumerate().map(|(i, it)| nested(*it, unit(i))).collect();
            let mut expected = vec![Nested::default(); texts.len()];
            let parameters = parameters.map(|it| nested(it, 0.0));
            program.derivative(&parameters, nested(Dual::from(time), unit(2)), &states, &mut expected);
            for (row, expected) in expected.iter().enumerate() {
                let place = jacobian.pattern().position(|it| it == (row, column));
                let found = match column {
                    2 => by_time[row],
                    _ => place.map_or_else(Dual::default, |place| entries[place]),
                };
                let pairs = found.tangent.iter().zip(&expected.slope.tangent);
                for (found, expected) in pairs.chain([(&found.value, &expected.slope.value)]) {
                    let what = format!("{row} by {column}: {found}, not {expected}");
                    assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{what}");
                }
            }
        }
        // The last one depends on nothing but time.
        assert!(jacobian.pattern().all(|(row, _)| row < 4), "{:?}", jacobian.entries);
    }

    #[test]
    fn operations_stand_once_and_only_where_they_are_needed() {
        let jacobian = Jacobian::new(&program(&["a * x * y - b", "a * x * y + x"]), 2);
        // `a`, `y`, `x`, `a y`, `a x`, and `a y + 1` with its number.
        assert_eq!(jacobian.operations.len(), 7, "{:?}", jacobian.operations);
        assert_eq!(jacobian.pattern().collect::<Vec<_>>(), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn what_does_not_move_has_no_slope_however_steep() {
        let jacobian = Jacobian::new(&program(&["sqrt(a * x) + (a * x)^0.5"]), 1);
        let (mut room, mut entries) = (Vec::new(), [Dual::from(f64::NAN)]);
        let zero = [Dual::from(0.0)];
        jacobian.evaluate((&zero, 0.0, &[Dual::from(2.0)]), &mut room, &mut entries, &mut []);
        assert_eq!(entries[0], Dual::default());
    }
}
