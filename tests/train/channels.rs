//! How channels are scaled, and how much each counts.

use approx::assert_relative_eq;
use paramill::schema::Split;
use paramill::train::{Error, Scaling, Settings};

use super::common::write;
use super::model::{FOUR_PAIRS, Listener, generate, train, train_settings};
use super::{SHORT, train_heard};
use paramill::dataset::Dataset;

/// By sorting; one wild value and a channel that hardly ever moves.
#[test]
fn robust_scales_are_quartiles_and_wild_values_do_not_move_them() {
    let root = tempfile::tempdir().unwrap();
    let like = generate(root.path(), FOUR_PAIRS);
    let splits = |wild: f64, second: fn(usize) -> f64| {
        [Split::Train, Split::Validation].map(|split| {
            let mut rows = like.read(split).unwrap();
            for (sample, state) in rows.iter_mut().flat_map(|row| row.states.chunks_exact_mut(2)).enumerate() {
                state[0] = if sample == 5 { wild } else { state[0] - 1.0 };
                state[1] = second(sample);
            }
            (split, rows)
        })
    };
    let scales = |name: &str, splits: &[(Split, Vec<_>); 2]| {
        let directory = root.path().join(name);
        write(&directory, like.manifest().clone(), splits);
        let dataset = Dataset::open(&directory).unwrap();
        let settings = Settings { scaling: Scaling::Robust, steps: 1, ..train_settings(SHORT) };
        let listener = Listener::default();
        let model = train_heard(&settings, &dataset, &root.path().join(format!("{name}-model")), &listener).unwrap();
        (model.manifest.scales, listener.warnings())
    };
    let tame = splits(0.5, |sample| if sample % 9 == 0 { -2.0 } else { 7.0 });
    let (found, said) = scales("tame", &tame);
    let mut sorted: Vec<f64> = tame[0].1.iter().flat_map(|row| row.states.iter().step_by(2)).copied().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = |share: f64| sorted[(share * (sorted.len() - 1) as f64) as usize];
    assert!(sorted[0] < 0.0 && rank(1.0) > 0.0, "both signs");
    assert_eq!(found[0].centre, rank(0.5));
    assert_relative_eq!(found[0].scale, (rank(0.75) - rank(0.25)) / 1.349, max_relative = 1e-15);
    // Most values are the same: the quartiles coincide, and the deviation serves.
    let share = (0..sorted.len()).filter(|sample| sample % 9 == 0).count() as f64 / sorted.len() as f64;
    assert_eq!(found[1].centre, 7.0);
    assert_relative_eq!(found[1].scale, 9.0 * (share * (1.0 - share)).sqrt(), max_relative = 1e-12);
    assert_eq!(said, "");

    let (wild, said) = scales("wild", &splits(1e9, |_| 3.0));
    assert_relative_eq!(wild[0].centre, found[0].centre, max_relative = 0.05);
    assert_relative_eq!(wild[0].scale, found[0].scale, max_relative = 0.05);
    assert_eq!((wild[1].centre, wild[1].scale), (3.0, 1.0));
    assert!(said.contains("channel `y` has one value"), "{said}");
}

#[test]
fn a_channel_that_weighs_more_is_fitted_better_and_even_weights_change_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let with = |name: &str, weights: &str| {
        let settings =
            train_settings(&format!("weights = {{ {weights} }}\n{}", SHORT.replace("steps = 12", "steps = 60")));
        train(&settings, &dataset, &root.path().join(name)).unwrap()
    };
    let (without, even) = (with("without", ""), with("even", "x = 3, y = 3"));
    assert!(without.shared == even.shared && without.contexts == even.contexts);
    assert!(without.manifest.weights.is_empty() && even.manifest.weights == [1.0, 1.0]);
    let [of_x, of_y] = [with("x", "x = 50"), with("y", "y = 50")];
    assert_relative_eq!(of_x.manifest.weights[0], 2.0 * 50.0 / 51.0, max_relative = 1e-15);
    let read = paramill::checkpoint::StoredModel::read(&root.path().join("x")).unwrap();
    assert_eq!(read.manifest.weights, of_x.manifest.weights);
    // Mean squared errors are about those of the channel that counts.
    let channel = |model: &paramill::checkpoint::StoredModel, c: usize| {
        let engine = model.engine(super::NATIVE).unwrap().0;
        let mut squares = 0.0;
        for (e, trajectory) in dataset.read(Split::Train).unwrap().iter().step_by(2).enumerate() {
            let mut weights = vec![0.0; model.model().layout().size()];
            model.rule().decode(&model.shared, &model.contexts[2 * e..2 * e + 2], &mut weights);
            let segment =
                paramill::engine::Segment { times: &trajectory.times, states: &trajectory.states, inputs: &[] };
            let batch = paramill::engine::Batch::new(2, &[], &[vec![segment]], (0, 0));
            let predicted = engine.predict(&weights, &batch);
            let residuals = predicted.iter().zip(&batch.targets).skip(c).step_by(2);
            squares += residuals.map(|(z, y)| (z - y).powi(2)).sum::<f64>();
        }
        squares
    };
    assert!(channel(&of_x, 0) < 0.8 * channel(&of_y, 0), "{} {}", channel(&of_x, 0), channel(&of_y, 0));
    assert!(channel(&of_y, 1) < 0.8 * channel(&of_x, 1), "{} {}", channel(&of_y, 1), channel(&of_x, 1));
}

#[test]
fn weights_of_unknown_channels_are_refused_with_all_problems() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), &FOUR_PAIRS.replace("lotka-volterra", "glycolytic-oscillator"));
    let settings = train_settings(&format!("weights = {{ S11 = 2, S2 = 0, S3 = 1 }}\n{SHORT}"));
    let refused = *train(&settings, &dataset, &root.path().join("model")).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Settings(_)));
    let text = refused.to_string();
    for part in ["train.weights.S11: found `S11`", "did you mean `S1`?", "train.weights.S2: found 0; expected a number"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!root.path().join("model").exists());
}

#[test]
fn unscaled_channels_far_from_one_are_named() {
    let root = tempfile::tempdir().unwrap();
    let like = generate(root.path(), FOUR_PAIRS);
    let splits = [Split::Train, Split::Validation].map(|split| {
        let mut rows = like.read(split).unwrap();
        rows.iter_mut().flat_map(|row| row.states.iter_mut().step_by(2)).for_each(|x| *x *= 1e3);
        (split, rows)
    });
    write(&root.path().join("large"), like.manifest().clone(), &splits);
    let dataset = Dataset::open(&root.path().join("large")).unwrap();
    for (scaling, warned) in [(Scaling::None, true), (Scaling::Standard, false)] {
        let settings = Settings { scaling, steps: 1, ..train_settings(SHORT) };
        let listener = Listener::default();
        let _ = train_heard(&settings, &dataset, &root.path().join(format!("model-{warned}")), &listener);
        let warnings = listener.warnings();
        assert_eq!(warnings.contains("channel `x` has values of the size"), warned, "{warnings}");
        assert!(!warnings.contains("channel `y`"), "{warnings}");
    }
}
