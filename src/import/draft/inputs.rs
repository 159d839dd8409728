//! Which quantities are inputs that drive a system: by their names, and by values that stay the same for a while.

use super::names::{InputHint, input_hint};
use super::rows::Course;

/// The role that is proposed for a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// A state of the system.
    State,
    /// A state, with the input as a comment, and why.
    Perhaps(String),
    /// An input, and why.
    Input(String),
}

/// Proposes a role for each quantity, given its name and course; at least one stays a state.
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
            match (input_hint(name), is_stepped(course)) {
                (InputHint::Input, _) if moves => {
                    Proposal::Input("its name says that it is set from outside".to_owned())
                }
                (InputHint::Input, _) => Proposal::Perhaps("its name says that it is set from outside".to_owned()),
                (InputHint::PerhapsInput, true) if moves => {
                    Proposal::Input(format!("its name is one of signals from outside, and it {kept}"))
                }
                (InputHint::PerhapsInput, true) => {
                    Proposal::Perhaps(format!("its name is one of signals from outside, and it {kept}"))
                }
                (InputHint::PerhapsInput, false) if course.is_seldom(most) => Proposal::Perhaps(
                    "its name is one of signals from outside, and it has few values, as a log of changes has"
                        .to_owned(),
                ),
                (InputHint::PerhapsInput, false) => Proposal::Perhaps(
                    "its name is often one of signals from outside, but it varies as a state may".to_owned(),
                ),
                (InputHint::None, true) if moves => {
                    Proposal::Perhaps(format!("it {kept}, as what is set from outside does"))
                }
                (InputHint::None, false) if moves && course.is_seldom(most) => {
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
