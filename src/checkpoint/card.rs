//! The card: `README.md` of a model, which says to people what its manifest and its map say to programs.

use std::fmt::Write;

use super::manifest::Manifest;
use super::map::{LeaveOneOut, MapKind, ParameterMap};
use crate::dataset::cell;
use crate::problems::many;
use crate::schema::GridAxis;

/// The card of a model with this map. It names no digest of the model, whose manifest holds that of the card.
pub(super) fn text(manifest: &Manifest, map: Option<&ParameterMap>) -> String {
    let mut card = format!("# {}\n\n", cell(&manifest.name));
    let environments = many(manifest.environments.len() as u64, "environment");
    let _ = writeln!(
        card,
        "A dynamics model that Paramill learned from {environments}, {}. {}",
        match manifest.rule.owns_weights() {
            true => format!("adapted to each by the rule {}", manifest.rule.name()),
            false => format!("conditioned on a context of {}", many(manifest.context_dimension as u64, "value")),
        },
        match map {
            None if manifest.rule.owns_weights() => "It tells trajectories, and no parameters.",
            Some(_) => "From trajectories of another environment it estimates the parameters below, with intervals.",
            None =>
                "From trajectories of another environment it gives a context and forecasts; it has no map to parameters.",
        }
    );
    parameters(manifest, &mut card);
    channels(manifest, &mut card);
    inputs(manifest, &mut card);
    validation(manifest, map, &mut card);
    making(manifest, &mut card);
    usage(manifest, &mut card);
    card
}

fn parameters(manifest: &Manifest, card: &mut String) {
    if manifest.parameters.is_empty() {
        return;
    }
    card.push_str(
        "\n## What it estimates\n\nThe ranges are those of the training environments; beyond them the model extrapolates, and an estimate far \
         beyond has the status `outside_training_range`.\n\n\
         | parameter | unit | least | greatest | known of | description |\n|---|---|---:|---:|---:|---|\n",
    );
    for (j, parameter) in manifest.parameters.iter().enumerate() {
        let known: Vec<f64> = manifest.environments.iter().filter_map(|it| it.parameters[j]).collect();
        let of = |choice: fn(f64, f64) -> f64| known.iter().copied().reduce(choice).map_or_else(String::new, rounded);
        let (name, unit, description) = (cell(&parameter.name), cell(&parameter.unit), cell(&parameter.description));
        let (least, greatest, count) = (of(f64::min), of(f64::max), known.len());
        let _ = writeln!(card, "| `{name}` | {unit} | {least} | {greatest} | {count} | {description} |");
    }
}

fn channels(manifest: &Manifest, card: &mut String) {
    let _ = write!(
        card,
        "\n## What it takes\n\nTrajectories of these channels, over time in {}. The ranges are those of the training data; the error is the root \
         mean squared one on validation trajectories.\n\n\
         | channel | unit | least | greatest | error | description |\n|---|---|---:|---:|---:|---|\n",
        cell(&manifest.time_unit)
    );
    for (c, channel) in manifest.channels.iter().enumerate() {
        let observed = manifest.observed.get(c);
        let [least, greatest, error] =
            [observed.map(|it| it.least), observed.map(|it| it.greatest), observed.map(|it| it.validation)]
                .map(|value| value.map_or_else(String::new, rounded));
        let (name, unit, description) = (cell(&channel.name), cell(&channel.unit), cell(&channel.description));
        let _ = writeln!(card, "| `{name}` | {unit} | {least} | {greatest} | {error} | {description} |");
    }
    if let Some(grid) = &manifest.grid {
        let axis = |it: &GridAxis| {
            let (name, unit, boundary) = (cell(&it.name), cell(&it.unit), it.boundary.name());
            format!("{} points of `{name}`, {} {unit} apart, boundary `{boundary}`", it.count, it.spacing)
        };
        let axes: Vec<String> = grid.axes.iter().map(axis).collect();
        let _ = writeln!(card, "\nEach channel is a field on a grid: {}.", axes.join("; "));
    }
}

