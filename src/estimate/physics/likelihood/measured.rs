//! How the channels of a dataset were measured: the settings, by channels and parameters of the equations.

use crate::estimate::measurement::{ChannelNoise, Limit, Noise, NoiseSettings, Prior, Scale, Scope};
use crate::estimate::physics::experiment::Experiment;
use crate::estimate::physics::series::Series;
use crate::estimate::settings::{Loss, PhysicsSettings, Settings};
use crate::problems::{Problem, Problems};

/// What is known of the measurement of each channel, and of the parameters before it.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Names of the channels `[C]`.
    pub names: Vec<String>,
    /// `[C]`.
    pub channels: Vec<MeasuredChannel>,
    /// The prior of each estimated parameter `[d]`, where it has one. A population's would stand here as well.
    pub priors: Vec<Option<Prior>>,
    /// The same of each parameter of trajectories `[o]`.
    pub own_priors: Vec<Option<Prior>>,
    /// Names of the inputs of the dataset whose values each sample has beside it `[M]`.
    pub beside: Vec<String>,
}

/// How one channel was measured.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredChannel {
    pub noise: ChannelNoise,
    /// Which of the parameters of its noise all environments share.
    pub is_shared: [bool; 2],
    /// The place `[M]` of the standard deviations of its samples, where these are known one by one.
    pub std_devs: Option<usize>,
    pub limit: Option<LimitOf>,
}

/// Where the limit of quantification of a sample is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LimitOf {
    /// This.
    Number(f64),
    /// At this place `[M]` beside the sample.
    Beside(usize),
}

impl Measured {
    /// The measurement of `channels [C]` and the priors of `parameters [d]`, and of those of trajectories, `own [o]`; none where nothing is said of either, or residuals count by Huber's
    /// loss, which is no likelihood.
    pub(crate) fn new(
        estimate: &Settings,
        physics: &PhysicsSettings,
        channels: &[String],
        (parameters, own): (&[String], &[String]),
    ) -> Option<Self> {
        if !estimate.has_likelihood(physics) {
            return None;
        }
        let mut beside: Vec<String> = Vec::new();
        let mut place = |name: &String| {
            beside.iter().position(|it| it == name).unwrap_or_else(|| {
                beside.push(name.clone());
                beside.len() - 1
            })
        };
        let of_channel = |channel: &String| {
            let noise = estimate.noise.as_ref().map(|noise| noise.of(channel)).unwrap_or_default();
            let std_devs = match &noise {
                ChannelNoise::Known { input: Some(input), .. } => Some(place(input)),
                _ => None,
            };
            let limit = estimate.limits.get(channel).map(|limit| match limit {
                Limit::Number(value) => LimitOf::Number(*value),
                Limit::Input(it) => LimitOf::Beside(place(&it.input)),
            });
            let mut is_shared = [false; 2];
            for ((term, _), place) in noise.terms().iter().zip(noise.places()) {
                is_shared[*place] = physics.scope(&format!("noise_{channel}_{term}")) == Scope::All;
            }
            MeasuredChannel { noise, is_shared, std_devs, limit }
        };
        Some(Measured {
            names: channels.to_vec(),
            channels: channels.iter().map(of_channel).collect(),
            priors: parameters.iter().map(|name| physics.priors.get(name).copied()).collect(),
            own_priors: own.iter().map(|name| physics.priors.get(name).copied()).collect(),
            beside,
        })
    }
}

/// A parameter of the noise that all environments share.
#[derive(Clone, Debug)]
pub(crate) struct SharedTerm {
    /// The column of the table.
    pub name: String,
    pub channel: usize,
    /// Its place among the terms of the channel, and among its parameters.
    pub term: usize,
    place: usize,
    /// Whether it has the unit of the channel.
    pub has_unit: bool,
    /// Whether it is the degrees of freedom of Student's distribution.
    pub is_tail: bool,
    /// What it may begin at, in the spread of the channel where it has its unit.
    pub usual: f64,
    /// Bounds of its logarithm.
    pub bounds: (f64, f64),
}

impl Measured {
    /// The parameters of the noise that all environments share.
    pub(crate) fn shared_terms(&self) -> Vec<SharedTerm> {
        let all = self.channels.iter().zip(&self.names).enumerate().flat_map(|(channel, (measured, of_channel))| {
            let terms = measured.noise.terms().iter().zip(measured.noise.places()).enumerate();
            let shared = terms
                .filter(|(_, (_, place))| measured.is_shared[**place] && measured.noise.given()[**place].is_none());
            shared.map(move |(term, ((name, _), &place))| SharedTerm {
                name: format!("noise_{of_channel}_{name}"),
                channel,
                term,
                place,
                has_unit: matches!(*name, "absolute" | "scale"),
                is_tail: *name == "degrees_of_freedom",
                usual: if *name == "degrees_of_freedom" { 5.0 } else { 0.1 },
                bounds: if *name == "degrees_of_freedom" { (2.0_f64.ln(), 200.0_f64.ln()) } else { (-600.0, 600.0) },
            })
        });
        all.collect()
    }

