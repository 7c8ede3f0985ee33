//! The errors of groups.

use core::fmt;
use pombo_kernel::Error;

/// Why an operation on a group failed. Errors about names and members come from the directory: every process decides
/// them alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroupError {
    /// A name has 1 to [`NAME_LEN`](super::NAME_LEN) bytes and no control characters: choose another.
    BadName,
    /// This process is a member already: leave the group before joining it again.
    AlreadyMember,
    /// No group has this name: join creates it.
    UnknownGroup,
    /// This process is not a member: join first.
    NotAMember,
    /// No member has this number, or its number belongs to a later member: ask for the members again.
    NoSuchMember,
    /// The group is static: it takes no members and cannot be frozen again. Use another name.
    Static,
    /// A member of a static group left or ended while this process waited in its barrier: the barrier cannot complete.
    /// Leave the group, and form another.
    MemberLeft,
    /// Those who wait for the same barrier or freeze passed other counts: pass one count everywhere.
    CountMismatch,
    /// The count is larger than the number of processes that live or may still join the job: it can never be reached. Pass
    /// a smaller one.
    CountTooLarge,
    /// The job has [`MAX_GROUPS`](super::MAX_GROUPS) groups: leave some.
    TooManyGroups,
    /// The job has more processes than [`MAX_PROCESSES`](super::MAX_PROCESSES): start fewer.
    TooManyProcesses,
    /// This process joined the running job, and in the given time nobody who has the groups has admitted it: all of them
    /// have ended, or the majority cannot be reached, or one of them did not call its groups. Try again, or end it.
    NotAdmitted,
    /// This process is cut off from the majority: others go on without it, or nobody does. It has no groups any more;
    /// end it, and start it anew where the network is whole.
    Minority,
    /// The operation did not complete in the given time. It may still take effect: ask for the group's members. Every
    /// process of the job has to call its groups now and then, for instance [`Groups::progress`](super::Groups::progress).
    TimedOut,
    /// The communicator below failed.
    Kernel(Error),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroupError::BadName => "a group's name has 1 to 32 bytes and no control characters: choose another",
            GroupError::AlreadyMember => "this process is a member already: leave the group before joining it again",
            GroupError::UnknownGroup => "no group has this name: join creates it",
            GroupError::NotAMember => "this process is not a member of the group: join first",
            GroupError::NoSuchMember => "the group has no such member: ask for the members again",
            GroupError::Static => "the group is static: use another name",
            GroupError::MemberLeft => "a member of the static group left while this process waited in its barrier: leave, and form another group",
            GroupError::CountMismatch => "the processes that wait in the group passed different counts: pass one count everywhere",
            GroupError::CountTooLarge => "the count is larger than the number of processes that live or may still join: pass a smaller one",
            GroupError::TooManyGroups => "the job has as many groups as it can: leave some",
            GroupError::TooManyProcesses => "the job has more processes than groups can span: start fewer",
            GroupError::NotAdmitted => "nobody who has the groups has admitted this process in the given time: they have ended, cannot be reached, or do not call their groups; try again, or end it",
            GroupError::Minority => "this process is cut off from the majority and has no groups any more: end it",
            GroupError::TimedOut => "the group operation did not complete in the given time; every process of the job has to call its groups now and then",
            GroupError::Kernel(error) => return write!(f, "the communicator below the groups failed: {error}"),
        })
    }
}

impl core::error::Error for GroupError {}

impl From<Error> for GroupError {
    fn from(error: Error) -> Self {
        match error {
            Error::TimedOut => GroupError::TimedOut,
            other => GroupError::Kernel(other),
        }
    }
}
