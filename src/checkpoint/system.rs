//! The equations of a library of products as a system that a user could have stated.

use super::inverse::Affine;
use super::model::StoredModel;
use super::power::Power;
use super::rates::{Weights, rates};
use super::sampling::{Sampling, outwards};
use crate::models::Model;
use crate::problems::Problem;
use crate::systems::{Equations, InputSignal, ParameterBounds, StateEquation};

/// The parameters of the system, and what contexts are made of.
struct Coordinates {
    parameters: Vec<ParameterBounds>,
    /// What contexts are affine in, as expressions in the parameters.
    variables: Vec<String>,
    contexts: Affine,
    /// What the parameters are, in words.
    text: String,
}

impl StoredModel {
    /// Its equations for any environment, as a system with the states and inputs of its dataset. Parameters are those of the dataset where
    /// the map from contexts is affine in them, or in powers of them, and has an inverse; else the contexts themselves. They may lie as far
    /// beyond the training environments as these lie apart, but no sign changes.
    ///
    /// # Errors
    /// Why there is no such system, in words: it is no library, or one of fields, or a name cannot stand in equations.
    pub fn system(&self, sampling: &Sampling) -> Result<Equations, String> {
        let manifest = &self.manifest;
        if manifest.grid.is_some() {
            return Err("its channels are fields, and equations in a file are those of single numbers".to_owned());
        }
        let Some(library) = manifest.model.library(&manifest.state_shape(), manifest.inputs.len()) else {
            return Err("the model is no library of products".to_owned());
        };
        let rule = self.rule();
        if !rule.is_affine() {
            return Err("its coefficients are not affine in the context".to_owned());
        }
        let size = library.layout().size();
        let basis = rule.linearise(&self.shared, &vec![0.0; manifest.context_dimension], size);
        let Coordinates { parameters, variables, contexts, text } = self.coordinates();
        let weights = Weights::new(&basis, size, &contexts, variables);
        let channels = manifest.channels.iter().zip(&manifest.scales).map(|(it, scale)| (it.name.as_str(), *scale));
        let inputs = manifest.inputs.iter().zip(&manifest.input_scales);
        let inputs = inputs.map(|(it, scale)| (it.quantity.name.as_str(), scale.scale));
        let features: Vec<_> = channels.chain(inputs).collect();
        let states = manifest.channels.iter().zip(rates(&library, &weights, &features)).zip(&sampling.initial);
        let states = states.map(|((channel, derivative), initial)| StateEquation {
            name: channel.name.clone(),
            unit: channel.unit.clone(),
            description: channel.description.clone(),
            derivative,
            initial: Some(*initial),
            start: None,
        });
        let inputs = manifest.inputs.iter().map(|input| InputSignal {
            name: input.quantity.name.clone(),
            unit: input.quantity.unit.clone(),
            description: input.quantity.description.clone(),
        });
        let equations = Equations {
            name: manifest.name.clone(),
            description: format!("The equations that the model {} found, in terms of {text}", manifest.name),
            time_unit: manifest.time_unit.clone(),
            horizon: sampling.horizon,
            time_step: sampling.time_step,
            states: states.collect(),
            parameters,
            inputs: inputs.collect(),
            outputs: Vec::new(),
            covariates: Vec::new(),
            preequilibration: None,
            doses: Vec::new(),
            infusions: Vec::new(),
            reset: None,
            constants: Default::default(),
            environments: Default::default(),
        };
        match equations.system() {
            Ok(_) => Ok(equations),
            Err(problems) => Err(problems.iter().map(words).collect::<Vec<_>>().join("; ")),
        }
    }

    fn coordinates(&self) -> Coordinates {
        let manifest = &self.manifest;
        let inverse = match &self.map {
            Some(map) => map.inverse().map(|contexts| (contexts, map.powers().collect::<Vec<_>>())),
            None => Err("there is no map to parameters".to_owned()),
        };
        match inverse {
            Ok((contexts, powers)) => {
                let quantities = manifest.parameters.iter().enumerate();
                let parameters = quantities.map(|(j, quantity)| {
                    let known = manifest.environments.iter().filter_map(|environment| environment.parameters[j]);
                    let [lower, upper] = widened(known);
                    let (name, unit) = (quantity.name.clone(), quantity.unit.clone());
                    ParameterBounds { name, unit, description: quantity.description.clone(), lower, upper }
                });
                let variables = powers.iter().zip(&manifest.parameters).map(|(power, it)| power.expression(&it.name));
                let variables = variables.collect();
                let text = match powers.iter().all(|power| *power == Power::ONE) {
                    true => "the parameters of the data, of which contexts are affine functions",
                    false => "the parameters of the data, of whose powers contexts are affine functions",
                };
                Coordinates { parameters: parameters.collect(), variables, contexts, text: text.to_owned() }
            }
            Err(why) => {
                let d = manifest.context_dimension;
                let names: Vec<String> = (1..=d).map(|k| format!("xi_{k}")).collect();
                let parameters = names.iter().enumerate().map(|(k, name)| {
                    let [lower, upper] = widened(self.contexts.iter().skip(k).step_by(d).copied());
                    let description = format!("Value {} of the context", k + 1);
                    ParameterBounds { name: name.clone(), unit: "1".to_owned(), description, lower, upper }
                });
                let parameters = parameters.collect();
                let text = format!("contexts, because {why}");
                Coordinates { parameters, variables: names, contexts: Affine::identity(d), text }
            }
        }
    }
}

/// The range of values with its width on both sides, to a tenth of its ends at most where all are of one sign.
fn widened(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let range = [f64::INFINITY, f64::NEG_INFINITY];
    let [least, greatest] = values.fold(range, |[least, greatest], value| [least.min(value), greatest.max(value)]);
    let width = if greatest > least { greatest - least } else { greatest.abs().max(1.0) };
    let lower = if least > 0.0 { (least - width).max(0.1 * least) } else { least - width };
    let upper = if greatest < 0.0 { (greatest + width).min(0.1 * greatest) } else { greatest + width };
    outwards([lower, upper])
}

/// A problem of the equations in a line.
fn words(problem: &Problem) -> String {
    format!("{} is {}, where {} is expected", problem.key, problem.found, problem.expected)
}

#[cfg(test)]
mod tests {
    use super::widened;

    #[test]
    fn bounds_are_beyond_the_values_and_keep_their_sign() {
        assert_eq!(widened([0.5, 1.0, 0.75].into_iter()), [0.05, 1.5]);
        assert_eq!(widened([10.0, 11.0].into_iter()), [9.0, 12.0]);
        assert_eq!(widened([-1.0, -0.5].into_iter()), [-1.5, -0.05]);
        assert_eq!(widened([-1.0, 2.0].into_iter()), [-4.0, 5.0]);
        assert_eq!(widened([2.0].into_iter()), [0.2, 4.0]);
    }
}
