//! `[train]` of a pipeline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::steps_on::StepsOn;
use crate::engine::{MOST_SUBSTEPS, Precision, Solver};
use crate::problems::{Kind, Problem, Problems};
use crate::{models, rules};

/// How a model is trained. Every setting has a default, and all values are written to the model's manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How an environment's weights follow from the shared ones and its context.
    pub rule: rules::Kind,
    /// Layers whose weights depend on the context, for the rules of CoDA; the others fix this themselves and take only `all`.
    pub adapted_layers: models::AdaptedLayers,
    /// Length of the step of gradient descent that adapts weights, per unit of the gradient, for the rules `maml` and `anil`, and where the rates
    /// of `meta-sgd` start; 0.1 by default. These rules are computed in double precision.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub inner_rate: f64,
    /// The environments about whose contexts trajectories are expanded in training, for the rule `ncf`. Its steps of Adam are computed in double
    /// precision; those of Gauss-Newton fit the model itself, without expansions.
    pub pool: Pool,
    /// Whether the training trajectories of an environment are those that the dataset says. Where they are inferred, labels of the splits `train` and
    /// `validation` are not used.
    pub environments: Labels,
    /// How environments are inferred, where they are.
    pub inference: Inference,
    /// Dimensions of a context; the number of parameters of the dataset if absent. `"auto"` trains with one, two and so on until one more does not halve
    /// the error on the validation split, and keeps the model before: it takes as many trainings. Rules whose environments own weights have none.
    pub context_dimension: Option<ContextDimension>,
    /// Weight of the squared norm of the contexts in the loss.
    #[schemars(range(min = 0))]
    pub context_penalty: f64,
    /// Weight of the rule's locality penalty in the loss; `coda-l1` and `coda-l2` have one.
    #[schemars(range(min = 0))]
    pub locality_penalty: f64,
    /// The network that is trained, and its size.
    pub model: models::Settings,
    /// Integrates the model from sample to sample.
    pub solver: Solver,
    /// Equal steps of the solver from sample to sample.
    #[schemars(range(min = 1, max = MOST_SUBSTEPS))]
    pub substeps: usize,
    /// How channels are scaled before the model sees them.
    pub scaling: Scaling,
    /// How much the squared error of a channel counts in the loss, in the model's own (scaled) units, by the name of
    /// the channel: 1 where it has none. Only their ratios matter. The model keeps them, and contexts of new
    /// environments are fitted with them too. Estimates are then weighted least squares; their standard errors and the
    /// estimated noise follow from the residuals, whatever the weights. Estimation by known equations does not use
    /// them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(range(min = 1e-12, max = 1e12))]
    pub weights: BTreeMap<String, f64>,
    /// Arithmetic of rollouts and gradients.
    pub precision: Precision,
    /// Whether contexts are learned, or tied to the known parameters of the training environments.
    pub contexts: Contexts,
    /// Standard deviation of tied contexts over the training environments. The smaller it is, the more the environments
    /// share.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tied_deviation: f64,
    /// A trained model that training starts from instead of random weights: `"current"` for the version in use (with `run.models`), or the path of a
    /// model, a directory or a bundle. Where nothing is in use yet, training starts from nothing. Environments that the model knows by their ids begin
    /// with their contexts there, new ones with contexts that are fitted to it; its scaling is kept. Where Gauss-Newton steps are asked for, those of
    /// Adam are left out. The model must have the same network, rule, contexts and quantities. What is trained depends on it: its digest stands
    /// among the parents of the new one, and a change of the model at a path trains anew; that another version is in use alone does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub warm_start: Option<String>,
    /// Steps of Adam; zero to train by Gauss-Newton alone, which then starts from random weights.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub steps: u64,
    /// Adam's learning rate at the start.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: f64,
    /// How the learning rate moves over the steps; constant by default.
    pub schedule: Schedule,
    /// Largest norm of the gradient over everything trained; a longer gradient is scaled down.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub gradient_clip: f64,
    /// Where steps of Adam are made; where the engine computes on CUDA, there.
    #[serde(skip_serializing_if = "StepsOn::is_auto")]
    pub steps_on: StepsOn,
    /// Trajectories of each environment in a batch of Adam; all if absent.
    #[schemars(range(min = 1))]
    pub trajectories_per_environment: Option<usize>,
    /// How often a rollout restarts from an observed state.
    pub teacher_forcing: TeacherForcing,
    /// Gauss-Newton steps after Adam; none by default.
    pub gauss_newton: GaussNewton,
    /// Steps between two computations of the validation loss.
    #[schemars(range(min = 1))]
    pub validate_every: u64,
    /// Validations in a row without a new best after which training stops.
    #[schemars(range(min = 1))]
    pub patience: u64,
    /// Steps of Adam between two checkpoints; another one is written where Adam ends and Gauss-Newton begins.
    #[schemars(range(min = 1))]
    pub checkpoint_every: u64,
    /// Minutes after which a checkpoint is written even if fewer steps were made since the last, by Adam or by
    /// Gauss-Newton. The model does not depend on when checkpoints are written.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub checkpoint_minutes: f64,
    /// Most trajectory data held in memory, in MiB; a larger training split is read from disk batch by batch.
    #[schemars(range(min = 1))]
    pub memory_budget_mib: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rule: rules::Kind::CodaL1,
            adapted_layers: models::AdaptedLayers::All,
            inner_rate: 0.1,
            pool: Pool::default(),
            environments: Labels::Known,
            inference: Inference::default(),
            context_dimension: None,
            context_penalty: 1e-4,
            locality_penalty: 1e-6,
            model: models::Settings::default(),
            solver: Solver::Rk4,
            substeps: 1,
            scaling: Scaling::None,
            weights: BTreeMap::new(),
            precision: Precision::F32,
            contexts: Contexts::Learned,
            tied_deviation: 0.2,
            warm_start: None,
            steps: 12_000,
            learning_rate: 1e-3,
            schedule: Schedule::Constant,
            gradient_clip: 1.0,
            steps_on: StepsOn::Auto,
            trajectories_per_environment: None,
            teacher_forcing: TeacherForcing::default(),
            gauss_newton: GaussNewton::default(),
            validate_every: 100,
            patience: 100,
            checkpoint_every: 1000,
            checkpoint_minutes: 5.0,
            memory_budget_mib: 1024,
        }
    }
}

