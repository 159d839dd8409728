//! The columns of a table of estimates.

use std::collections::{BTreeSet, HashMap};

use arrow_schema::{DataType, Field, Schema};

use crate::schema::Quantity;

/// The suffix of the columns with Cramér-Rao bounds.
pub(crate) const CRLB: &str = "crlb";
/// The suffix of the columns with the part of the standard error that is the model's own.
pub(crate) const MODEL_ERROR: &str = "model_error";
/// The suffix of the columns with the degrees of freedom of an interval.
pub(crate) const OF_INTERVAL: &str = "degrees_of_freedom";
/// The columns of the likelihood.
pub(crate) const LIKELIHOOD: [&str; 3] = ["minus_two_log_likelihood", "aic", "bic"];

/// Names of the columns of correlations, one per pair of parameters.
pub(crate) fn correlation_names(parameters: &[Quantity]) -> impl Iterator<Item = String> {
    let pairs = (0..parameters.len()).flat_map(|j| (j + 1..parameters.len()).map(move |k| (j, k)));
    pairs.map(|(j, k)| format!("correlation_{}_{}", parameters[j].name, parameters[k].name))
}

/// The name of the column with the noise of a channel.
pub(crate) fn noise_name(channel: &Quantity) -> String {
    format!("noise_{}", channel.name)
}

/// The name of the column with the correlation of successive residuals of a channel.
pub(crate) fn autocorrelation_name(channel: &Quantity) -> String {
    format!("autocorrelation_{}", channel.name)
}

/// A column that a table of estimates of these parameters and channels would have twice.
pub(crate) fn repeated_column(
    parameters: &[Quantity],
    channels: &[Quantity],
    context_dimension: usize,
) -> Option<String> {
    // A column that only tables of several systems have is no name for a parameter either.
    let is_model = parameters.iter().any(|it| it.name == "model");
    repeated(&schema(parameters, channels, &[], context_dimension)).or_else(|| is_model.then(|| "model".to_owned()))
}

/// A column that stands there twice.
pub(crate) fn repeated(schema: &Schema) -> Option<String> {
    let mut seen = BTreeSet::new();
    schema.fields().iter().find(|field| !seen.insert(field.name())).map(|field| field.name().clone())
}

/// The columns of a table of estimates in the current format.
pub(crate) fn schema(
    parameters: &[Quantity],
    channels: &[Quantity],
    noise_terms: &[Quantity],
    context_dimension: usize,
) -> Schema {
    let number = |name: String, unit: &str| {
        Field::new(name, DataType::Float64, true).with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]))
    };
    let mut fields = vec![
        Field::new("environment", DataType::Utf8, false),
        Field::new("status", DataType::Utf8, false),
        Field::new("reason", DataType::Utf8, false),
    ];
    for Quantity { name, unit, .. } in parameters {
        fields.push(number(name.clone(), unit));
        let of_parameter = ["standard_error", "lower", "upper", CRLB, "true", MODEL_ERROR];
        fields.extend(of_parameter.map(|what| number(format!("{name}_{what}"), unit)));
        fields.push(number(format!("{name}_{OF_INTERVAL}"), "1"));
    }
    fields.extend(correlation_names(parameters).map(|name| number(name, "1")));
    fields.extend(channels.iter().map(|channel| number(noise_name(channel), &channel.unit)));
    fields.extend(channels.iter().map(|channel| number(autocorrelation_name(channel), "1")));
    fields.extend(noise_terms.iter().map(|term| number(term.name.clone(), &term.unit)));
    fields.extend((0..context_dimension).map(|k| number(format!("context_{k}"), "1")));
    fields.push(number("trajectory_rmse".to_owned(), ""));
    fields.push(number("trajectory_mape".to_owned(), "percent"));
    fields.push(number("test_mse".to_owned(), ""));
    fields.push(Field::new("points", DataType::UInt64, false));
    fields.push(number("degrees_of_freedom".to_owned(), "1"));
    fields.extend(LIKELIHOOD.map(|name| number(name.to_owned(), "1")));
    fields.extend(["starts", "starts_at_best"].map(|name| Field::new(name, DataType::UInt64, true)));
    fields.push(number("second_minimum".to_owned(), "1"));
    fields.push(Field::new("iterations", DataType::UInt64, false));
    fields.push(Field::new("in_hull", DataType::Boolean, true));
    Schema::new(fields)
}
