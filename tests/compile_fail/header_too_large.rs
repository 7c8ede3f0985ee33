//! The build detects a header that leaves no room in the shortest frame.
mod help;
use help::*;

#[cfg(feature = "wrong")]
const LEN: usize = 110; //~ kernel E0080
#[cfg(not(feature = "wrong"))]
const LEN: usize = 100;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Long([u8; LEN]);

impl Header for Long {
    const NAME: &str = "Long";
    type Pattern = Tag;
}

impl Pattern<Long> for Tag {
    fn matches(&self, _: Peer, header: &Long) -> bool {
        header.0[0] == self.0
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}

pub fn case(channel: SelfChannel<512>) -> Result<(), Error> {
    Communicator::<Long, SelfChannel<512>, Lent<'_>, Off>::new(channel).map(drop)
}
