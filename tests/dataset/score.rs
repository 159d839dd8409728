//! Predictions of fields, in the layout of the dataset's own files.

use std::fs;
use std::path::Path;

use hdf5_metno as hdf5;
use paramill::dataset::Dataset;
use paramill::schema::Split;
use paramill::score::{Scored, score};

use super::common::{fields, write};

/// Changes the values of a channel of a file.
fn changed(path: &Path, channel: &str, change: impl Fn(usize, f64) -> f64) {
    let file = hdf5::File::open_rw(path).unwrap();
    let variable = file.dataset(channel).unwrap();
    let values: Vec<f64> = variable.read_raw().unwrap();
    let values: Vec<f64> = values.into_iter().enumerate().map(|(at, value)| change(at, value)).collect();
    variable.as_writer().write_raw(&values).unwrap();
}

#[test]
fn predictions_of_fields_are_scored_but_for_the_samples_that_they_start_from() {
    for own_times in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let (manifest, rows) = fields(3, own_times);
        let directory = place.path().join("fields");
        write(&directory, manifest, &[(Split::Test, rows.clone()), (Split::AdaptTest, rows)]);
        let dataset = Dataset::open(&directory).unwrap();
        let predictions = place.path().join("predictions");
        fs::create_dir(&predictions).unwrap();
        let scored = || -> Scored { score(&dataset, &predictions).unwrap() };
        assert_eq!((scored().tables, scored().score.mse_in_domain), (0, None));

        let [test, adapt_test] = ["test.h5", "adapt_test.h5"].map(|name| predictions.join(name));
        for path in [&test, &adapt_test] {
            fs::copy(directory.join("hdf5").join(path.file_name().unwrap()), path).unwrap();
        }
        let exact = scored();
        assert_eq!((exact.score.mse_in_domain, exact.score.mse_adaptation), (Some(0.0), Some(0.0)));
        assert!(exact.problems.is_empty() && exact.not_read.is_empty() && exact.tables == 2);

        // One of two channels, on every sample, that of the start included.
        changed(&test, "x", |_, value| value + 0.5);
        let off = scored().score.mse_in_domain.unwrap();
        approx::assert_relative_eq!(off, 0.125, max_relative = 1e-12);

        changed(&test, "x", |at, value| if at % 12 == 5 { f64::NAN } else { value });
        let lacks = scored();
        assert_eq!((lacks.score.mse_in_domain, lacks.score.mse_adaptation), (None, Some(0.0)));
        let said = lacks.problems[0].to_string();
        assert!(said.contains("test.h5") && said.contains("no numbers") && said.contains("environment"), "{said}");

        changed(&adapt_test, "time", |at, value| value + if at == 1 { 0.01 } else { 0.0 });
        let other = scored();
        assert!(other.score.mse_adaptation.is_none());
        assert!(other.problems.iter().any(|it| it.to_string().contains("other times")), "{:?}", other.problems);

        fs::write(&test, "no HDF5").unwrap();
        let said = score(&dataset, &predictions).err().unwrap().to_string();
        assert!(said.contains("test.h5"), "{said}");
    }
}
