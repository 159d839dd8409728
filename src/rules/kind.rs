//! The rules that settings can name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cavia_concat::CaviaConcat;
use super::cavia_film::CaviaFilm;
use super::coda::Coda;
use super::geps::Geps;
use super::meta_sgd::MetaSgd;
use super::places::Locality;
use super::rule::Rule;
use super::{anil, erm, leads, maml, multi_task, ncf};
use crate::models;
use crate::models::{AdaptedLayers, Layout};

/// Most values of a context.
pub const MOST_DIMENSIONS: usize = 16;

/// The settings of a training that some rules heed and others do not.
pub const SETTINGS_OF_SOME: [&str; 6] = [
    "inner_rate",
    "pool",
    "locality_penalty",
    "gauss_newton.locality_penalty",
    "context_penalty",
    "gauss_newton.context_penalty",
];

/// Which rule adapts the weights to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// CoDA with the sum of the row norms of `W` as locality penalty.
    CodaL1,
    /// CoDA with the squared norm of `W` as locality penalty.
    CodaL2,
    /// CoDA without a locality penalty.
    Coda,
    /// CAVIA: the context is appended to the input of the network.
    CaviaConcat,
    /// CAVIA: the context scales and shifts the last hidden features of the network.
    CaviaFilm,
    /// NCF: the context is appended to the input of the network, which is trained through its expansions about the contexts of others.
    Ncf,
    /// GEPS: the context modulates low-rank factors of every layer.
    Geps,
    /// LEADS: the sum of a shared network and one of the environment's own, which are the two halves of a network of even width.
    Leads,
    /// Hard sharing: every environment has a last layer of its own.
    MultiTask,
    /// One model of all environments, adapted to none.
    Erm,
    /// MAML: all weights, adapted by one step of gradient descent through which training differentiates.
    Maml,
    /// ANIL: MAML whose step moves the last layer alone.
    Anil,
    /// Meta-SGD: MAML with a learned rate for every weight.
    MetaSgd,
}

/// What a rule is built for, beside the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Layers that depend on the context; matters only to CoDA, the other rules fix it themselves.
    pub adapted: AdaptedLayers,
    /// `d`; does not matter to rules whose environments own weights.
    pub context_dimension: usize,
    /// `r`, the rate of the inner step of rules that have one.
    pub inner_rate: f64,
}

impl Kind {
    /// Every rule.
    pub const ALL: [Kind; 13] = [
        Kind::CodaL1,
        Kind::CodaL2,
        Kind::Coda,
        Kind::CaviaConcat,
        Kind::CaviaFilm,
        Kind::Ncf,
        Kind::Geps,
        Kind::Leads,
        Kind::MultiTask,
        Kind::Erm,
        Kind::Maml,
        Kind::Anil,
        Kind::MetaSgd,
    ];

    /// The rule for a model of that layout.
    pub fn build(self, layout: &Layout, shape: Shape) -> Box<dyn Rule> {
        let Shape { adapted, context_dimension, inner_rate } = shape;
        let coda = |locality| {
            let (weights, adapted) = (layout.size(), layout.adapted(adapted));
            Box::new(Coda { locality, weights, adapted, context_dimension })
        };
        match self {
            Kind::CodaL1 => coda(Locality::RowNorms),
            Kind::CodaL2 => coda(Locality::Squares),
            Kind::Coda => coda(Locality::None),
            Kind::CaviaConcat => Box::new(CaviaConcat::new(layout, context_dimension)),
            Kind::CaviaFilm => Box::new(CaviaFilm::new(layout, context_dimension)),
            Kind::Ncf => Box::new(ncf::rule(layout, context_dimension)),
            Kind::Geps => Box::new(Geps::new(layout, context_dimension)),
            Kind::Leads => Box::new(leads::rule(layout)),
            Kind::MultiTask => Box::new(multi_task::rule(layout)),
            Kind::Erm => Box::new(erm::rule(layout)),
            Kind::Maml => Box::new(maml::rule(layout, inner_rate)),
            Kind::Anil => Box::new(anil::rule(layout, inner_rate)),
            Kind::MetaSgd => Box::new(MetaSgd::new(layout, inner_rate)),
        }
    }

    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::CodaL1 => "coda-l1",
            Kind::CodaL2 => "coda-l2",
            Kind::Coda => "coda",
            Kind::CaviaConcat => "cavia-concat",
            Kind::CaviaFilm => "cavia-film",
            Kind::Ncf => "ncf",
            Kind::Geps => "geps",
            Kind::Leads => "leads",
            Kind::MultiTask => "multi-task",
            Kind::Erm => "erm",
            Kind::Maml => "maml",
            Kind::Anil => "anil",
            Kind::MetaSgd => "meta-sgd",
        }
    }

    /// Whether environments own weights, or nothing, in place of a context of a few numbers: no parameters are read from these.
    pub fn owns_weights(self) -> bool {
        match self {
            Kind::CodaL1 | Kind::CodaL2 | Kind::Coda => false,
            Kind::CaviaConcat | Kind::CaviaFilm | Kind::Ncf | Kind::Geps => false,
            Kind::Leads | Kind::MultiTask | Kind::Erm | Kind::Maml | Kind::Anil | Kind::MetaSgd => true,
        }
    }

    /// Whether training differentiates through the step that adapts the weights.
    pub fn trains_through_adaptation(self) -> bool {
        matches!(self, Kind::Maml | Kind::Anil | Kind::MetaSgd)
    }

    /// Whether Adam sees trajectories through their expansions about the contexts of other environments.
    pub fn trains_through_expansion(self) -> bool {
        self == Kind::Ncf
    }

    /// Whether a training with this rule depends on `setting`, one of [`SETTINGS_OF_SOME`]; it does on all others.
    pub fn heeds(self, setting: &str) -> bool {
        match setting {
            "inner_rate" => self.trains_through_adaptation(),
            "pool" => self.trains_through_expansion(),
            "locality_penalty" | "gauss_newton.locality_penalty" => matches!(self, Kind::CodaL1 | Kind::CodaL2),
            // What environments own is not trained where it follows from the shared weights, or is nothing.
            "context_penalty" | "gauss_newton.context_penalty" => {
                !self.trains_through_adaptation() && self != Kind::Erm
            }
            _ => true,
        }
    }

    /// Why this rule cannot adapt those layers of that model, if so: the setting, what was found, and what was expected.
    pub fn problem(
        self,
        model: &models::Settings,
        adapted: AdaptedLayers,
    ) -> Option<(&'static str, String, &'static str)> {
        let is_coda = matches!(self, Kind::CodaL1 | Kind::CodaL2 | Kind::Coda);
        if is_coda {
            return None;
        }
        let name = self.name();
        // A library is one linear layer of products: it has neither a first layer with a bias, nor halves, nor layers to factor.
        let needs_network = !self.owns_weights() || self == Kind::Leads;
        if needs_network && matches!(model, models::Settings::Library { .. }) {
            let found = format!("\"{name}\" with a library of products");
            return Some(("rule", found, "a network, which this rule is for"));
        }
        (adapted != AdaptedLayers::All).then(|| {
            let found = format!("\"{}\" with rule \"{name}\"", adapted.name());
            ("adapted_layers", found, "nothing, for which weights depend on the environment is part of this rule")
        })
    }

    /// Why this rule cannot adapt a model of that layout, if so: what was found, and what was expected.
    pub fn layout_problem(self, layout: &Layout) -> Option<(String, &'static str)> {
        let found = (self == Kind::Leads).then(|| leads::problem(layout)).flatten()?;
        Some((found, "an even number, half of it for the shared network and half for the environment's own"))
    }
}
