//! The assignment of slices of the root's data to ranks. Source: ECCLib, section 10.6.

/// Maps members to slices. All ranks of an operation use the same mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Distributor<'a> {
    /// Rank i has slice i.
    #[default]
    Ascending,
    /// Rank 0 has the last slice, and so on in descending order.
    Descending,
    /// Rank i has the slice at index i. Every slice occurs once; a rank beyond the end of the table has the slice of
    /// its own number.
    Slices(&'a [usize]),
}

impl Distributor<'_> {
    /// Returns the slice of `member`, one of `members`.
    pub fn slice(&self, member: usize, members: usize) -> usize {
        match self {
            Distributor::Ascending => member,
            Distributor::Descending => members - 1 - member,
            Distributor::Slices(slices) => slices.get(member).copied().unwrap_or(member),
        }
    }
}
