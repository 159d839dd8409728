//! What sort of thing a problem is.

/// The kinds of problems. Those that many rows of a table may have are counted by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A setting has an impossible value, or contradicts another.
    Setting,
    /// A file, or every file of a pattern, is not there.
    MissingFile,
    /// A file cannot be read.
    UnreadableFile,
    /// A file has no bytes, or only blanks.
    EmptyFile,
    /// A file is of a type that cannot be imported yet.
    UnsupportedFile,
    /// Bytes that are not UTF-8.
    InvalidText,
    /// A header without rows.
    NoRows,
    /// A column that the settings name is not in the header.
    MissingColumn,
    /// A header of a single column in which another delimiter stands.
    SingleColumn,
    /// Two columns of the same name.
    DuplicateColumn,
    /// A row with more or fewer cells than the header.
    RaggedRow,
    /// Text where a number is expected.
    NotANumber,
    /// A number written in a way that cannot be read yet.
    UnsupportedNumber,
    /// An empty cell or a marker of a missing value.
    MissingValue,
    /// An id that is empty or cannot be an id.
    InvalidId,
    /// Infinity, or a number beyond the range of a double.
    NotFinite,
    /// A time stamp that cannot be read, or not as one time.
    TimeStamp,
    /// A unit that does not fit the one it is to be converted into.
    Unit,
    /// A row that is a dose or another event.
    EventRow,
    /// A dose with an impossible amount, or impossible repetitions.
    Dose,
    /// A sample and an event of the very same time, of which nothing says which came first.
    EqualTimes,
    /// A column that changes what rows mean, and that the mapping does not read.
    UnreadColumn,
    /// An input that is not known where states were observed.
    InputSpan,
    /// Something that a PEtab problem says and that is not read.
    Petab,
    /// Time falls within a trajectory.
    UnsortedTime,
    /// Two values of a channel at one time of a trajectory.
    DuplicateTime,
    /// A trajectory of less than two samples.
    ShortTrajectory,
    /// Trajectories without a complete sample that another follows, for a model to start from.
    NoStart,
    /// A channel without any value in the whole table.
    NeverObserved,
    /// A channel of a long table that the settings do not name.
    UnknownChannel,
    /// The same samples in two splits.
    RepeatedSamples,
    /// A setting names an environment that the data do not have.
    UnknownEnvironment,
    /// A setting names a trajectory that the data do not have.
    UnknownTrajectory,
    /// A setting names a row that the side table does not have.
    UnknownKey,
    /// Two rows of the side table for one environment.
    DuplicateKey,
    /// A parameter's expression has no finite value.
    ParameterValue,
    /// A split, or an environment's part of it, would be empty.
    EmptySplit,
    /// A row of the side table without an environment in the table.
    UnusedRow,
    /// An environment without a row in the side table.
    UnknownParameters,
}

impl Kind {
    /// Whether it is of the file that it was found in, whatever other files hold.
    pub(crate) fn is_of_a_file(self) -> bool {
        use Kind::{
            DuplicateColumn, EmptyFile, InvalidId, InvalidText, MissingColumn, MissingFile, MissingValue, NoRows,
            NotANumber, NotFinite, RaggedRow, SingleColumn, TimeStamp, Unit, UnknownChannel, UnreadableFile,
            UnsupportedFile, UnsupportedNumber,
        };
        let of_all = matches!(self, MissingFile | UnreadableFile | EmptyFile | UnsupportedFile | InvalidText | NoRows);
        let of_columns = matches!(self, MissingColumn | SingleColumn | DuplicateColumn | Unit | UnknownChannel);
        let of_cells = matches!(self, RaggedRow | NotANumber | UnsupportedNumber | MissingValue | NotFinite);
        of_all || of_columns || of_cells || matches!(self, InvalidId | TimeStamp)
    }

    /// Whether it is of a trajectory, of which other files may hold more.
    pub(crate) fn is_of_a_trajectory(self) -> bool {
        use Kind::{Dose, DuplicateTime, EqualTimes, EventRow, InputSpan, ShortTrajectory, UnsortedTime};
        matches!(self, UnsortedTime | DuplicateTime | ShortTrajectory | EqualTimes | EventRow | Dose | InputSpan)
    }

    /// Whether one setting mends all problems of it that expect the same, whatever was found.
    pub(super) fn is_of_one_setting(self) -> bool {
        matches!(self, Kind::EventRow | Kind::TimeStamp | Kind::UnsupportedNumber)
    }
}
