//! A header is bytes: an address in it would have no meaning for the peer.
mod help;
use help::*;

#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "wrong"),
    derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)
)]
#[repr(C)]
pub struct Named {
    #[cfg(feature = "wrong")]
    name: &'static str,
    #[cfg(not(feature = "wrong"))]
    name: [u8; 16],
}

impl Header for Named {
    //~^ E0277
    const NAME: &str = "Named";
    type Pattern = Tag;
}

impl Pattern<Named> for Tag {
    fn matches(&self, _: Peer, header: &Named) -> bool {
        header.name.len() == usize::from(self.0)
    }

    fn source(&self) -> Option<Peer> {
        None
    }
}