impl Settings {
    /// Dimensions `d` of a context for a dataset of so many parameters, the fewest that are tried where it is to be chosen; none where environments own
    /// weights.
    pub(crate) fn dimension(&self, parameters: usize) -> usize {
        match self.context_dimension {
            _ if self.rule.owns_weights() => 0,
            None => parameters,
            Some(ContextDimension::Count(d)) => d,
            Some(ContextDimension::Chosen(Chosen::Auto)) => 1,
        }
    }

    /// Whether the dimension of the contexts is chosen by the validation split.
    pub(crate) fn chooses_dimension(&self) -> bool {
        matches!(self.context_dimension, Some(ContextDimension::Chosen(Chosen::Auto)))
    }

    /// What the rule is built for, with contexts of `d` values.
    pub fn shape(&self, d: usize) -> rules::Shape {
        rules::Shape { adapted: self.adapted_layers, context_dimension: d, inner_rate: self.inner_rate }
    }

    /// Settings that the rule has no use for, or cannot be trained with; keys begin within `train`.
    pub(crate) fn rule_problems(&self) -> Vec<Problem> {
        let (name, mut problems) = (self.rule.name(), Problems::default());
        if self.rule.owns_weights() {
            if self.contexts == Contexts::Tied {
                let found =
                    format!("\"tied\" with rule \"{name}\", whose environments own weights in place of a context");
                problems.add("contexts", found, "\"learned\"", "remove it, or choose a rule with contexts");
            }
            if let Some(start) = &self.warm_start {
                let found =
                    format!("\"{start}\" with rule \"{name}\", whose environments own weights in place of a context");
                problems.add("warm_start", found, "nothing", "remove it, or choose a rule with contexts");
            }
            if let Some(d) = &self.context_dimension {
                let found =
                    format!("{} with rule \"{name}\", whose environments own weights in place of a context", d.shown());
                problems.add("context_dimension", found, "nothing", "remove it, or choose a rule with contexts");
            }
        }
        if self.chooses_dimension() {
            let others = [
                ("contexts", "\"tied\"", self.contexts == Contexts::Tied),
                ("warm_start", "a start", self.warm_start.is_some()),
            ];
            for (key, found, _) in others.into_iter().filter(|(_, _, is_given)| *is_given) {
                let found = format!("{found}, and a dimension of the contexts that is to be chosen");
                problems.add(
                    key,
                    found,
                    "contexts that are learned from nothing",
                    "remove it, or give `context_dimension` a number",
                );
            }
        }
        if self.rule.trains_through_adaptation() && self.gauss_newton.steps > 0 {
            let found =
                format!("{} with rule \"{name}\", which trains through its adaptation", self.gauss_newton.steps);
            problems.add("gauss_newton.steps", found, "0: Adam alone trains this rule", "remove [train.gauss_newton]");
        }
        if self.environments == Labels::Infer {
            self.inference_problems(&mut problems);
        }
        problems.into_vec()
    }

