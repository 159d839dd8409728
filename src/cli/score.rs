//! `paramill score`.

use serde_json::json;

use super::kinds::{A_DATASET, Wanted, lead_to};
use super::output::{complain, number, print, print_json, table};
use super::score_arguments;
use crate::dataset::Dataset;
use crate::pipeline::Error;
use crate::problems::many;
use crate::score::{Score, Scored, score as scored};

/// Exit code if something is missing or wrong.
const INCOMPLETE: u8 = 3;

/// `paramill score`: the figures of someone's predictions.
pub(crate) fn score(command: &score_arguments::Score) -> Result<u8, Error> {
    let predictions = (Wanted::Folder, "the directory of the predictions");
    lead_to([(command.dataset.as_path(), A_DATASET), (&command.predictions, predictions)])?;
    let dataset = Dataset::open(&command.dataset)?;
    let Scored { score, problems, not_read, tables } = scored(&dataset, &command.predictions)?;
    if tables == 0 && problems.is_empty() {
        return Err(Error::Usage(format!(
            "{}: found no table of predictions; expected test, adapt_test, parameters_grid or parameters_adapt, each as .csv or .parquet, or of \
             fields test.h5 and adapt_test.h5; see `paramill help score`",
            command.predictions.display()
        )));
    }
    if command.json {
        print_json(&json!({ "score": score, "problems": problems, "not_read": not_read }));
    } else {
        print(&figures(&score));
        not_read.iter().for_each(|name| complain(&format!("warning: {name} is no table of predictions, and not read")));
        problems.iter().for_each(|problem| complain(&problem.to_string()));
        if !problems.is_empty() {
            complain(&format!("error: {}", many(problems.len() as u64, "problem")));
        }
    }
    Ok(if problems.is_empty() { 0 } else { INCOMPLETE })
}

/// The figures, one a line.
fn figures(score: &Score) -> String {
    let of_parameters = score.parameter_split.map_or_else(String::new, |split| split.to_string());
    let in_hull = |count: Option<usize>| {
        count.map_or_else(String::new, |count| format!(", {}", many(count as u64, "environment")))
    };
    let lines = [
        ("mse_in_domain", score.mse_in_domain, "test".to_owned()),
        ("mape_in_domain", score.mape_in_domain, "test".to_owned()),
        ("mse_adaptation", score.mse_adaptation, "adapt_test".to_owned()),
        (
            "param_mape_in_hull",
            score.param_mape_in_hull,
            format!("{of_parameters}{}", in_hull(score.environments_in_hull)),
        ),
        (
            "param_mape_out_of_hull",
            score.param_mape_out_of_hull,
            format!("{of_parameters}{}", in_hull(score.environments_out_of_hull)),
        ),
        ("param_mape_overall", score.param_mape_overall, of_parameters.clone()),
    ];
    let mut rows = vec![["figure", "value", "on"].map(str::to_owned).to_vec()];
    rows.extend(lines.map(|(name, value, on)| {
        vec![name.to_owned(), value.map_or("-".to_owned(), number), if value.is_some() { on } else { String::new() }]
    }));
    format!("{}\n\n{}", score.dataset, table(&rows))
}
