//! How channels were measured, as `[estimate]` and `[estimate.physics]` say it: the kind of noise, limits of quantification, and priors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::Quantity;

/// The kind of measurement noise. A word is for every channel, and leaves its size in each to be estimated; a table by channel is for known
/// equations alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NoiseSettings {
    /// The same kind for every channel.
    Every(Noise),
    /// By name of the channel; constant for the others.
    Each(BTreeMap<String, ChannelNoise>),
}

impl From<Noise> for NoiseSettings {
    fn from(noise: Noise) -> Self {
        NoiseSettings::Every(noise)
    }
}

impl NoiseSettings {
    /// The noise of a channel.
    pub fn of(&self, channel: &str) -> ChannelNoise {
        match self {
            NoiseSettings::Every(noise) => noise.of_channel(),
            NoiseSettings::Each(channels) => channels.get(channel).cloned().unwrap_or_default(),
        }
    }
}

/// The kind of measurement noise of every channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// Of the same size at every sample.
    Constant,
    /// Proportional to the value.
    Proportional,
    /// A constant and a proportional part. Only for known equations.
    Combined,
    /// Of the same size in the logarithm of the value. Only for known equations.
    LogNormal,
    /// With the heavier tails of Student's distribution. Only for known equations.
    Student,
}

impl Noise {
    /// As the noise of a channel, with everything to be estimated.
    fn of_channel(self) -> ChannelNoise {
        match self {
            Noise::Constant => ChannelNoise::Constant { absolute: None },
            Noise::Proportional => ChannelNoise::Proportional { relative: None },
            Noise::Combined => ChannelNoise::Combined { absolute: None, relative: None },
            Noise::LogNormal => ChannelNoise::LogNormal { std_dev: None },
            Noise::Student => ChannelNoise::Student { scale: None, degrees_of_freedom: None },
        }
    }
}

/// The noise of one channel, around the value `z` that the equations give. What is left out is estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChannelNoise {
    /// Gaussian with the standard deviation `absolute`.
    Constant {
        /// Standard deviation, in the channel's unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        absolute: Option<f64>,
    },
    /// Gaussian with the standard deviation `relative |z|`, which does not fall below a thousandth of what it is for a value as large as the
    /// spread of the channel.
    Proportional {
        /// Standard deviation as a share of the value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        relative: Option<f64>,
    },
    /// Gaussian with the variance `absolute^2 + (relative z)^2`.
    Combined {
        /// Standard deviation of the constant part, in the channel's unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        absolute: Option<f64>,
        /// Standard deviation of the proportional part, as a share of the value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        relative: Option<f64>,
    },
    /// The logarithm of the value is Gaussian around `log z`; values must be above zero.
    LogNormal {
        /// Standard deviation of the natural logarithm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        std_dev: Option<f64>,
    },
    /// Student's distribution around `z`: single wrong values have little influence.
    Student {
        /// Its scale, in the channel's unit; the standard deviation is `sqrt(n / (n - 2))` times as large with `n` degrees of freedom.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        scale: Option<f64>,
        /// Degrees of freedom.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 2))]
        degrees_of_freedom: Option<f64>,
    },
    /// Gaussian with a standard deviation that is known: one of the two keys.
    Known {
        /// The standard deviation of every value, in the channel's unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("exclusiveMinimum" = 0))]
        value: Option<f64>,
        /// Name of an input of the dataset that holds the standard deviation of each sample; it need not be one of the system's inputs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
    },
}

impl ChannelNoise {
    /// The parameters of the noise that the table of estimates has columns for: name, and what it is.
    pub(crate) fn terms(&self) -> &'static [(&'static str, &'static str)] {
        const ABSOLUTE: (&str, &str) = ("absolute", "standard deviation of the constant part of the noise");
        const RELATIVE: (&str, &str) =
            ("relative", "standard deviation of the proportional part, as a share of the value");
        match self {
            ChannelNoise::Constant { .. } | ChannelNoise::Known { value: Some(_), .. } => &[ABSOLUTE],
            ChannelNoise::Proportional { .. } => &[RELATIVE],
            ChannelNoise::Combined { .. } => &[ABSOLUTE, RELATIVE],
            ChannelNoise::LogNormal { .. } => &[("log_std_dev", "standard deviation of the natural logarithm")],
            ChannelNoise::Student { .. } => &[
                ("scale", "scale of Student's distribution"),
                ("degrees_of_freedom", "degrees of freedom of Student's distribution"),
            ],
            ChannelNoise::Known { value: None, .. } => &[],
        }
    }
}

impl ChannelNoise {
    /// The columns that the table of estimates has for the parameters of the noise of a channel.
    pub(crate) fn columns(&self, channel: &Quantity) -> Vec<Quantity> {
        let column = |(term, about): &(&str, &str)| {
            let unit = if matches!(*term, "absolute" | "scale") { channel.unit.as_str() } else { "1" };
            Quantity::new(&format!("noise_{}_{term}", channel.name), unit, about)
        };
        self.terms().iter().map(column).collect()
    }

