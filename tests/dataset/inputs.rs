//! Inputs: known signals beside the states, finite at every sample, even at one where nothing is observed.

use std::fs;

use paramill::dataset::{self, Dataset, ExportFormat, Writer, diff, survey, verify};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::{Between, Split, Trajectory};

use super::combine::export_csv;
use super::common::{driven, fields, manifest, ragged, shared_grid, with_inputs, write};
use super::{conforms, files};

#[test]
fn inputs_come_back_from_both_stores() {
    conforms(with_inputs(manifest()), &driven(shared_grid(7)));
    conforms(with_inputs(manifest()), &driven(ragged()));
    for own_times in [false, true] {
        let (manifest, rows) = fields(5, own_times);
        conforms(with_inputs(manifest), &driven(rows));
    }
}

#[test]
fn a_sample_may_have_inputs_alone() {
    let mut rows = driven(shared_grid(3));
    rows.iter_mut().for_each(|row| row.states[4..6].fill(f64::NAN));
    conforms(with_inputs(manifest()), &rows);
}

#[test]
fn inputs_that_break_a_rule_are_refused_and_change_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&root.path().join("set"), with_inputs(manifest())).unwrap();
    let good = &driven(shared_grid(1))[0];
    let missing = Trajectory { inputs: vec![f64::NAN; good.inputs.len()], ..good.clone() };
    for (bad, part) in [
        (missing, "input `valve` is NaN at sample 0 (and at 4 more); expected finite numbers"),
        (Trajectory { inputs: Vec::new(), ..good.clone() }, "0 input values; expected 10 (5 samples of 2 inputs)"),
    ] {
        let error = writer.write(Split::Train, &bad).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    writer.write(Split::Train, good).unwrap();
    writer.finish().unwrap();
    write(&root.path().join("other"), with_inputs(manifest()), &[(Split::Train, vec![good.clone()])]);
    assert!(files(&root.path().join("set")) == files(&root.path().join("other")));

    let mut colliding = with_inputs(manifest());
    colliding.inputs[0].quantity.name = "x".to_owned();
    colliding.inputs[1].quantity.name = "time".to_owned();
    let error = Writer::create(&root.path().join("third"), colliding).err().unwrap().to_string();
    assert!(error.contains("input `x` collides with another quantity, the channel `x`"), "{error}");
    assert!(error.contains("input `time` collides with a name that the format uses itself"), "{error}");
}

#[test]
fn other_inputs_are_another_dataset() {
    let root = tempfile::tempdir().unwrap();
    let rows = driven(shared_grid(2));
    let mut moved = rows.clone();
    moved[3].inputs[1] += 1.0;
    let put = |name: &str, manifest, rows: &[Trajectory]| {
        write(&root.path().join(name), manifest, &[(Split::Train, rows.to_vec())]);
        Dataset::open(&root.path().join(name)).unwrap()
    };
    let a = put("a", with_inputs(manifest()), &rows);
    let b = put("b", with_inputs(manifest()), &moved);
    let difference = diff(&a, &b).unwrap();
    assert_eq!(difference.manifest, []);
    assert_eq!(difference.splits[&Split::Train].inputs, ["environment-01/1"]);
    assert!(difference.splits[&Split::Train].states.is_empty());

    let mut held = with_inputs(manifest());
    held.inputs[1].between = Between::Hold;
    moved.iter_mut().for_each(|row| row.trajectory += "b");
    let c = put("c", held, &moved);
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let error = dataset::merge(&[a, c], &root.path().join("all"), &run).unwrap_err().to_string();
    assert!(error.contains("`inputs.1.between` is \"hold\"; expected \"linear\""), "{error}");
}

#[test]
fn the_same_states_under_other_inputs_are_no_repetition() {
    let root = tempfile::tempdir().unwrap();
    let rows = driven(shared_grid(2));
    let mut others = rows.clone();
    others.iter_mut().flat_map(|row| &mut row.inputs).for_each(|value| *value += 0.5);
    for (name, others, repeated) in [("same", rows.clone(), true), ("other", others, false)] {
        let directory = root.path().join(name);
        write(&directory, with_inputs(manifest()), &[(Split::Train, rows.clone()), (Split::Test, others)]);
        assert_eq!(verify(&directory).iter().any(|problem| problem.contains("has the samples of")), repeated);
    }
}

#[test]
fn inputs_are_surveyed_described_and_exported() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let rows = driven(shared_grid(1));
    write(&directory, with_inputs(manifest()), &[(Split::Train, rows.clone())]);
    let dataset = Dataset::open(&directory).unwrap();
    let of_inputs = &survey(&dataset).unwrap()[&Split::Train].inputs;
    assert_eq!((of_inputs[0].least, of_inputs[0].greatest), (Some(0.0), Some(0.0)));
    let currents = || rows.iter().flat_map(|row| row.inputs.iter().copied().skip(1).step_by(2));
    assert_eq!(of_inputs[1].greatest, currents().reduce(f64::max));
    let card = fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(card.contains("## Inputs\n") && card.contains("| `valve` | 1 | `hold` | Known |"), "{card}");
    let croissant = fs::read_to_string(directory.join("croissant.json")).unwrap();
    assert!(croissant.contains("Known (input, on straight lines between samples) (unit: A)"));

    export_csv(&dataset, &root.path().join("csv")).unwrap();
    let text = fs::read_to_string(root.path().join("csv/train.csv")).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with(",time,x,y,valve,current"), "{text}");
    let first = lines.next().unwrap();
    assert!(first.ends_with(&format!(",-0.0,{:?}", rows[0].inputs[1])), "{first}");

    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let place = root.path().join("pdebench");
    let error =
        dataset::export(&dataset, ExportFormat::named("pdebench").unwrap(), &place, &run).unwrap_err().to_string();
    assert!(error.contains("the input `valve`; expected no inputs, for which the layout has no place"), "{error}");
    assert!(!place.exists());
}