fn inputs(manifest: &Manifest, card: &mut String) {
    if manifest.inputs.is_empty() {
        return;
    }
    card.push_str(
        "\nKnown signals act on the system:\n\n| input | unit | between samples | least | greatest | description |\n|---|---|---|---:|---:|---|\n",
    );
    for (input, range) in manifest.inputs.iter().zip(&manifest.input_scales) {
        let it = &input.quantity;
        let (name, unit, description) = (cell(&it.name), cell(&it.unit), cell(&it.description));
        let (between, least, greatest) = (input.between.name(), rounded(range.least), rounded(range.greatest));
        let _ = writeln!(card, "| `{name}` | {unit} | `{between}` | {least} | {greatest} | {description} |");
    }
}

fn validation(manifest: &Manifest, map: Option<&ParameterMap>, card: &mut String) {
    let training = &manifest.training;
    let _ = write!(
        card,
        "\n## How it was validated\n\nIt is the best of {} on trajectories of the validation split, which trained nothing: a mean squared error of \
         {} in the model's own units.",
        many(training.steps, "step"),
        rounded(training.validation)
    );
    if let Some(tolerance) = manifest.data_tolerance {
        let _ = write!(card, " The data are good to a relative tolerance of {tolerance:e}.");
    }
    card.push('\n');
    let Some(map) = map else { return };
    let LeaveOneOut { affine, quadratic, power } = map.leave_one_out;
    let of_kind = match map.kind {
        MapKind::Affine => affine,
        MapKind::Quadratic => quadratic,
        MapKind::Power => power,
    };
    let _ = write!(
        card,
        "\nThe map from contexts to parameters is {}, fitted on {}",
        cell(&map.description()),
        many(map.environments.len() as u64, "environment")
    );
    match of_kind {
        Some(error) => {
            let _ = writeln!(
                card,
                "; with each left out in turn, its parameters are missed by {} of their standard deviation (root mean square).",
                rounded(error)
            );
        }
        None => card.push_str(", too few to leave one out.\n"),
    }
    let _ = match &map.model_error {
        Some(error) => writeln!(
            card,
            "\nIntervals of estimates contain the model's own error, learned from {} with known parameters that it was not trained on.",
            many(error.environments as u64, "environment")
        ),
        None => writeln!(
            card,
            "\nIntervals of estimates account for the noise of the data alone, not for the model's own error."
        ),
    };
}

fn making(manifest: &Manifest, card: &mut String) {
    let provenance = &manifest.provenance;
    let license = if manifest.license.is_empty() { "unknown".to_owned() } else { cell(&manifest.license) };
    let _ = write!(
        card,
        "\n## Licence and origin\n\nLicence of the data that it was trained on: {license}. Made by {}",
        provenance.tool
    );
    if let Some(seed) = provenance.seed {
        let _ = write!(card, " with seed {seed}");
    }
    card.push_str(" from:\n\n");
    for parent in &provenance.parents {
        let _ = writeln!(card, "- {} (SHA-256 `{}`)", cell(&parent.name), parent.sha256);
    }
    card.push_str("\nAll settings stand in `manifest.json`, whose digest is in `SHA256SUMS`.\n");
}

fn usage(manifest: &Manifest, card: &mut String) {
    let name = cell(&manifest.name);
    let _ = write!(
        card,
        "\n## How to use it elsewhere\n\nThis directory, or the one file that `paramill model pack` makes of it, is all that it takes: neither the training \
         data nor the pipeline. `paramill estimate` takes either as its model, with a mapping of an archive of yours that gives the channels above in \
         these units; `paramill model unpack` makes a directory of the file again, and `paramill check` verifies both. From Rust:\n\n\
         ```rust\nlet model = paramill::Model::open(std::path::Path::new(\"{name}\"))?;\nlet rows = model.estimate(&trajectories)?;\n```\n"
    );
}

/// Four significant digits.
fn rounded(value: f64) -> String {
    let scientific = format!("{value:.3e}");
    match value.abs() {
        0.0 | 1e-3..1e5 => scientific.parse::<f64>().map_or(scientific, |value| value.to_string()),
        _ => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_have_four_digits() {
        let shown = [0.0, 0.5, -0.123_456, 12_345.6, 1.234_56e-7, 1e9].map(rounded);
        assert_eq!(shown, ["0", "0.5", "-0.1235", "12350", "1.235e-7", "1.000e9"]);
    }
}
