//! Which quantities drive a system from outside: told by their names, and by values that are kept for a while.

use super::names::{Named, named};
use super::rows::Course;

/// What a quantity is proposed as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proposal {
    State,
    /// A state, with the input beside it in a comment, and why.
    Perhaps(String),
    /// An input, and why.
    Input(String),
}

/// A proposal for each quantity, of its name and course. One at least stays a state.
pub(crate) fn proposals(quantities: &[(&str, Course)]) -> Vec<Proposal> {
    let is_stepped = |course: &Course| course.is_stepped() || course.is_switched();
    let moves = quantities.iter().any(|(_, course)| !is_stepped(course) && course.changes > 0);
    let most = quantities.iter().map(|it| it.1.values).max().unwrap_or(0);
    let mut proposals: Vec<Proposal> = quantities
        .iter()
        .map(|(name, course)| {
            let kept = match course.is_stepped() {
                true => format!("keeps each of its {} values for a while", course.distinct),
                false => format!("has only {} values", course.distinct),
            };
            match (named(name), is_stepped(course)) {
                (Named::Input, _) if moves => Proposal::Input("its name says that it is set from outside".to_owned()),
                (Named::Input, _) => Proposal::Perhaps("its name says that it is set from outside".to_owned()),
                (Named::PerhapsInput, true) if moves => {
                    Proposal::Input(format!("its name is one of signals from outside, and it {kept}"))
                }
                (Named::PerhapsInput, true) => {
                    Proposal::Perhaps(format!("its name is one of signals from outside, and it {kept}"))
                }
                (Named::PerhapsInput, false) if course.is_seldom(most) => Proposal::Perhaps(
                    "its name is one of signals from outside, and it has few values, as a log of changes has"
                        .to_owned(),
                ),
                (Named::PerhapsInput, false) => Proposal::Perhaps(
                    "its name is often one of signals from outside, but it varies as a state may".to_owned(),
                ),
                (Named::Other, true) if moves => {
                    Proposal::Perhaps(format!("it {kept}, as what is set from outside does"))
                }
                (Named::Other, false) if moves && course.is_seldom(most) => {
                    Proposal::Perhaps("it has few values, as a log of changes has".to_owned())
                }
                _ => Proposal::State,
            }
        })
        .collect();
    if proposals.iter().all(|proposal| matches!(proposal, Proposal::Input(_))) {
        for proposal in &mut proposals {
            if let Proposal::Input(why) = proposal {
                *proposal = Proposal::Perhaps(format!("{why}; but then nothing would be a state"));
            }
        }
    }
    proposals
}
