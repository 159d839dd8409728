//! Code for a stack machine, and programs of several expressions: the right-hand sides of a user's system, or a single formula.
//!
//! Evaluation allocates nothing, works in the order in which the expressions are written, and fuses no operations: it rounds as the same
//! expressions in Rust do.

use super::dual::Scalar;
use super::functions::{Binary, Unary};

/// Most values on the stack.
pub(crate) const DEEPEST: usize = 64;
/// Most values on the stack of a usual expression.
const SHALLOW: usize = 8;

/// One instruction; it takes its operands off the stack and pushes its result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    Number(f64),
    Time,
    State(usize),
    Parameter(usize),
    /// An input `u + du (t - t_n)`, see `signals::Drive`.
    Input {
        /// Position among the parameters of `u`, which `du` follows.
        place: u32,
        /// Position of `t_n`.
        since: u32,
    },
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    /// Multiplies the top of the stack by a state, the most frequent operation of right-hand sides.
    MultiplyState(usize),
    Negate,
    Square,
    Unary(Unary),
    Binary(Binary),
    /// Pops the derivative of a state.
    Derivative(usize),
}

/// The code of an expression or a part of one, which leaves one value on the stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code(Vec<Instruction>);

impl Instruction {
    /// How many values it takes off the stack.
    fn operands(self) -> usize {
        match self {
            Instruction::Number(_)
            | Instruction::Time
            | Instruction::State(_)
            | Instruction::Parameter(_)
            | Instruction::Input { .. } => 0,
            Instruction::MultiplyState(_)
            | Instruction::Negate
            | Instruction::Square
            | Instruction::Unary(_)
            | Instruction::Derivative(_) => 1,
            _ => 2,
        }
    }
}

impl Code {
    /// The instructions of an expression, unchanged.
    pub(crate) fn verbatim(instructions: Vec<Instruction>) -> Self {
        Code(instructions)
    }

    /// The instructions of an expression, with constants folded and the most frequent operations replaced by instructions of their own.
    pub(crate) fn simplified(instructions: Vec<Instruction>) -> Self {
        let mut stack: Vec<Code> = Vec::new();
        for instruction in instructions {
            let mut operand = || stack.pop().unwrap_or_default();
            let code = match instruction.operands() {
                0 => Code::one(instruction),
                1 => operand().unary(instruction),
                _ => {
                    let right = operand();
                    operand().binary(right, instruction)
                }
            };
            stack.push(code);
        }
        stack.pop().unwrap_or_default()
    }

    /// Code of a single instruction.
    fn one(instruction: Instruction) -> Self {
        Code(vec![instruction])
    }

    /// `operation` applied to `self`, folded if that is a constant.
    fn unary(mut self, operation: Instruction) -> Self {
        self.0.push(operation);
        self.folded(2)
    }

    /// `operation` applied to `self` and `right`, folded if both are constants.
    fn binary(mut self, right: Code, operation: Instruction) -> Self {
        match (operation, right.0.as_slice()) {
            (Instruction::Power, [Instruction::Number(2.0)]) => return self.unary(Instruction::Square),
            (Instruction::Multiply, [Instruction::State(state)]) => {
                self.0.push(Instruction::MultiplyState(*state));
                return self;
            }
            _ => {}
        }
        self.0.extend(right.0);
        self.0.push(operation);
        self.folded(3)
    }

    /// The value of the code, if it has `length` instructions and all operands are constants; else the code.
    fn folded(self, length: usize) -> Self {
        let (operands, _) = self.0.split_at(self.0.len() - 1);
        let constant = operands.iter().all(|operand| matches!(operand, Instruction::Number(_)));
        if self.0.len() != length || !constant {
            return self;
        }
        let mut value = [0.0];
        let code = self.0.into_iter().chain([Instruction::Derivative(0)]).collect();
        Program { code, depth: DEEPEST }.derivative::<f64>(&[], 0.0, &[], &mut value);
        Code::one(Instruction::Number(value[0]))
    }

    /// The greatest number of values on the stack.
    pub(crate) fn depth(&self) -> usize {
        let mut depth = 0_usize;
        let mut deepest = 0;
        for instruction in &self.0 {
            depth = depth + 1 - instruction.operands();
            deepest = deepest.max(depth);
        }
        deepest
    }
}

