//! Residuals that are correlated from sample to sample, and what they leave of the information in the samples.
//!
//! ```text
//! r_{i+1} = rho r_i + e_i,     f = (1 + rho) / (1 - rho),     n_eff = sum_c n_c / f_c
//! E sum r_i^2 = s^2 (n - p f),     E sum r_i r_{i+1} = s^2 (n rho - p f)
//! n d^2 - (n + p) d' d + 2 p d' = 0,     d = 1 - rho,     d' = 1 - sum r_i r_{i+1} / sum r_i^2
//! ```
//!
//! `r` the residuals of a channel, `n` of them, `rho` the correlation of successive ones, `p` unknowns that were fitted to them and took slow
//! variation with them, which makes the measured correlation `1 - d'` too small: the greater root `d` corrects that. The mean of `n` such values
//! is as uncertain as that of `n / f` independent ones. Source: G. E. P. Box, G. M. Jenkins, Time Series Analysis (1976), chapters 2 and 6.

/// A correlation is more than chance if `1 - d'` exceeds `-p / n`, which independent residuals have, by this many times its standard error
/// `1 / sqrt(n)`.
const CERTAIN: f64 = 2.5;
/// Intervals that are wider by less than this share are not worth a note.
const VISIBLE: f64 = 0.2;
/// Degrees of freedom that are left where some are, however few residuals are effective.
const LEFT: f64 = 2.0;
/// Effective residuals below which correlated ones are a trend rather than noise.
const ENOUGH: f64 = 10.0;

/// The correlation of successive residuals of each channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct SerialCorrelation {
    channels: Vec<OfChannel>,
    unknowns: f64,
    /// Whether intervals are widened by it.
    pub is_counted: bool,
}

#[derive(Clone, Debug)]
struct OfChannel {
    count: f64,
    /// NaN where it was not measured.
    rho: f64,
    /// Whether it is more than chance.
    is_certain: bool,
}

impl OfChannel {
    /// The correlation where it is more than chance, else 0.
    fn certain(&self) -> f64 {
        if self.is_certain && self.rho > 0.0 { self.rho } else { 0.0 }
    }

    /// How many independent residuals say as much.
    fn effective(&self) -> f64 {
        let rho = self.certain();
        self.count * (1.0 - rho) / (1.0 + rho)
    }
}

impl SerialCorrelation {
    /// Of a fit of `unknowns` to all channels. Each channel has the number of its residuals, and their runs of successive ones: one a
    /// trajectory, none where they are not to be measured.
    pub(crate) fn new(
        channels: impl IntoIterator<Item = (usize, Vec<Vec<f64>>)>,
        unknowns: f64,
        is_counted: bool,
    ) -> Self {
        let channels: Vec<(usize, Vec<Vec<f64>>)> = channels.into_iter().collect();
        let all: f64 = channels.iter().map(|it| it.0 as f64).sum();
        let of_channel = |(count, runs): (usize, Vec<Vec<f64>>)| {
            let count = count as f64;
            let (rho, excess) = corrected(&runs, unknowns * count / all);
            OfChannel { rho, count, is_certain: excess > CERTAIN }
        };
        SerialCorrelation { channels: channels.into_iter().map(of_channel).collect(), unknowns, is_counted }
    }

    /// The correlation `rho [C]` of each channel; NaN where it was not measured.
    pub(crate) fn measured(&self) -> Vec<f64> {
        self.channels.iter().map(|it| it.rho).collect()
    }

    /// The correlation of a channel that intervals are widened by; 0 where they are not.
    pub(crate) fn counted(&self, channel: usize) -> f64 {
        if self.is_counted { self.channels[channel].certain() } else { 0.0 }
    }

    /// How many independent residuals say as much about the unknowns.
    pub(crate) fn effective_points(&self) -> f64 {
        let all: f64 = self.channels.iter().map(|it| it.count).sum();
        let effective: f64 = self.channels.iter().map(OfChannel::effective).sum();
        if self.is_counted && effective < all { effective.max((self.unknowns + LEFT).min(all)) } else { all }
    }

    /// How many fewer than all these are.
    pub(crate) fn lost_points(&self) -> f64 {
        self.channels.iter().map(|it| it.count).sum::<f64>() - self.effective_points()
    }

    /// Factor of a variance `|r|^2 / (n - p)` that was estimated as of independent residuals: it lacks what the unknowns took of slow variation.
    pub(crate) fn variance_factor(&self) -> f64 {
        let share = |points: f64| 1.0 - self.unknowns / points;
        let all: f64 = self.channels.iter().map(|it| it.count).sum();
        let effective = self.effective_points();
        if effective < all { share(all) / share(effective) } else { 1.0 }
    }

    /// How many times larger correlated noise of a channel is than neighbouring samples show, whose second differences it hardly moves:
    /// `var(r_i - (r_{i-1} + r_{i+1}) / 2) = s^2 (1 - rho) (3 - rho) / 2`, of independent ones `3 s^2 / 2`. 1 where few effective residuals may
    /// be a trend.
    pub(crate) fn noise_factor(&self, channel: usize) -> f64 {
        let of_channel = &self.channels[channel];
        let rho = of_channel.certain();
        if of_channel.effective() < ENOUGH { 1.0 } else { (3.0 / ((1.0 - rho) * (3.0 - rho))).sqrt() }
    }