    /// With these values of them.
    pub(crate) fn with_known(&self, values: &[f64]) -> Measured {
        let mut known = self.clone();
        for (term, value) in self.shared_terms().iter().zip(values) {
            let of_channel = &mut known.channels[term.channel];
            of_channel.noise = of_channel.noise.with(term.place, *value);
        }
        known
    }

    /// Of channels `[C]` with constant noise of these standard deviations, and nothing else known.
    pub(crate) fn constant(std_devs: impl Iterator<Item = f64>, names: &[String]) -> Self {
        let channel = |std_dev| MeasuredChannel {
            noise: ChannelNoise::Constant { absolute: Some(std_dev) },
            is_shared: [false; 2],
            std_devs: None,
            limit: None,
        };
        let channels = std_devs.map(channel).collect();
        Measured { names: names.to_vec(), channels, priors: Vec::new(), own_priors: Vec::new(), beside: Vec::new() }
    }

    /// The same without priors, and with noise of known size: its `terms`, in the order of the columns of the table.
    pub(crate) fn known(&self, terms: &[f64]) -> Self {
        let mut terms = terms.iter().copied();
        let of_channel = |it: &MeasuredChannel| {
            let own: Vec<f64> = terms.by_ref().take(it.noise.terms().len()).collect();
            MeasuredChannel { noise: it.noise.at(&own), ..it.clone() }
        };
        Measured {
            names: self.names.clone(),
            channels: self.channels.iter().map(of_channel).collect(),
            priors: Vec::new(),
            own_priors: self.own_priors.clone(),
            beside: self.beside.clone(),
        }
    }

    /// Whether something of the noise is estimated.
    pub(crate) fn estimates_noise(&self) -> bool {
        self.channels.iter().any(|it| it.noise.is_estimated())
    }

    /// The limit of each cell `[T, C]` of each trajectory, minus infinity where it has none; empty where no channel has any.
    pub(crate) fn limits(&self, experiment: &Experiment) -> Vec<Vec<f64>> {
        if self.channels.iter().all(|it| it.limit.is_none()) {
            return Vec::new();
        }
        let of_series = |series: &Series| {
            let limit = |cell: usize| match self.channels[experiment.model.channel(cell)].limit {
                None => f64::NEG_INFINITY,
                Some(LimitOf::Number(limit)) => limit,
                Some(LimitOf::Beside(place)) => {
                    series.beside(cell / experiment.model.size()).get(place).copied().unwrap_or(f64::NAN)
                }
            };
            (0..series.observed().len()).map(limit).collect()
        };
        experiment.series.iter().map(of_series).collect()
    }
}

/// What settings of the measurement are checked against.
pub(crate) struct Known<'a> {
    /// Names of the channels of the dataset.
    pub channels: Vec<&'a str>,
    /// Names of its inputs.
    pub inputs: Vec<&'a str>,
    /// Names of the estimated parameters, with their lower bounds.
    pub parameters: Vec<(&'a str, f64)>,
}

/// Every problem of noise, limits, priors and scales; keys are relative to `[estimate]`.
pub(crate) fn problems(estimate: &Settings, physics: &PhysicsSettings, known: &Known) -> Vec<Problem> {
    let mut problems = Problems::default();
    if let Some(NoiseSettings::Each(channels)) = &estimate.noise {
        for (channel, noise) in channels {
            let key = format!("noise.{channel}");
            if !known.channels.contains(&channel.as_str()) {
                problems.unknown(&key, channel, "channel of the dataset", &known.channels);
            }
            of_noise(&key, noise, known, &mut problems);
        }
    }
    for (channel, limit) in &estimate.limits {
        let key = format!("limits.{channel}");
        if !known.channels.contains(&channel.as_str()) {
            problems.unknown(&key, channel, "channel of the dataset", &known.channels);
        }
        match limit {
            Limit::Number(value) => problems.require(
                value.is_finite(),
                &key,
                value,
                "a finite number",
                "give the limit in the unit of the channel, or leave it out",
            ),
            Limit::Input(it) => is_input(&format!("{key}.input"), &it.input, known, &mut problems),
        }
    }
    let names: Vec<&str> = known.parameters.iter().map(|it| it.0).collect();
    for (name, prior) in &physics.priors {
        let key = format!("physics.priors.{name}");
        match known.parameters.iter().find(|it| it.0 == name) {
            None => problems.unknown(&key, name, "parameter that is estimated", &names),
            Some((_, lower)) => problems.require(
                !prior.log || *lower > 0.0,
                format!("{key}.log"),
                format!("true, and the lower bound {lower} of `{name}`"),
                "a lower bound above zero, where a parameter has a logarithm",
                "raise `min` in [estimate.bounds], or leave `log` out",
            ),
        }
        problems.require(prior.mean.is_finite(), format!("{key}.mean"), prior.mean, "a finite number", "correct it");
        is_size(&format!("{key}.std_dev"), Some(prior.std_dev), &mut problems);
    }
    for (name, scale) in &physics.scales {
        let key = format!("physics.scales.{name}");
        match known.parameters.iter().find(|it| it.0 == name) {
            None => problems.unknown(&key, name, "parameter that is estimated", &names),
            Some((_, lower)) => problems.require(
                *scale == Scale::Linear || *lower > 0.0,
                &key,
                format!("\"log\", and the lower bound {lower} of `{name}`"),
                "a lower bound above zero, where a parameter has a logarithm",
                "raise `min` in [estimate.bounds], or take \"linear\"",
            ),
        }
    }
    let is_weighting =
        matches!(estimate.noise, None | Some(NoiseSettings::Every(Noise::Constant | Noise::Proportional)));
    of_scopes(estimate, physics, known, &mut problems);
    if estimate.loss == Loss::Huber && !(is_weighting && estimate.limits.is_empty() && physics.priors.is_empty()) {
        problems.add(
            "loss",
            "\"huber\", and noise, limits or priors of a likelihood",
            "\"squares\" with these: Huber's loss is no likelihood",
            "leave `loss` out, and name the noise \"student\" if single values are wrong",
        );
    }
    problems.into_vec()
}