/// Expressions that are evaluated together, such as the right-hand sides `f` of `dy/dt = f(t, y; p)`.
#[derive(Debug)]
pub(crate) struct Program {
    code: Vec<Instruction>,
    /// The greatest number of values on the stack.
    depth: usize,
}

impl Program {
    /// The program that evaluates `right_hand_sides [C]`, each at most [`DEEPEST`] deep.
    pub(crate) fn new(right_hand_sides: Vec<Code>) -> Self {
        let depth = right_hand_sides.iter().map(Code::depth).max().unwrap_or(0);
        let mut code = Vec::new();
        for (state, right_hand_side) in right_hand_sides.into_iter().enumerate() {
            code.extend(right_hand_side.0);
            code.push(Instruction::Derivative(state));
        }
        Program { code, depth }
    }

    /// Its instructions: those of each expression, which end in [`Instruction::Derivative`].
    pub(super) fn code(&self) -> &[Instruction] {
        &self.code
    }

    /// Whether any right-hand side reads the time.
    pub(crate) fn uses_time(&self) -> bool {
        self.code.iter().any(|instruction| matches!(instruction, Instruction::Time))
    }

    /// Writes `dy/dt [C]` to `derivative`, at `time`, `state [C]` and `parameters [d_p]`, which the inputs follow as
    /// `signals::Drive` lays them out.
    pub(crate) fn derivative<S: Scalar>(&self, parameters: &[S], time: S, state: &[S], derivative: &mut [S]) {
        // To clear a deep stack takes longer than most programs.
        if self.depth <= SHALLOW {
            self.run::<S, SHALLOW>(parameters, time, state, derivative);
        } else {
            self.run::<S, DEEPEST>(parameters, time, state, derivative);
        }
    }

    fn run<S: Scalar, const DEPTH: usize>(&self, parameters: &[S], time: S, state: &[S], derivative: &mut [S]) {
        let mut stack = [S::from(0.0); DEPTH];
        let mut next = 0;
        for instruction in &self.code {
            match *instruction {
                Instruction::Number(number) => push(&mut stack, &mut next, S::from(number)),
                Instruction::Time => push(&mut stack, &mut next, time),
                Instruction::State(index) => push(&mut stack, &mut next, state[index]),
                Instruction::Parameter(index) => push(&mut stack, &mut next, parameters[index]),
                Instruction::Input { place, since } => {
                    let [value, slope] = [0, 1].map(|at| parameters[place as usize + at]);
                    let elapsed = time - parameters[since as usize];
                    push(&mut stack, &mut next, value + slope * elapsed);
                }
                Instruction::Add => apply(&mut stack, &mut next, |left, right| left + right),
                Instruction::Subtract => apply(&mut stack, &mut next, |left, right| left - right),
                Instruction::Multiply => apply(&mut stack, &mut next, |left, right| left * right),
                Instruction::Divide => apply(&mut stack, &mut next, |left, right| left / right),
                Instruction::Power => apply(&mut stack, &mut next, S::powf),
                Instruction::Binary(function) => {
                    apply(&mut stack, &mut next, |left, right| left.binary(right, function));
                }
                Instruction::MultiplyState(index) => stack[next - 1] = stack[next - 1] * state[index],
                Instruction::Negate => stack[next - 1] = -stack[next - 1],
                Instruction::Square => stack[next - 1] = stack[next - 1] * stack[next - 1],
                Instruction::Unary(function) => stack[next - 1] = stack[next - 1].unary(function),
                Instruction::Derivative(index) => {
                    next -= 1;
                    derivative[index] = stack[next];
                }
            }
        }
    }
}

#[inline(always)]
fn push<S, const DEPTH: usize>(stack: &mut [S; DEPTH], next: &mut usize, value: S) {
    stack[*next] = value;
    *next += 1;
}

#[inline(always)]
fn apply<S: Copy, const DEPTH: usize>(stack: &mut [S; DEPTH], next: &mut usize, operation: impl Fn(S, S) -> S) {
    *next -= 1;
    stack[*next - 1] = operation(stack[*next - 1], stack[*next]);
}
