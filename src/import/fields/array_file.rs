//! A file of arrays, whatever its format.

use crate::import::tables::hdf5::since::Since;

/// What is wrong, in words that follow the name of the array: `claims 8000 bytes of a file of 500`.
pub(crate) type Failure = String;

/// Why a file cannot be read: what it is, and the remedy.
pub(crate) type Refusal = (String, &'static str);

/// What to do about a file that is damaged.
pub(crate) const COPIED_WHOLE: &str = "check that the file was copied whole";

/// An array in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    /// Path within the file, with `/`; of the only array of an `.npy` file empty.
    pub name: String,
    /// Lengths of its axes.
    pub shape: Vec<usize>,
    pub holds: Holds,
}

/// What the elements of an array are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Holds {
    Numbers(Precision),
    Texts,
    /// Something that is not read, in words that follow its name: `of complex numbers`.
    Other(String),
}

/// How exact stored numbers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Precision {
    Half,
    Single,
    Double,
    /// Integers of 64 bits: not all of them are exact as doubles.
    Long,
}

impl Precision {
    /// Relative distance of neighbouring numbers.
    pub(crate) fn epsilon(self) -> f64 {
        match self {
            Precision::Half => f64::from(f32::EPSILON) * 8192.0,
            Precision::Single => f64::from(f32::EPSILON),
            Precision::Double | Precision::Long => f64::EPSILON,
        }
    }

    /// A number of this precision in the fewest digits that tell it.
    pub(crate) fn text(self, number: f64) -> String {
        match self {
            Precision::Half | Precision::Single => (number as f32).to_string(),
            Precision::Double | Precision::Long => number.to_string(),
        }
    }
}

impl Listed {
    /// Its shape in words: `3 x 20 x 64`.
    pub(crate) fn shape_in_words(&self) -> String {
        match self.shape.is_empty() {
            true => "one value".to_owned(),
            false => self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
        }
    }

    /// The name without its group.
    pub(crate) fn own_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The precision, if it holds numbers.
    pub(crate) fn precision(&self) -> Option<Precision> {
        match self.holds {
            Holds::Numbers(precision) => Some(precision),
            Holds::Texts | Holds::Other(_) => None,
        }
    }
}

/// Positions on one axis: `start, start + step, ..`, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pick {
    pub start: usize,
    pub step: usize,
    pub count: usize,
}

impl Pick {
    /// One position.
    pub(crate) fn at(position: usize) -> Self {
        Pick { start: position, step: 1, count: 1 }
    }

    /// All positions of an axis.
    pub(crate) fn all(count: usize) -> Self {
        Pick { start: 0, step: 1, count }
    }

    /// The positions from `from` on, `count` of them.
    pub(crate) fn part(self, from: usize, count: usize) -> Self {
        Pick { start: self.start + from * self.step, count, ..self }
    }
}

/// What an attribute or an array says: a number as it is stored, or a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Number(f64, Precision),
    Text(String),
}

impl Fact {
    /// As an id.
    pub(crate) fn text(&self) -> String {
        match self {
            Fact::Number(number, precision) => precision.text(*number),
            Fact::Text(text) => text.trim().to_owned(),
        }
    }

    /// As a number; `None` if it is none.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Fact::Number(number, _) => Some(*number),
            Fact::Text(text) => text.trim().parse().ok(),
        }
    }
}

/// An open file of arrays.
pub(crate) trait ArrayFile: Send {
    /// The arrays, in the order of their names.
    fn listed(&self) -> &[Listed];

    /// The numbers of an array at these positions, row-major in the order of its axes: scaled, and NaN where the file says that one is missing.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn numbers(&mut self, array: usize, picks: &[Pick]) -> Result<Vec<f64>, Failure>;

    /// Checks that an array claims no more values than the file can hold, before memory is reserved for them.
    ///
    /// # Errors
    /// What it claims.
    fn require_possible(&self, _array: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// All texts of an array of at most one axis.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn texts(&mut self, array: usize) -> Result<Vec<String>, Failure>;

    /// The unit that the file states for an array of numbers.
    ///
    /// # Errors
    /// What the array is, in words, if what the file says of it cannot be read.
    fn unit(&mut self, _array: usize) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// The unit and date from which an array of times counts.
    ///
    /// # Errors
    /// As [`ArrayFile::unit`].
    fn since(&mut self, _array: usize) -> Result<Option<Since>, Failure> {
        Ok(None)
    }

    /// The names of the axes of an array, as far as the file gives them.
    fn axis_names(&mut self, _array: usize) -> Vec<Option<String>> {
        Vec::new()
    }

    /// What the attribute `name` of the group or array at `path` says, which may be several values; the root's path is empty.
    fn attribute(&self, _path: &str, _name: &str) -> Option<Vec<Fact>> {
        None
    }

    /// The names of the attributes of the group or array at `path`.
    fn attribute_names(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }

    /// Whether there is a group of that path.
    fn has_group(&self, name: &str) -> bool {
        let inside = format!("{name}/");
        self.listed().iter().any(|it| it.name.starts_with(&inside))
    }

    /// The position of the array of that path.
    fn find(&self, path: &str) -> Option<usize> {
        self.listed().iter().position(|it| it.name == path)
    }
}