/// Scopes of the parameters of the noise, and what cannot be said beside shared ones.
fn of_scopes(estimate: &Settings, physics: &PhysicsSettings, known: &Known, problems: &mut Problems) {
    let estimated = known.channels.iter().flat_map(|channel| {
        let noise = estimate.noise.as_ref().map(|noise| noise.of(channel)).unwrap_or_default();
        let terms = noise.terms().iter().zip(noise.places());
        let free = terms.filter(|(_, place)| noise.given()[**place].is_none());
        free.map(|((term, _), _)| format!("noise_{channel}_{term}")).collect::<Vec<_>>()
    });
    let estimated: Vec<String> = if estimate.has_likelihood(physics) { estimated.collect() } else { Vec::new() };
    let is_parameter = |name: &str| known.parameters.iter().any(|it| it.0 == name);
    for (name, scope) in physics.scopes.iter().filter(|(name, _)| name.starts_with("noise_") && !is_parameter(name)) {
        let key = format!("physics.scopes.{name}");
        let names: Vec<&str> = estimated.iter().map(String::as_str).collect();
        match (estimated.contains(name), names.is_empty()) {
            (true, _) => problems.require(
                *scope != Scope::Trajectory,
                key,
                "\"trajectory\"",
                "\"environment\" or \"all\" for the noise",
                "take one of these",
            ),
            (false, true) => problems.add(
                key,
                format!("`{name}`, and no noise that is estimated"),
                "a kind of noise with parameters to estimate",
                "name one, such as `noise = \"constant\"` in [estimate]",
            ),
            (false, false) => problems.unknown(key, name, "parameter of the noise that is estimated", &names),
        }
    }
}

fn of_noise(key: &str, noise: &ChannelNoise, known: &Known, problems: &mut Problems) {
    let mut size = |name: &str, value: Option<f64>| is_size(&format!("{key}.{name}"), value, problems);
    match noise {
        ChannelNoise::Constant { absolute } => size("absolute", *absolute),
        ChannelNoise::Proportional { relative } => size("relative", *relative),
        ChannelNoise::Combined { absolute, relative } => {
            size("absolute", *absolute);
            size("relative", *relative);
        }
        ChannelNoise::LogNormal { std_dev } => size("std_dev", *std_dev),
        ChannelNoise::Student { scale, degrees_of_freedom } => {
            size("scale", *scale);
            problems.require(
                degrees_of_freedom.is_none_or(|n| n.is_finite() && n >= 2.0),
                format!("{key}.degrees_of_freedom"),
                degrees_of_freedom.unwrap_or_default(),
                "a number from 2 on",
                "correct it, or leave it out to have it estimated",
            );
        }
        ChannelNoise::Known { value, input } => {
            size("value", *value);
            problems.require(
                value.is_some() != input.is_some(),
                key,
                if value.is_some() { "`value` and `input`" } else { "neither `value` nor `input`" },
                "one of the two, where noise is known",
                "give `value = NUMBER`, or `input = \"NAME\"` of an input with the standard deviation of each sample",
            );
            if let Some(input) = input {
                is_input(&format!("{key}.input"), input, known, problems);
            }
        }
    }
}

fn is_size(key: &str, value: Option<f64>, problems: &mut Problems) {
    problems.require(
        value.is_none_or(|value| value > 0.0 && value.is_finite()),
        key,
        value.unwrap_or_default(),
        "a number above zero",
        "correct it, or leave it out where it may be estimated",
    );
}

fn is_input(key: &str, name: &str, known: &Known, problems: &mut Problems) {
    if known.inputs.contains(&name) {
        return;
    }
    match known.inputs.is_empty() {
        true => problems.add(
            key,
            format!("`{name}`, and a dataset without inputs"),
            "an input of the dataset",
            "import the column as one (`role = \"input\"`)",
        ),
        false => problems.unknown(key, name, "input of the dataset", &known.inputs),
    }
}
