//! Columns that a mapping leaves out, and what they may be.

use super::doses::Doses;
use super::names::{OF_DOSES, UNITS};
use super::profile::{Elsewhere, Profile, ROWS, are_kept};
use super::rows::{determine, distinct};
use super::stacked::Stacked;
use super::unassigned::first_cells;

/// Which columns keep their value within an environment, or within a trajectory.
pub(crate) struct Constancy<'r, 'a> {
    pub profiles: &'a [Profile],
    pub environment: &'r [&'a Profile],
    pub trajectory: Option<&'a Profile>,
    pub rows: &'r [usize],
}

impl<'a> Constancy<'_, 'a> {
    fn keeps(&self, ids: &[&Profile], profile: &Profile) -> bool {
        let most = ids.iter().map(|id| id.changes).sum();
        // If not all rows were kept, a column may change later.
        !ids.is_empty() && determine(ids, profile, self.rows) && (are_kept(self.profiles) || profile.changes <= most)
    }

    fn ids(&self) -> Vec<&'a Profile> {
        self.environment.iter().copied().chain(self.trajectory).collect()
    }

    /// Whether a column is the same within an environment.
    pub(super) fn is_covariate(&self, profile: &Profile) -> bool {
        self.keeps(self.environment, profile)
    }

    /// Whether a column is the same within a trajectory, where a column tells trajectories apart.
    pub(super) fn is_setting(&self, profile: &Profile) -> bool {
        self.trajectory.is_some() && self.keeps(&self.ids(), profile)
    }
}

/// Whether a column has numbers that vary.
pub(crate) fn is_channel(profile: &Profile, rows: &[usize]) -> bool {
    let varies = profile.values.len() > 1 && distinct(profile, rows) > 1;
    profile.is_number() && (varies || profile.elsewhere == Elsewhere::Varies)
}

/// Columns of doses that the mapping does not name.
pub(crate) fn unread_columns<'a, 'd>(doses: &'d Doses<'a>) -> impl Iterator<Item = &'a Profile> + use<'a, 'd> {
    let is_read = |profile: &Profile| {
        let mut read = doses.measured.iter().map(|condition| condition.0.column);
        read.any(|column| std::ptr::eq(column, profile))
            || doses.given.as_ref().is_some_and(|given| {
                std::ptr::eq(given.amount, profile)
                    || given.routes.as_ref().is_some_and(|routes| std::ptr::eq(routes.0, profile))
            })
    };
    doses.columns.iter().copied().filter(move |profile| !is_read(profile))
}

/// What may be said of a column that is left out.
pub(crate) struct Remarks<'r, 'a> {
    pub constancy: Constancy<'r, 'a>,
    pub doses: Option<&'r Doses<'a>>,
    pub stacked: Option<&'r Stacked<'a>>,
}

impl Remarks<'_, '_> {
    /// What a column that is left out may be, to stand behind its name; empty if nothing is known.
    pub(super) fn on(&self, profile: &Profile) -> String {
        let Constancy { profiles, rows, .. } = self.constancy;
        let is_cut = profiles.iter().any(|profile| profile.numbers + profile.stamps + profile.texts >= ROWS);
        let told: Vec<&Profile> =
            self.constancy.ids().into_iter().chain(self.stacked.map(|stacked| stacked.channel)).collect();
        let is_unit = self.stacked.is_some() && profile.is_called(UNITS);
        let has_units = self.stacked.is_some_and(|stacked| !stacked.units.is_empty());
        match () {
            _ if profile.elsewhere == Elsewhere::Other => {
                ", the same within each file: a parameter of [import.side_table]?".to_owned()
            }
            _ if profile.values.len() <= 1 && profile.elsewhere == Elsewhere::Same => match is_cut {
                true => ", the same in all rows that were looked at, which are not all".to_owned(),
                false => ", always the same".to_owned(),
            },
            _ if is_unit && has_units => ", whose units are those of the channels below".to_owned(),
            _ if is_unit => {
                ": a channel has values in DIFFERENT UNITS, which are not converted: convert them first".to_owned()
            }
            _ if self.doses.is_some() && profile.is_called(OF_DOSES) => ", about doses".to_owned(),
            _ if self.constancy.is_covariate(profile) => {
                ", the same within an environment: a parameter of [import.side_table]?".to_owned()
            }
            _ if self.constancy.is_setting(profile) => {
                ", the same within a trajectory: if it is a setting and not an id, make it a channel with `role = \"input\"`".to_owned()
            }
            _ if self.stacked.is_some() && determine(&told, profile, rows) => ", the same within a channel".to_owned(),
            _ if profile.texts > 0 && !profile.is_number() => format!(
                " ({}): if it tells systems apart, add it to `environment`; if it names what is measured, it is the `channel` of a long table; \
                 if it says which rows are good, use `rows`",
                first_cells(profile)
            ),
            _ if self.stacked.is_some() && is_channel(profile, rows) => {
                ": a second column of numbers; if it is measured too, this is not a long table".to_owned()
            }
            _ => String::new(),
        }
    }
}
