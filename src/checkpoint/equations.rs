//! The equations of a library of products, with their coefficients in each training environment.

use super::model::StoredModel;
use crate::models::Model;

impl StoredModel {
    /// The terms of its equations; none if it is no library of products. Each is the channel whose rate it is part of (`D` for the
    /// denominator), the product, and its coefficient in each training environment `[E]`, in the model's own units.
    pub fn equations(&self) -> Vec<(String, String, Vec<f64>)> {
        let manifest = &self.manifest;
        let Some(library) = manifest.model.library(&manifest.state_shape(), manifest.inputs.len()) else {
            return Vec::new();
        };
        let channels: Vec<&str> = manifest.channels.iter().map(|channel| channel.name.as_str()).collect();
        let inputs: Vec<&str> = manifest.inputs.iter().map(|input| input.quantity.name.as_str()).collect();
        let (rule, size) = (self.rule(), library.layout().size());
        let squared = size - library.denominator_weights();
        let of_context = |context: &[f64]| {
            let mut weights = vec![0.0; size];
            rule.decode(&self.shared, context, &mut weights);
            weights[squared..].iter_mut().for_each(|delta| *delta *= delta.abs());
            weights
        };
        let weights: Vec<Vec<f64>> = self.own_values().map(of_context).collect();
        let terms = library.terms(&channels, &inputs).into_iter().enumerate();
        terms.map(|(at, (rate, product))| (rate, product, weights.iter().map(|it| it[at]).collect())).collect()
    }
}
