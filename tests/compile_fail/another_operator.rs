//! The operators take the arguments of the methods.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut buffer = [0; 8];
    let mut comm = Comm::new(channel)?;
    let to = Peer(0);
    #[cfg(feature = "wrong")]
    let _ = &mut comm << (to, OtherHeader(1), &b"hello"[..]); //~ E0308
    #[cfg(not(feature = "wrong"))]
    let _ = &mut comm << (to, Tag(1), &b"hello"[..]);
    #[cfg(feature = "wrong")]
    let _ = &mut comm >> (OtherHeader(1), &mut buffer[..]); //~ E0308
    #[cfg(not(feature = "wrong"))]
    let _ = &mut comm >> (Tag(1), &mut buffer[..]);
    Ok(())
}
