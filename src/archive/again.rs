//! Which environments are estimated again although their data are as they were.

use std::str::FromStr;

use crate::estimate::Status;

/// A choice of rows of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Every row.
    All,
    /// Those whose status counts as failed.
    Failed,
    /// Those by another model, or by other settings.
    OtherModel,
    /// Those of a status.
    Of(Status),
}

impl Selector {
    /// Whether it chooses a row of this status.
    pub(crate) fn chooses(self, status: Status, is_of_other_model: bool) -> bool {
        match self {
            Selector::All => true,
            Selector::Failed => status.is_failure(),
            Selector::OtherModel => is_of_other_model,
            Selector::Of(of) => of == status,
        }
    }
}

/// The rows to estimate again: those that any of the selectors chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again(pub Vec<Selector>);

impl Again {
    pub(crate) fn chooses(&self, status: Status, is_of_other_model: bool) -> bool {
        self.0.iter().any(|selector| selector.chooses(status, is_of_other_model))
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Selector::All),
            "failed" => Ok(Selector::Failed),
            "other-model" => Ok(Selector::OtherModel),
            text => Status::ALL.into_iter().find(|it| it.name() == text).map(Selector::Of).ok_or_else(|| {
                let names: Vec<&str> = Status::ALL.iter().map(|it| it.name()).collect();
                format!("found `{text}`; expected all, failed, other-model, or a status: {}", names.join(", "))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_chosen_by_what_they_are() {
        let again = |text: &str| Again(text.split(',').map(|it| it.parse().unwrap()).collect());
        assert!(!Again::default().chooses(Status::Diverged, true));
        assert!(again("failed").chooses(Status::Diverged, false) && !again("failed").chooses(Status::Misfit, true));
        assert!(again("misfit,failed").chooses(Status::Misfit, false));
        assert!(again("other-model").chooses(Status::Ok, true) && !again("other-model").chooses(Status::Ok, false));
        assert!(again("all").chooses(Status::Ok, false));
        assert!("wrong".parse::<Selector>().unwrap_err().contains("not_converged"));
    }
}
