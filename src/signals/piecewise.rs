//! Known inputs of a vector field, from sample to sample.
//!
//! ```text
//! u(t) = u_n + du_n (t - t_n),    t in [t_n, t_{n+1}],    du_n = 0 for an input that is held
//! ```
//!
//! `u [U]` inputs in their units, `t_n` times of samples. A field finds them behind its parameters `[d_p]`, as `2 U + 1` numbers:
//! `u_n` and `du_n` of each input, then `t_n`. They jump or kink at samples, so that an integrator with error control starts anew there.

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
    /// Numbers behind the parameters.
    pub fn size(&self) -> usize {
        if self.between.is_empty() { 0 } else { 2 * self.between.len() + 1 }
    }

    /// The stretches of samples over which every input is one straight line, each from the last sample of the one before, and what
    /// then stands behind the parameters. Samples over which all are held at the same values are one stretch.
    pub fn stretches(&self) -> Vec<(RangeInclusive<usize>, Vec<f64>)> {
        let mut stretches: Vec<(RangeInclusive<usize>, Vec<f64>)> = Vec::new();
        let Some(end) = self.times.len().checked_sub(1) else { return stretches };
        for n in 0..end.max(1) {
            let last = (n + 1).min(end);
            let line = self.line(n, last);
            match stretches.last_mut() {
                Some((samples, before)) if self.is_held(before, &line) => *samples = *samples.start()..=last,
                _ => stretches.push((n..=last, line)),
            }
        }
        stretches
    }

    /// What stands behind the parameters from sample `n` to the next.
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

    /// Whether all inputs keep the values of the stretch `before`.
    fn is_held(&self, before: &[f64], line: &[f64]) -> bool {
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