    /// Notes on channels whose residuals widen intervals visibly, or would.
    pub(crate) fn notes(&self, names: &[String]) -> Vec<String> {
        let of_channel = |(it, name): (&OfChannel, &String)| {
            let (rho, effective) = (it.certain(), it.effective());
            let wider = (it.count / effective).sqrt();
            let what = match self.is_counted {
                true => format!("so the {} count as {effective:.0}, and intervals are wider for it", it.count),
                false => format!("so intervals are too narrow, by a factor of about {wider:.1}"),
            };
            (wider > 1.0 + VISIBLE)
                .then(|| format!("{name}: residuals go with those of the sample before (correlation {rho:.2}), {what}"))
        };
        self.channels.iter().zip(names).filter_map(of_channel).collect()
    }
}

/// `rho` of `runs`, after a fit of `p` unknowns to them, and how far it is from that of independent residuals, in standard errors; NaN of none.
fn corrected(runs: &[Vec<f64>], p: f64) -> (f64, f64) {
    let n = runs.iter().map(Vec::len).sum::<usize>() as f64;
    let pairs = runs.iter().map(|run| run.len().saturating_sub(1)).sum::<usize>() as f64;
    let products: f64 = runs.iter().flat_map(|run| run.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = runs.iter().flatten().map(|residual| residual * residual).sum();
    if pairs == 0.0 || squares <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let apart = 1.0 - (products / pairs) / (squares / n);
    let half = 0.5 * (n + p) * apart / n;
    let rho = 1.0 - (half + (half * half - 2.0 * p * apart / n).max(0.0).sqrt());
    (rho, (1.0 - apart + p / n) * n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn red(rho: f64, count: usize, trial: u64) -> Vec<f64> {
        let mut stream = Stream::new(4, "residuals", &[trial]);
        let mut state = stream.normal();
        let next = |_| {
            state = rho * state + (1.0 - rho * rho).sqrt() * stream.normal();
            state
        };
        (0..count).map(next).collect()
    }

    /// Without the mean, as of a fit of one unknown.
    fn centred(values: Vec<f64>) -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.into_iter().map(|value| value - mean).collect()
    }

    fn of(values: Vec<f64>, is_counted: bool) -> SerialCorrelation {
        SerialCorrelation::new([(values.len(), vec![values])], 1.0, is_counted)
    }

    #[test]
    fn the_correlation_is_measured_without_bias_and_white_noise_has_none() {
        let mean = |rho: f64| {
            let measured = (0..400).map(|trial| of(centred(red(rho, 100, trial)), true).measured()[0]);
            measured.sum::<f64>() / 400.0
        };
        // The measured correlation of 100 values alone is 0.85 in the mean where it is 0.9. The mean of 400 errs by 0.003.
        for rho in [0.0, 0.5, 0.9] {
            assert!((mean(rho) - rho).abs() < 0.02, "{} for {rho}", mean(rho));
        }
        let white = (0..400).filter(|&trial| of(red(0.0, 500, trial), true).effective_points() < 500.0);
        assert!(white.count() < 8);
        assert!(of(vec![0.0; 4], true).measured()[0].is_nan());
        assert!(of(Vec::new(), true).measured()[0].is_nan());
        // Few residuals may be correlated by chance.
        assert_eq!(of(vec![1.0, 1.0, -1.0, -1.0], true).effective_points(), 4.0);
    }

    /// The variance of the mean of correlated values is what that of as many effective ones is.
    #[test]
    fn the_mean_of_correlated_residuals_errs_as_stated() {
        let (mut found, mut stated) = (0.0, 0.0);
        for trial in 0..1000 {
            let values = red(0.8, 400, trial);
            let mean = values.iter().sum::<f64>() / 400.0;
            let left = centred(values);
            let variance = left.iter().map(|it| it * it).sum::<f64>() / 399.0;
            let serial = of(left, true);
            found += mean * mean;
            stated += variance * serial.variance_factor() / serial.effective_points();
        }
        // The mean of 1000 squares errs by 4.5 %, and by four times that hardly ever.
        approx::assert_relative_eq!(stated, found, max_relative = 0.18);
    }

    #[test]
    fn correlated_residuals_are_noted_and_no_trend_is_noise() {
        let names = ["level".to_owned()];
        let told = |is_counted: bool| of(red(0.8, 500, 1), is_counted).notes(&names).concat();
        assert!(told(true).starts_with("level: residuals go with") && told(true).contains("so the 500 count as "));
        assert!(told(false).contains("intervals are too narrow, by a factor of about"), "{}", told(false));
        assert_eq!(of(red(0.8, 500, 1), false).effective_points(), 500.0);
        assert!(of(red(0.0, 500, 1), true).notes(&names).is_empty());
        let expected = (3.0f64 / (0.2 * 2.2)).sqrt();
        approx::assert_relative_eq!(of(red(0.8, 4000, 1), true).noise_factor(0), expected, max_relative = 0.1);
        let trend = (0..100).map(|i| (0.05 * f64::from(i)).sin()).collect();
        assert_eq!(of(trend, true).noise_factor(0), 1.0);
    }
}
