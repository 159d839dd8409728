//! A run as metrics: a text file for the textfile collector of Prometheus' node exporter.
//!
//! Times are seconds since 1970, as is the custom: the age of a stage is `time() - paramill_stage_made_timestamp_seconds`.

use std::fmt::Write;
use std::time::UNIX_EPOCH;

use super::clock::seconds;
use super::plan::Plan;
use super::record::Record;
use super::run_record::RunRecord;

/// A metric with its samples: labels behind `pipeline`, and values.
struct Metric {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, f64)>,
}

/// The file's text after the run of `record`.
pub(crate) fn text(plan: &Plan, record: &RunRecord) -> String {
    let one = |value: Option<f64>| value.map(|value| (Vec::new(), value)).into_iter().collect::<Vec<_>>();
    let succeeded = |record: &RunRecord| (record.exit_code == 0).then(|| seconds(&record.ended)).flatten();
    let last_success = succeeded(record).or_else(|| RunRecord::all(plan).find_map(|record| succeeded(&record)));
    let stages = plan.stages().into_iter().filter(|&stage| plan.needs(stage)).filter_map(|stage| {
        let path = plan.record_path(stage);
        let made = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        Some((vec![("stage", stage.to_string())], made, Record::read(&path)?.seconds))
    });
    let stages: Vec<_> = stages.collect();
    // A run that failed before it estimated says nothing of environments.
    let counted = |count: usize| one(Some(count as f64).filter(|_| record.error.is_none()));
    let metrics = [
        Metric {
            name: "paramill_run_end_timestamp_seconds",
            help: "When the last run ended.",
            samples: one(seconds(&record.ended)),
        },
        Metric {
            name: "paramill_run_success_timestamp_seconds",
            help: "When the last run with exit code 0 ended.",
            samples: one(last_success),
        },
        Metric {
            name: "paramill_run_duration_seconds",
            help: "Wall time of the last run.",
            samples: one(Some(record.seconds)),
        },
        Metric {
            name: "paramill_run_exit_code",
            help: "Exit code of the last run.",
            samples: one(Some(f64::from(record.exit_code))),
        },
        Metric {
            name: "paramill_run_warnings",
            help: "Warnings of the last run.",
            samples: one(Some(record.warnings.len() as f64)),
        },
        Metric {
            name: "paramill_data_written_timestamp_seconds",
            help: "When the newest file of the archive was written.",
            samples: one(record.data_written.as_deref().and_then(seconds)),
        },
        Metric {
            name: "paramill_stage_made_timestamp_seconds",
            help: "When the product of a stage was made or adopted.",
            samples: stages.iter().map(|(labels, made, _)| (labels.clone(), *made)).collect(),
        },
        Metric {
            name: "paramill_stage_duration_seconds",
            help: "Wall time of the run of a stage that made its product.",
            samples: stages.iter().map(|(labels, _, seconds)| (labels.clone(), *seconds)).collect(),
        },
        Metric {
            name: "paramill_environments",
            help: "Estimated environments.",
            samples: counted(record.environments),
        },
        Metric {
            name: "paramill_environments_failed",
            help: "Environments whose status is a failure.",
            samples: counted(record.environments_failed),
        },
        Metric {
            name: "paramill_environments_by_status",
            help: "Environments of each status that occurs.",
            samples: record
                .statuses
                .iter()
                .map(|(status, count)| (vec![("status", status.name().to_owned())], *count as f64))
                .collect(),
        },
        Metric {
            name: "paramill_figure",
            help: "Figures of the report's summary.",
            samples: record.figures.iter().map(|(name, value)| (vec![("figure", name.clone())], *value)).collect(),
        },
    ];
    let mut text = String::new();
    for Metric { name, help, samples } in metrics.iter().filter(|metric| !metric.samples.is_empty()) {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in samples {
            let labels = [("pipeline", record.pipeline.clone())].into_iter().chain(labels.iter().cloned());
            let labels: Vec<String> = labels.map(|(key, value)| format!("{key}=\"{}\"", escaped(&value))).collect();
            let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
        }
    }
    text
}

/// The value of a label between its quotation marks.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_escaped_as_the_exposition_format_has_it() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
