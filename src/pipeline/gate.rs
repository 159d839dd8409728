//! The gate of `[promote]`: whether the model of a run comes into use.

use super::audit::{Act, AuditEntry, Figures, Verdict, append, audit};
use super::clock::now;
use super::error::Error;
use super::plan::Plan;
use super::settings::PromoteSettings;
use super::trained_on;
use super::versions::{Cause, Version, add, point, retain, versions};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::digest::sha256;
use crate::engine::Compute;
use crate::estimate::{self, HeldOut, held_out};
use crate::problems::listing;
use crate::progress::{Event, Run};
use crate::schema::Split;

/// The test split of tonight, by content.
struct HeldOutSet {
    /// `environment/trajectory` and digest, in stored order.
    trajectories: Vec<(String, String)>,
    /// Over all of them.
    sha256: String,
}

/// Keeps the model that the stages left as a version, and puts it in use if it is good enough on the held-out set beside the one that is.
/// Otherwise returns the line of the audit that says why not. The caller holds the workspace and the dataset.
///
/// # Errors
/// If something cannot be read or written, or at a request to stop.
pub(crate) fn promote_or_reject(
    plan: &Plan,
    settings: &PromoteSettings,
    compute: Compute,
    run: &Run<'_>,
) -> Result<Option<AuditEntry>, Error> {
    let (candidate, _) = add(plan)?;
    let rejected = judge(plan, settings, &candidate, compute, run)?;
    retain(plan, plan.run.models)?;
    Ok(rejected)
}

fn judge(
    plan: &Plan,
    settings: &PromoteSettings,
    candidate: &Version,
    compute: Compute,
    run: &Run<'_>,
) -> Result<Option<AuditEntry>, Error> {
    let put_in_use = |why: &str, gate: Option<Verdict>| {
        point(plan, candidate, Cause { act: Act::Run, why: why.to_owned(), forced: false, gate })?;
        run.emit(Event::Note(format!("the model is version {}, which is in use now: {why}", candidate.name)));
        Ok(None)
    };
    let Some(current) = versions(plan).into_iter().find(|version| version.current) else {
        return put_in_use("the first model", None);
    };
    let entries = audit(plan);
    let last = entries.iter().rfind(|entry| matches!(entry.act, Act::Run | Act::Rejected));
    // It was in use once, and a user moved the alias away from it.
    let was_in_use = last.is_some_and(|entry| entry.act == Act::Run && entry.to == candidate.name);
    if current.name == candidate.name || was_in_use {
        return Ok(None);
    }
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let set = held_out_set(&dataset)?;
    let is_same = |entry: &&AuditEntry| {
        let same_models = entry.to == candidate.name && entry.from.as_ref() == Some(&current.name);
        let same_gate = entry.gate.as_ref().is_some_and(|it| it.sha256 == set.sha256 && it.settings == *settings);
        entry.act == Act::Rejected && same_models && same_gate
    };
    let entry = match entries.iter().rfind(is_same) {
        Some(entry) => entry.clone(),
        None => {
            let verdict = verdict(plan, settings, (candidate, &current), (&dataset, &set), compute, run)?;
            if verdict.reasons.is_empty() {
                return put_in_use("the stages gave a model that the gate lets through", Some(verdict));
            }
            let entry = AuditEntry {
                time: now(),
                act: Act::Rejected,
                from: Some(current.name.clone()),
                to: candidate.name.clone(),
                why: verdict.reasons.join("; "),
                forced: false,
                process: std::process::id(),
                gate: Some(verdict),
            };
            append(&plan.versions_directory(), &entry)?;
            entry
        }
    };
    let (kept, why) = (&current.name, &entry.why);
    run.emit(Event::Warn(format!(
        "the model, version {}, is not good enough: {why}; {kept} stays in use",
        candidate.name
    )));
    Ok(Some(entry))
}

fn held_out_set(dataset: &Dataset) -> Result<HeldOutSet, Error> {
    let trajectories = trained_on::trajectories(dataset, Split::Test)?;
    let lines: String = trajectories.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    Ok(HeldOutSet { sha256: sha256(lines.as_bytes()), trajectories })
}

