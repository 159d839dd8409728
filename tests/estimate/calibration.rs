//! Whether held-out values lie in the bands that are foretold of them, where the noise is known.

use super::*;

/// The same nine pairs with noise on every sample, and many held-out trajectories.
const NOISY: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    trajectories = 4
    [splits.test]
    environments = "train"
    trajectories = 24
    [observation]
    noise = 0.03
    splits = ["train", "test"]
"#;

/// Of a model whose own error is small beside the noise, 95 % bands hold 95 % of the values. Those of a trajectory hang together by the error of
/// its start, so 216 trajectories tell the share to about two hundredths.
#[test]
fn bands_hold_as_many_held_out_values_as_they_say() {
    let Trained { model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let noisy = generate(root.path(), NOISY);
    let all = silently(|run| estimate::held_out(&Settings::default(), NATIVE, &noisy, model, run)).unwrap();
    assert_eq!(all.len(), 9);
    let [held, known] = all.iter().fold([0, 0], |sum, it| [sum[0] + it.in_bands[0], sum[1] + it.in_bands[1]]);
    let share = held as f64 / known as f64;
    assert!(known > 216 * 2 * 10 && (0.91..0.985).contains(&share), "{held} of {known}: {share}");
    let parameters: usize = all.iter().map(|it| it.covered[1]).sum();
    assert!(parameters == 18 && all.iter().all(|it| it.covered[0] <= it.covered[1]), "{all:?}");
}
