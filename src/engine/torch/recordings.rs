//! Calls of the same operations on tensors of the same shapes, which a CUDA device is told once.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use tch::Tensor;

use super::graph::{Graph, agree};
use super::integrator::to_vec;

/// Graphs that are kept, each with the memory of its intermediate tensors.
const MOST: usize = 4;

/// The calls of an engine.
#[derive(Default)]
pub(super) struct Recordings(Mutex<Vec<Call>>);

/// A kind of call, the last one last.
struct Call {
    name: &'static str,
    shapes: Vec<Vec<i64>>,
    state: State,
}

enum State {
    /// It was made once.
    Seen,
    /// It cannot be recorded.
    Refused,
    Recorded(Recorded),
}

/// Tensors that stay in place, and what computes the outputs from the inputs.
struct Recorded {
    graph: Graph,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

impl Recordings {
    /// What `operations` make of `inputs`, on the host. On a CUDA device they are recorded when they are called for the second time with
    /// inputs of these shapes, held against themselves, and repeated from then on; they must take nothing from the host, and it is this thread's turn.
    pub(super) fn call(
        &self,
        device: tch::Device,
        name: &'static str,
        inputs: &[Tensor],
        operations: impl Fn(&[Tensor]) -> Vec<Tensor>,
    ) -> Vec<Vec<f64>> {
        let on_host = |outputs: &[Tensor]| outputs.iter().map(to_vec).collect();
        let tch::Device::Cuda(index) = device else { return on_host(&operations(inputs)) };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shapes: Vec<Vec<i64>> = inputs.iter().map(Tensor::size).collect();
        let Some(at) = calls.iter().position(|call| call.name == name && call.shapes == shapes) else {
            if calls.len() == MOST {
                calls.remove(0);
            }
            calls.push(Call { name, shapes, state: State::Seen });
            return on_host(&operations(inputs));
        };
        let mut call = calls.remove(at);
        if matches!(call.state, State::Seen) {
            call.state = Recorded::new(index, inputs, &operations).map_or(State::Refused, State::Recorded);
        }
        let outputs = match &mut call.state {
            State::Recorded(recorded) => on_host(recorded.repeat(inputs)),
            State::Seen | State::Refused => on_host(&operations(inputs)),
        };
        calls.push(call);
        outputs
    }
}

impl Recorded {
    fn new(device: usize, inputs: &[Tensor], operations: &dyn Fn(&[Tensor]) -> Vec<Tensor>) -> Option<Self> {
        let inputs: Vec<Tensor> = inputs.iter().map(Tensor::copy).collect();
        let outputs = RefCell::new(Vec::new());
        let graph = Graph::record(device, &|| *outputs.borrow_mut() = operations(&inputs)).ok()?;
        let outputs = outputs.into_inner();
        let expected = operations(&inputs);
        graph.replay();
        agree(&outputs, &expected).then_some(Recorded { graph, inputs, outputs })
    }

    fn repeat(&mut self, inputs: &[Tensor]) -> &[Tensor] {
        self.inputs.iter_mut().zip(inputs).for_each(|(place, values)| place.copy_(values));
        self.graph.replay();
        &self.outputs
    }
}
