//! The type of a header refuses a field of the machine's own byte order and alignment, so no conversion is forgotten.
mod help;
use help::*;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[cfg_attr(not(feature = "wrong"), derive(Unaligned))]
#[repr(C)]
pub struct Counted {
    #[cfg(feature = "wrong")]
    count: u32,
    #[cfg(not(feature = "wrong"))]
    count: U32,
}

impl Header for Counted {
    //~^ E0277
    const NAME: &str = "Counted";
    type Pattern = Tag;
}

impl Pattern<Counted> for Tag {
    fn matches(&self, _: Peer, header: &Counted) -> bool {
        let count: u32 = header.count.into();
        count == u32::from(self.0)
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}
