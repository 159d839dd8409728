//! The rules that settings can name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cavia_concat::CaviaConcat;
use super::cavia_film::CaviaFilm;
use super::coda::{Coda, Locality};
use super::rule::Rule;
use crate::models;
use crate::models::{AdaptedLayers, Layout};

/// Most values of a context.
pub const MOST_DIMENSIONS: usize = 16;

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
}

impl Kind {
    /// Every rule.
    pub const ALL: [Kind; 5] = [Kind::CodaL1, Kind::CodaL2, Kind::Coda, Kind::CaviaConcat, Kind::CaviaFilm];

    /// The rule for a model of that layout and contexts of `context_dimension` values. `adapted` matters only to CoDA;
    /// the CAVIA rules fix which layers depend on the context.
    pub fn build(self, layout: &Layout, adapted: AdaptedLayers, context_dimension: usize) -> Box<dyn Rule> {
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
        }
    }

    /// Why this rule cannot adapt those layers of that model, if so: the setting, what was found, and what was expected.
    pub fn problem(
        self,
        model: &models::Settings,
        adapted: AdaptedLayers,
    ) -> Option<(&'static str, String, &'static str)> {
        match self {
            Kind::CodaL1 | Kind::CodaL2 | Kind::Coda => None,
            Kind::CaviaConcat | Kind::CaviaFilm if matches!(model, models::Settings::Library { .. }) => {
                let found = "a CAVIA rule with a library of products".to_owned();
                Some(("rule", found, "a network, which these rules are for"))
            }
            Kind::CaviaConcat | Kind::CaviaFilm => (adapted != AdaptedLayers::All).then(|| {
                let found = format!("\"{}\" with a CAVIA rule", adapted.name());
                ("adapted_layers", found, "nothing, for where the context enters the network is part of these rules")
            }),
        }
    }
}
