//! Which slice of the root's data belongs to whom. Source: ECCLib, section 10.6.

/// Maps members to slices. All ranks use the same one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Distributor<'a> {
    /// Slice i is rank i's.
    #[default]
    Ascending,
    /// The last slice is rank 0's.
    Descending,
    /// Rank i's slice stands at index i. Every slice occurs once; a rank behind the end of the table has its own.
    Slices(&'a [usize]),
}

impl Distributor<'_> {
    /// The slice of one of so many members.
    pub fn slice(&self, member: usize, members: usize) -> usize {
        match self {
            Distributor::Ascending => member,
            Distributor::Descending => members - 1 - member,
            Distributor::Slices(slices) => slices.get(member).copied().unwrap_or(member),
        }
    }
}