fn verdict(
    plan: &Plan,
    settings: &PromoteSettings,
    (candidate, current): (&Version, &Version),
    (dataset, set): (&Dataset, &HeldOutSet),
    compute: Compute,
    run: &Run<'_>,
) -> Result<Verdict, Error> {
    let mut verdict = Verdict {
        sha256: set.sha256.clone(),
        trajectories: set.trajectories.len(),
        environments: 0,
        candidate: Figures::default(),
        current: Figures::default(),
        settings: settings.clone(),
        reasons: Vec::new(),
    };
    for (version, which) in [(candidate, "the new model"), (current, "the model in use")] {
        match trained_on::of_version(&version.directory) {
            None => verdict.reasons.push(format!("it is not known what {which} was trained on")),
            Some(digests) => {
                let of_training = set.trajectories.iter().filter(|(_, digest)| digests.contains(digest));
                let named: Vec<&str> = of_training.map(|(name, _)| name.as_str()).collect();
                if !named.is_empty() {
                    verdict.reasons.push(format!("{which} was trained on held-out trajectories: {}", listing(&named)));
                }
            }
        }
    }
    if !verdict.reasons.is_empty() {
        return Ok(verdict);
    }
    let of_estimates = plan.estimate.clone().unwrap_or_default();
    let fared = |version: &Version| {
        let model = StoredModel::read(&version.directory).map_err(estimate::Error::from)?;
        held_out(&of_estimates, compute, dataset, &model, run)
    };
    let of_candidate = fared(candidate)?;
    let of_current = match fared(current) {
        Err(error @ estimate::Error::OtherQuantities { .. }) => {
            verdict.reasons.push(format!("the two cannot be compared ({error})"));
            return Ok(verdict);
        }
        fared => fared?,
    };
    compare(&mut verdict, &of_candidate, &of_current);
    Ok(verdict)
}