    /// Both parameters in the order of their use, where they are given: a constant size, scale or deviation; a share or degrees of freedom.
    pub(crate) fn given(&self) -> [Option<f64>; 2] {
        match *self {
            ChannelNoise::Constant { absolute } => [absolute, None],
            ChannelNoise::Proportional { relative } => [None, relative],
            ChannelNoise::Combined { absolute, relative } => [absolute, relative],
            ChannelNoise::LogNormal { std_dev } => [std_dev, None],
            ChannelNoise::Student { scale, degrees_of_freedom } => [scale, degrees_of_freedom],
            ChannelNoise::Known { value, .. } => [value, None],
        }
    }

    /// The place among these of each of [`ChannelNoise::terms`].
    pub(crate) fn places(&self) -> &'static [usize] {
        match self {
            ChannelNoise::Proportional { .. } => &[1],
            ChannelNoise::Combined { .. } | ChannelNoise::Student { .. } => &[0, 1],
            ChannelNoise::Constant { .. } | ChannelNoise::LogNormal { .. } => &[0],
            ChannelNoise::Known { .. } => &[],
        }
    }

    /// With the parameter at one of these places given.
    pub(crate) fn with(&self, place: usize, given: f64) -> ChannelNoise {
        let mut noise = self.clone();
        let parameter = match (&mut noise, place) {
            (ChannelNoise::Constant { absolute } | ChannelNoise::Combined { absolute, .. }, 0) => absolute,
            (ChannelNoise::Proportional { relative } | ChannelNoise::Combined { relative, .. }, 1) => relative,
            (ChannelNoise::LogNormal { std_dev }, 0) => std_dev,
            (ChannelNoise::Student { scale, .. }, 0) => scale,
            (ChannelNoise::Student { degrees_of_freedom, .. }, 1) => degrees_of_freedom,
            _ => return noise,
        };
        *parameter = Some(given);
        noise
    }

    /// The same kind with everything known, by its [`terms`](ChannelNoise::terms).
    pub(crate) fn at(&self, terms: &[f64]) -> Self {
        let term = |index: usize| terms.get(index).copied();
        match self {
            ChannelNoise::Constant { .. } => ChannelNoise::Constant { absolute: term(0) },
            ChannelNoise::Proportional { .. } => ChannelNoise::Proportional { relative: term(0) },
            ChannelNoise::Combined { .. } => ChannelNoise::Combined { absolute: term(0), relative: term(1) },
            ChannelNoise::LogNormal { .. } => ChannelNoise::LogNormal { std_dev: term(0) },
            ChannelNoise::Student { .. } => ChannelNoise::Student { scale: term(0), degrees_of_freedom: term(1) },
            ChannelNoise::Known { .. } => self.clone(),
        }
    }

    /// Whether something of it is estimated.
    pub(crate) fn is_estimated(&self) -> bool {
        match self {
            ChannelNoise::Constant { absolute } => absolute.is_none(),
            ChannelNoise::Proportional { relative } => relative.is_none(),
            ChannelNoise::Combined { absolute, relative } => absolute.is_none() || relative.is_none(),
            ChannelNoise::LogNormal { std_dev } => std_dev.is_none(),
            ChannelNoise::Student { scale, degrees_of_freedom } => scale.is_none() || degrees_of_freedom.is_none(),
            ChannelNoise::Known { .. } => false,
        }
    }
}

impl Default for ChannelNoise {
    fn default() -> Self {
        ChannelNoise::Constant { absolute: None }
    }
}

/// The limit of quantification of a channel: a value at or below it says no more than that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Limit {
    /// The same for every sample, in the channel's unit.
    Number(f64),
    /// One for each sample.
    Input(LimitInput),
}

/// A limit for each sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitInput {
    /// Name of an input of the dataset that holds the limits, in the channel's unit; it need not be one of the system's inputs.
    pub input: String,
}

/// What is known of a parameter before the data: a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Mean, in the parameter's unit; with `log`, of its natural logarithm.
    pub mean: f64,
    /// Standard deviation, in the same scale.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub std_dev: f64,
    /// Whether the logarithm of the parameter is normal, not the parameter.
    #[serde(default)]
    pub log: bool,
}

impl Prior {
    /// The mean as a value of the parameter: of the logarithm its exponential.
    pub(crate) fn middle(&self) -> f64 {
        if self.log { self.mean.exp() } else { self.mean }
    }

    /// How far a value is from the mean, in standard deviations, and the derivative of that where the value moves by `slope`.
    pub(crate) fn residual(&self, value: f64, slope: f64) -> (f64, f64) {
        let (at, slope) = if self.log { (value.ln(), slope / value) } else { (value, slope) };
        ((at - self.mean) / self.std_dev, slope / self.std_dev)
    }
}

/// What has one value of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Each trajectory has its own: an occasion.
    Trajectory,
    /// Each environment has its own, which its trajectories share.
    #[default]
    Environment,
    /// All environments of a split share one, which is fitted together with what each has of its own.
    All,
}

/// The scale in which a parameter is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// By its logarithm; its lower bound must be above zero.
    Log,
    /// As it is.
    Linear,
}