    /// Settings with which environments cannot be inferred.
    fn inference_problems(&self, problems: &mut Problems) {
        let found = |what: String| format!("\"infer\" with {what}");
        let mut refuse = |what, expected, remedy| problems.add("environments", found(what), expected, remedy);
        if self.rule.trains_through_adaptation() || self.rule == rules::Kind::Erm {
            let rule =
                format!("rule \"{}\", whose environments have nothing of their own that is trained", self.rule.name());
            refuse(rule, "a rule with contexts or weights of each environment", "choose another rule");
        }
        if matches!(self.model, models::Settings::Library { .. }) {
            refuse("a library of products".to_owned(), "a network", "choose another model, or give the labels");
        }
        if self.steps == 0 {
            refuse(
                "`train.steps = 0`".to_owned(),
                "steps of Adam, between which trajectories are assigned",
                "set train.steps",
            );
        }
        if self.contexts == Contexts::Tied {
            refuse(
                "`contexts = \"tied\"`".to_owned(),
                "learned contexts: parameters would be labels",
                "remove `contexts`",
            );
        }
        if self.warm_start.is_some() {
            refuse("`warm_start`".to_owned(), "a training from nothing", "remove it");
        }
    }
}

/// Where the environments of the training trajectories come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// From the dataset.
    Known,
    /// From training: every trajectory is assigned to the environment whose context predicts it best, again and again between steps of Adam.
    Infer,
}

/// How environments are inferred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inference {
    /// How many there are; 2 by default.
    #[schemars(range(min = 2, max = 100_000))]
    pub environments: usize,
    /// Steps of Adam between two assignments; 1 by default. Gauss-Newton keeps the last one.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Standard deviation of the random contexts that training starts from; 1 by default.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spread: f64,
}

impl Default for Inference {
    fn default() -> Self {
        Inference { environments: 2, every: 1, spread: 1.0 }
    }
}

/// The pool of each environment: itself and some others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// How many others; 3 by default. All of them where there are fewer.
    #[schemars(range(min = 0, max = 1000))]
    pub neighbours: usize,
    /// Which ones; `nearest` by default.
    pub choice: Choice,
}

impl Default for Pool {
    fn default() -> Self {
        Pool { neighbours: 3, choice: Choice::Nearest }
    }
}

/// Which environments are in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// Those whose contexts are nearest, at every step.
    Nearest,
    /// Drawn anew at every step.
    Random,
}

/// Dimensions of a context: so many, or as many as the validation split asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ContextDimension {
    /// So many.
    Count(#[schemars(range(min = 1, max = rules::MOST_DIMENSIONS))] usize),
    /// To be chosen.
    Chosen(Chosen),
}

/// That something is to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// By the validation split.
    Auto,
}

impl ContextDimension {
    fn shown(self) -> String {
        match self {
            ContextDimension::Count(d) => d.to_string(),
            ContextDimension::Chosen(Chosen::Auto) => "\"auto\"".to_owned(),
        }
    }
}

/// How channels are scaled. On a grid with a boundary of zeros none is shifted, so that zero stays zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// Not scaled.
    None,
    /// To zero mean and unit standard deviation over the training split.
    Standard,
    /// To zero median over the training split, and to the interquartile range of a unit Gaussian; a few wrong values
    /// change neither.
    Robust,
}

/// How the learning rate moves over the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// The learning rate as it is.
    Constant,
    /// Half a cosine from the learning rate down to a thousandth of it.
    Cosine,
}

/// Scheduled sampling: with probability `start * decay^(step / every)` a sample restarts the rollout from the observed state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherForcing {
    /// Probability at step 0; 0.99 by default.
    #[schemars(range(min = 0, max = 1))]
    pub start: f64,
    /// Factor on the probability per `every` steps; 0.99 by default.
    #[schemars(range(min = 0, max = 1))]
    pub decay: f64,
    /// Steps per factor of `decay`; 10 by default.
    #[schemars(range(min = 1))]
    pub every: u64,
}

impl Default for TeacherForcing {
    fn default() -> Self {
        TeacherForcing { start: 0.99, decay: 0.99, every: 10 }
    }
}