/// Fills in the figures of both models over the environments of the set, which both have in the same order, and what speaks against the first.
fn compare(verdict: &mut Verdict, of_candidate: &[HeldOut], of_current: &[HeldOut]) {
    let total = of_candidate.len().max(1) as f64;
    let failed = |all: &[HeldOut]| all.iter().filter(|it| it.failed).count() as f64 / total;
    let both = || of_candidate.iter().zip(of_current).filter(|(a, b)| !a.failed && !b.failed);
    let errors = |of: fn(&HeldOut) -> Option<f64>| -> Option<[f64; 2]> {
        let pairs: Vec<(f64, f64)> = both().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect();
        let mean = |sum: f64| sum / pairs.len() as f64;
        let sums = [pairs.iter().map(|pair| pair.0).sum::<f64>(), pairs.iter().map(|pair| pair.1).sum::<f64>()];
        (!pairs.is_empty()).then(|| sums.map(mean))
    };
    let (squared, parameters) = (errors(|it| it.squared_error), errors(|it| it.parameter_error));
    let share = |all: &[HeldOut], of: fn(&HeldOut) -> [usize; 2]| {
        let counts = all.iter().filter(|it| !it.failed).map(of);
        let [held, all] = counts.fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
        (all > 0).then(|| held as f64 / all as f64)
    };
    let figures = |all: &[HeldOut], which: usize| Figures {
        failed: failed(all),
        coverage: share(all, |it| it.covered),
        forecast_coverage: share(all, |it| it.in_bands),
        squared_error: squared.map(|it| it[which]),
        parameter_error: parameters.map(|it| it[which]),
    };
    (verdict.candidate, verdict.current) = (figures(of_candidate, 0), figures(of_current, 1));
    verdict.environments = of_candidate.len();
    let PromoteSettings { margin, most_failed, parameter_margin, coverage, forecast_coverage } = verdict.settings;
    let (new, old) = (verdict.candidate.failed, verdict.current.failed);
    let mut reasons = Vec::new();
    if new > old + most_failed {
        let (new, old) = (100.0 * new, 100.0 * old);
        reasons.push(format!("{new:.2} % of the environments failed, {old:.2} % by the model in use"));
    }
    let compared = [("mean squared error", squared, margin), ("error of parameters", parameters, parameter_margin)];
    for (what, errors, margin) in compared {
        if let Some([new, old]) = errors.filter(|[new, old]| *new > old * (1.0 + margin)) {
            reasons.push(format!("its {what} is {new:.4e}, that of the model in use {old:.4e}"));
        }
    }
    let limits = [
        ("known parameters", coverage, verdict.candidate.coverage),
        ("values of held-out trajectories", forecast_coverage, verdict.candidate.forecast_coverage),
    ];
    for (what, limits, share) in limits {
        let Some([least, greatest]) = limits else { continue };
        let limits = format!("between {:.2} and {:.2} % is asked for", 100.0 * least, 100.0 * greatest);
        match share {
            None => reasons.push(format!(
                "it is not known how many of the {what} its 95 % intervals hold: there are none, and {limits}"
            )),
            Some(share) if !(least..=greatest).contains(&share) => {
                reasons.push(format!("its 95 % intervals hold {:.2} % of the {what}, and {limits}", 100.0 * share));
            }
            Some(_) => {}
        }
    }
    // Where the model in use has none, any is better.
    if !of_candidate.iter().any(|it| !it.failed && it.squared_error.is_some()) {
        reasons.push("it has no error on held-out trajectories: it failed on every environment".to_owned());
    }
    if of_candidate.iter().all(|it| it.parameter_error.is_none())
        && of_current.iter().any(|it| it.parameter_error.is_some())
    {
        reasons.push("it gives no parameters, and the model in use does".to_owned());
    }
    verdict.reasons = reasons;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fared(errors: &[Option<(f64, f64)>]) -> Vec<HeldOut> {
        let one = |errors: &Option<(f64, f64)>| HeldOut {
            environment: String::new(),
            failed: errors.is_none(),
            squared_error: errors.map(|it| it.0),
            parameter_error: errors.map(|it| it.1),
            covered: [0, 0],
            in_bands: [0, 0],
        };
        errors.iter().map(one).collect()
    }

    fn judged(settings: PromoteSettings, new: &[Option<(f64, f64)>], old: &[Option<(f64, f64)>]) -> Verdict {
        let mut verdict = Verdict {
            sha256: String::new(),
            trajectories: 0,
            environments: 0,
            candidate: Figures::default(),
            current: Figures::default(),
            settings,
            reasons: Vec::new(),
        };
        compare(&mut verdict, &fared(new), &fared(old));
        verdict
    }

    #[test]
    fn a_model_may_be_worse_by_the_margins_and_no_more() {
        let settings =
            PromoteSettings { margin: 0.1, most_failed: 0.25, parameter_margin: 0.5, ..PromoteSettings::default() };
        let good = Some((1.0, 4.0));
        let within = judged(settings.clone(), &[Some((1.1, 6.0)), good], &[good, good]);
        assert_eq!(within.reasons, [""; 0]);
        assert_eq!((within.candidate.squared_error, within.candidate.parameter_error), (Some(1.05), Some(5.0)));
        let beyond = judged(settings.clone(), &[Some((1.3, 9.0)), good], &[good, good]);
        let expected = [
            "its mean squared error is 1.1500e0, that of the model in use 1.0000e0",
            "its error of parameters is 6.5000e0, that of the model in use 4.0000e0",
        ];
        assert_eq!(beyond.reasons, expected);
        // An environment that one of them fails on says nothing of the errors of both.
        let failed = judged(settings.clone(), &[None, good, good, good], &[Some((9.0, 9.0)), good, good, good]);
        assert_eq!((failed.reasons.len(), failed.current.squared_error), (0, Some(1.0)));
        let failed = judged(settings.clone(), &[None, None, good, good], &[good, good, good, good]);
        assert_eq!(failed.reasons, ["50.00 % of the environments failed, 0.00 % by the model in use"]);
        let nothing = judged(settings.clone(), &[None], &[None]);
        assert_eq!(nothing.reasons, ["it has no error on held-out trajectories: it failed on every environment"]);
        let first_good = judged(settings, &[good], &[None]);
        assert_eq!((first_good.reasons.len(), first_good.current.failed), (0, 1.0));
    }
    #[test]
    fn a_model_whose_intervals_hold_too_little_or_too_much_is_not_let_through() {
        let counted = |covered: [usize; 2], in_bands: [usize; 2]| {
            let mut all = fared(&[Some((1.0, 1.0)), Some((1.0, 1.0)), None]);
            all.iter_mut().for_each(|it| (it.covered, it.in_bands) = (covered, in_bands));
            all
        };
        let judged = |settings: &PromoteSettings, all: &[HeldOut]| {
            let mut verdict = judged(settings.clone(), &[], &[]);
            compare(&mut verdict, all, all);
            verdict
        };
        let settings = PromoteSettings { coverage: Some([0.85, 0.99]), ..PromoteSettings::default() };
        // The environment that failed has no say.
        let good = judged(&settings, &counted([9, 10], [40, 50]));
        assert_eq!(
            (good.reasons.len(), good.candidate.coverage, good.candidate.forecast_coverage),
            (0, Some(0.9), Some(0.8))
        );
        let expected = |share: &str| {
            format!(
                "its 95 % intervals hold {share} % of the known parameters, and between 85.00 and 99.00 % is asked for"
            )
        };
        assert_eq!(judged(&settings, &counted([8, 10], [1, 1])).reasons, [expected("80.00")]);
        assert_eq!(judged(&settings, &counted([10, 10], [1, 1])).reasons, [expected("100.00")]);
        let unknown = judged(&settings, &counted([0, 0], [1, 1])).reasons;
        assert!(unknown.len() == 1 && unknown[0].starts_with("it is not known how many of the known parameters"));
        let of_forecasts = PromoteSettings { forecast_coverage: Some([0.9, 1.0]), ..PromoteSettings::default() };
        let reasons = judged(&of_forecasts, &counted([0, 0], [40, 50])).reasons;
        assert!(
            reasons.len() == 1 && reasons[0].contains("80.00 % of the values of held-out trajectories"),
            "{reasons:?}"
        );
        assert_eq!(judged(&of_forecasts, &counted([0, 0], [48, 50])).reasons, [""; 0]);
        assert_eq!(judged(&PromoteSettings::default(), &counted([0, 10], [0, 50])).reasons, [""; 0]);
    }
}
