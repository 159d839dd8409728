//! The columns of a table of estimates.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Schema};

use crate::estimate::error::Error;
use crate::schema::Quantity;

/// The suffix of the columns with Cramér-Rao bounds.
pub(crate) const CRLB: &str = "crlb";
/// The suffix of the columns with the part of the standard error that is the model's own.
pub(crate) const MODEL_ERROR: &str = "model_error";
/// The suffix of the columns with the degrees of freedom of an interval.
pub(crate) const OF_INTERVAL: &str = "degrees_of_freedom";
/// The columns of the likelihood.
pub(crate) const LIKELIHOOD: [&str; 3] = ["minus_two_log_likelihood", "aic", "bic"];

/// Columns that only the table in which systems are compared has.
const COMPARED: [&str; 5] = ["comparison", "preferred", "aicc", "aicc_delta", "aicc_weight"];

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

/// A column that a table would have twice, and what makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clash {
    /// Name of the column.
    pub column: String,
    /// What makes it, in words.
    pub first: String,
    /// What makes it again.
    pub second: String,
}

impl From<Clash> for Error {
    fn from(Clash { column, first, second }: Clash) -> Self {
        Error::RepeatedColumn { column, first, second }
    }
}

/// A column that the table of estimates of these parameters and channels would have twice, or where systems `are_compared` the table of that.
pub(crate) fn clash(
    parameters: &[Quantity],
    channels: &[Quantity],
    noise_terms: &[Quantity],
    (context_dimension, are_compared): (usize, bool),
) -> Option<Clash> {
    let names = |parameters: &[Quantity], channels: &[Quantity], noise_terms: &[Quantity]| -> Vec<String> {
        let schema = schema(parameters, channels, noise_terms, context_dimension);
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    let fixed = names(&[], &[], &[]);
    let own = |all: Vec<String>| all.into_iter().filter(|name| !fixed.contains(name)).collect::<Vec<_>>();
    // A parameter named like a fixed column makes it too.
    let of_parameter = |it: &Quantity| -> Vec<String> {
        let others = own(names(std::slice::from_ref(it), &[], &[])).into_iter().filter(|name| *name != it.name);
        std::iter::once(it.name.clone()).chain(others).collect()
    };
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    // A column that only tables of several systems have is no name for a parameter either.
    let own_columns = fixed.iter().cloned().chain(["model".to_owned()]);
    parts.push(("the table itself".to_owned(), own_columns.collect()));
    let compared = COMPARED.iter().filter(|_| are_compared).map(|name| (*name).to_owned());
    parts.push(("the comparison of systems".to_owned(), compared.collect()));
    for it in parameters {
        parts.push((format!("the parameter `{}`", it.name), of_parameter(it)));
    }
    parts.push(("a correlation of parameters".to_owned(), correlation_names(parameters).collect()));
    for it in channels {
        parts.push((format!("the channel `{}`", it.name), vec![noise_name(it), autocorrelation_name(it)]));
    }
    parts.push(("the noise of a channel".to_owned(), noise_terms.iter().map(|it| it.name.clone()).collect()));
    let mut makers: HashMap<&str, &str> = HashMap::new();
    for (maker, columns) in &parts {
        for column in columns {
            if let Some(first) = makers.insert(column, maker) {
                let second = if first == maker { "another of its kind".to_owned() } else { maker.clone() };
                return Some(Clash { column: column.clone(), first: first.to_owned(), second });
            }
        }
    }
    None
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
