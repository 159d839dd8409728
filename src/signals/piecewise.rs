//! Inputs of a vector field as straight lines between samples.
//!
//! ```text
//! u(t) = u_n + du_n (t - t_n),    t in [t_n, t_{n+1}],    du_n = 0 for an input that is held
//! ```
//!
//! `u [U]` inputs in their units, `t_n` sample times. A vector field reads them after its parameters `[d_p]`, as `2 U + 1` numbers: `u_n`
//! and `du_n` of each input, then `t_n`. Inputs jump or kink at samples, so an integrator with error control restarts there.

use std::ops::RangeInclusive;

use crate::schema::Between;

/// The inputs of one trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Drive<'a> {
    /// `[T]`.
    pub times: &'a [f64],
    /// `[T, U]`.
    pub inputs: &'a [f64],
    /// `[U]`.
    pub between: &'a [Between],
}

impl Drive<'_> {
    /// How many numbers follow the parameters: `2 U + 1`, or none without inputs.
    pub fn size(&self) -> usize {
        if self.between.is_empty() { 0 } else { 2 * self.between.len() + 1 }
    }

    /// The stretches of samples over which every input is one straight line, and the numbers that follow the parameters there. A stretch
    /// begins at the last sample of the one before; samples over which all inputs keep their values are one stretch.
    pub fn stretches(&self) -> Vec<(RangeInclusive<usize>, Vec<f64>)> {
        let mut stretches: Vec<(RangeInclusive<usize>, Vec<f64>)> = Vec::new();
        let Some(end) = self.times.len().checked_sub(1) else { return stretches };
        for n in 0..end.max(1) {
            let last = (n + 1).min(end);
            let line = self.line(n, last);
            match stretches.last_mut() {
                Some((samples, before)) if self.continues(before, &line) => *samples = *samples.start()..=last,
                _ => stretches.push((n..=last, line)),
            }
        }
        stretches
    }

    /// The numbers that follow the parameters from sample `n` to the next.
    fn line(&self, n: usize, next: usize) -> Vec<f64> {
        let u = self.between.len();
        let dt = self.times[next] - self.times[n];
        let of_input = |(index, between): (usize, &Between)| {
            let (value, slope) = between.step(self.inputs[n * u + index], self.inputs[next * u + index], dt);
            [value, slope]
        };
        let mut line: Vec<f64> = self.between.iter().enumerate().flat_map(of_input).collect();
        line.extend((u > 0).then_some(self.times[n]));
        line
    }

    /// Whether all inputs stay constant at the values of the stretch `before`.
    fn continues(&self, before: &[f64], line: &[f64]) -> bool {
        let mut pairs = before.chunks_exact(2).zip(line.chunks_exact(2)).take(self.between.len());
        pairs.all(|(before, line)| before == line && line[1] == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_cut_where_they_bend() {
        let times = [0.0, 1.0, 3.0, 4.0];
        let held = Drive { times: &times, inputs: &[2.0, 2.0, 5.0, 7.0], between: &[Between::Hold] };
        assert_eq!(held.stretches(), [(0..=2, vec![2.0, 0.0, 0.0]), (2..=3, vec![5.0, 0.0, 3.0])]);
        let linear = Drive { between: &[Between::Linear], ..held };
        let expected = [(0..=1, vec![2.0, 0.0, 0.0]), (1..=2, vec![2.0, 1.5, 1.0]), (2..=3, vec![5.0, 2.0, 3.0])];
        assert_eq!(linear.stretches(), expected);
        let none = Drive { inputs: &[], between: &[], ..held };
        assert_eq!((none.stretches(), none.size()), (vec![(0..=3, vec![])], 0));
        let single = Drive { times: &times[..1], inputs: &[2.0], between: &[Between::Linear] };
        assert_eq!(single.stretches(), [(0..=0, vec![2.0, 0.0, 0.0])]);
    }
}
