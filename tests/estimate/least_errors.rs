//! Cramér-Rao bounds beside learned estimates.

use approx::assert_relative_eq;
use paramill::dataset::Dataset;
use paramill::estimate::{self, Error, Row, Settings, read_rows};
use paramill::schema::Split;

use super::model::{NATIVE, generate, silently};
use super::{NINE_PAIRS, TRAINED};

fn learned(settings: &str, dataset: &Dataset) -> Result<(Vec<Row>, estimate::Evaluation), Error> {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("estimates");
    let settings: Settings = toml::from_str(settings).unwrap();
    let outcome = silently(|run| estimate::run(&settings, NATIVE, dataset, &TRAINED.model, &directory, run))?;
    Ok((read_rows(&directory, &outcome.manifest, Split::Grid)?, outcome.manifest.evaluation))
}

const NAMED: &str = "initial_state = \"estimated\"\nphysics = { system = \"lotka-volterra\" }";

#[test]
fn learned_estimates_stand_beside_the_bounds_of_the_equations_that_are_named() {
    let root = tempfile::tempdir().unwrap();
    let noise = "[observation]\nnoise = 0.1\nsplits = [\"grid\"]";
    let dataset = generate(root.path(), &format!("{NINE_PAIRS}\n{noise}"));
    let (rows, evaluation) = learned(NAMED, &dataset).unwrap();
    let of_physics = {
        let directory = root.path().join("physics");
        let settings: Settings = toml::from_str("method = \"physics\"").unwrap();
        let made = silently(|run| estimate::physics::run(&settings, &dataset, &directory, run)).unwrap();
        read_rows(&directory, &made.manifest, Split::Grid).unwrap()
    };
    for (learned, physics) in rows.iter().zip(&of_physics).filter(|(row, _)| row.in_hull == Some(true)) {
        for (learned, physics) in learned.parameters.iter().zip(&physics.parameters) {
            // Both at the true parameters, from initial states that each has fitted.
            assert_relative_eq!(learned.crlb.unwrap(), physics.crlb.unwrap(), max_relative = 0.15);
        }
    }
    let over = evaluation.error_over_bound_in_hull.unwrap();
    assert!((0.5..2.0).contains(&over), "{over}");
    let (without, evaluation) = learned("initial_state = \"estimated\"", &dataset).unwrap();
    assert!(without.iter().flat_map(|row| &row.parameters).all(|it| it.crlb.is_none()));
    assert_eq!(evaluation.error_over_bound_overall, None);

    // Of data that nobody simulated, by the noise and at the parameters that were estimated.
    let mut measured = dataset.manifest().clone();
    measured.provenance.stage = "import".to_owned();
    let mut trajectories = dataset.read(Split::Grid).unwrap();
    trajectories.iter_mut().for_each(|it| it.parameters.fill(None));
    let measured = super::grid(root.path(), "measured", &measured, trajectories);
    let (found, _) = learned(NAMED, &measured).unwrap();
    for (measured, known) in found.iter().zip(&rows).filter(|(_, row)| row.in_hull == Some(true)) {
        for (measured, known) in measured.parameters.iter().zip(&known.parameters) {
            let ratio = measured.crlb.unwrap() / known.crlb.unwrap();
            assert!((0.4..2.5).contains(&ratio), "{measured:?} {known:?}");
        }
    }
    let other = learned("physics = { system = \"glycolytic-oscillator\" }", &dataset).map(|_| ()).unwrap_err();
    assert!(matches!(other, Error::Physics(_)), "{other}");
}