/// Where the training contexts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contexts {
    /// Trained from zero, beside the weights.
    Learned,
    /// The known parameters of the environment, each standardised over the training environments and scaled; never
    /// trained. An affine tie `xi = A p + b` is no more general: `A` and `b` are absorbed by `W` and `theta_c`.
    Tied,
}

/// Gauss-Newton steps after Adam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GaussNewton {
    /// Most steps, over all stages; zero for none.
    #[schemars(range(max = 1_000_000_000))]
    pub steps: u64,
    /// How a step is computed.
    pub method: Method,
    /// Intervals between samples of the segments that the first stage fits; later stages fit longer ones, the last whole
    /// trajectories. If absent, 1 where `train.steps` is 0, else whole trajectories at once.
    #[schemars(range(min = 1))]
    pub first_segment: Option<usize>,
    /// Factor on the length of segments from one stage to the next.
    #[schemars(extend("exclusiveMinimum" = 1))]
    pub segment_growth: f64,
    /// A stage ends after four steps in a row that lower its objective by less than this share, or when no step lowers it;
    /// the last stage does not.
    #[schemars(range(min = 0, max = 1))]
    pub segment_decrease: f64,
    /// Most steps of a stage; the last has no such limit.
    #[schemars(range(min = 1))]
    pub segment_steps: u64,
    /// Steps in a row of the last stage without a new best on the validation split after which training stops.
    #[schemars(range(min = 1))]
    pub patience: u64,
    /// Damping at the start of a stage, relative to the mean diagonal of the kernel.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub damping: f64,
    /// Whether steps are corrected by how the residuals bend along them, except those of conjugate gradients; by default where a library has a
    /// denominator.
    pub acceleration: Option<bool>,
    /// Weight of the rule's locality penalty in these steps.
    #[schemars(range(min = 0))]
    pub locality_penalty: f64,
    /// Weight of the squared norm of learned contexts in these steps.
    #[schemars(range(min = 0))]
    pub context_penalty: f64,
    /// Trajectories of each environment that are fitted; all if absent.
    #[schemars(range(min = 1))]
    pub trajectories_per_environment: Option<usize>,
    /// Whether small terms of a library of products are dropped at the end and the others fitted again: those below a threshold in all
    /// environments, the greatest threshold with which the error on the validation split is at most a tenth greater, or negligible beside the states.
    pub drop_terms: bool,
    /// Most steps of conjugate gradients in one step.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub inner_steps: u64,
    /// Greatest relative residual at which conjugate gradients end; it tightens by itself towards a minimum.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub inner_tolerance: f64,
    /// Without effect, accepted for one version: `method` says how a step is computed for any number of residuals.
    #[schemars(range(min = 1))]
    pub residual_limit: Option<usize>,
    /// Steps of Gauss-Newton between two checkpoints.
    #[schemars(range(min = 1))]
    pub checkpoint_every: u64,
}

impl GaussNewton {
    /// What is accepted but has no effect any more.
    pub(crate) fn superseded(&self) -> Option<Problem> {
        let found = format!("{}, which has no effect any more", self.residual_limit?);
        let expected = "no such key: any number of residuals is fitted, as train.gauss_newton.method says";
        Some(Problem::new(Kind::Setting, found, expected, "remove it").setting("train.gauss_newton.residual_limit"))
    }
}

/// How a Gauss-Newton step is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By the fewest operations, as they are counted beforehand; the log says which.
    Auto,
    /// In the space of the residuals: few residuals, many weights. The damping is the same for every value.
    Residuals,
    /// In the space of everything trained: few weights, many residuals. The damping of each value is relative to its
    /// own curvature.
    Weights,
    /// By products with the Jacobian, which is never held: many of both. A step is inexact, its damping the same for every
    /// value.
    ConjugateGradients,
}

impl Method {
    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Residuals => "residuals",
            Method::Weights => "weights",
            Method::ConjugateGradients => "conjugate-gradients",
        }
    }
}

impl Default for GaussNewton {
    fn default() -> Self {
        GaussNewton {
            steps: 0,
            method: Method::Auto,
            first_segment: None,
            segment_growth: 3.0,
            segment_decrease: 0.05,
            segment_steps: 50,
            patience: 20,
            damping: 1e-3,
            acceleration: None,
            locality_penalty: 0.0,
            context_penalty: 0.0,
            trajectories_per_environment: None,
            drop_terms: true,
            inner_steps: 200,
            inner_tolerance: 0.1,
            residual_limit: None,
            checkpoint_every: 5,
        }
    }
}
