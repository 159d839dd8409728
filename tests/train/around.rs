//! What is drawn of a trained model: errors along trajectories, and the losses around it.

use super::*;
use paramill::estimate::{frames, geometry};
use paramill::rules::Kind;

#[test]
fn errors_along_trajectories_have_the_mean_of_the_split() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    for rule in [Kind::CodaL1, Kind::Leads] {
        let settings = Settings { rule, ..train_settings(SHORT) };
        let model = train(&settings, &dataset, &root.path().join("model")).unwrap();
        // There is no test split, and the model's units are those of the data.
        let found = frames(NATIVE, &dataset, &model).unwrap().unwrap();
        assert_eq!((found.split, found.trajectories, found.times.len()), (Split::Validation, 4, 19));
        assert_eq!((found.times[0], found.times[18]), (0.5, 9.5));
        let mean = found.mean.iter().sum::<f64>() / found.mean.len() as f64;
        assert_relative_eq!(mean, model.manifest.training.validation, max_relative = 1e-4);
        let ordered = (0..19).all(|l| found.low[l] <= found.mean[l] && found.low[l] <= found.high[l]);
        assert!(ordered, "{rule:?}: {found:?}");
    }
}

/// Around contexts the loss of an environment is least at its own; the model of all environments has one pull of each.
#[test]
fn the_landscape_of_an_environment_is_lowest_at_its_context() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let longer = SHORT
        .replace("steps = 12", "steps = 300")
        .replace("gauss_newton = { steps = 4 }", "gauss_newton = { steps = 20 }");
    let of = |rule: Kind| {
        let settings = Settings { rule, ..train_settings(&longer) };
        let model = train(&settings, &dataset, &root.path().join("model")).unwrap();
        (geometry(NATIVE, &dataset, &model).unwrap().unwrap(), model)
    };
    let (coda, model) = of(Kind::CodaL2);
    assert!(coda.is_of_contexts);
    assert_eq!((coda.landscapes.len(), coda.singular_values.len()), (4, 4));
    for (landscape, own) in coda.landscapes.iter().zip(model.own_values()) {
        assert_eq!(landscape.place, [own[0], own[1]]);
        let least = (0..landscape.losses.len()).min_by(|&a, &b| landscape.losses[a].total_cmp(&landscape.losses[b]));
        let least = least.unwrap();
        for (axis, cell) in [least % coda.points, least / coda.points].into_iter().enumerate() {
            let [low, high] = coda.ends[axis];
            let width = (high - low) / (coda.points - 1) as f64;
            assert!((low + cell as f64 * width - own[axis]).abs() < 3.0 * width, "{landscape:?}");
        }
    }
    let (erm, _) = of(Kind::Erm);
    assert!(!erm.is_of_contexts && erm.singular_values.is_sorted_by(|a, b| a >= b), "{:?}", erm.singular_values);
    // Where their sum is least, the gradients of four environments are in three directions.
    assert!(erm.singular_values[3] < 0.1 * erm.singular_values[0], "{:?}", erm.singular_values);
    assert!(erm.landscapes.iter().all(|it| it.place.iter().all(|it| it.is_finite())));
    let apart = |a: usize, b: usize| {
        (0..2).map(|k| (erm.landscapes[a].place[k] - erm.landscapes[b].place[k]).powi(2)).sum::<f64>()
    };
    assert!((1..4).all(|e| apart(0, e) > 0.0));
}
