//! A count that remembers, in words, the first of what was counted.

/// How many there are, and the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub count: u64,
    pub first: Option<String>,
}

impl Tally {
    /// Counts one; `words` describe it, should it be the first.
    pub(crate) fn add(&mut self, words: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(words);
    }

    /// Adds the count of `later` ones.
    pub(crate) fn extend(&mut self, later: &Tally) {
        self.count += later.count;
        self.first = self.first.take().or_else(|| later.first.clone());
    }
}
