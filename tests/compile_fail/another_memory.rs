//! A communicator accepts loans of its own kind of memory only.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let bytes = Vec::from(*b"hello");
    let mut comm = Comm::new(channel)?;
    #[cfg(feature = "wrong")]
    comm.isend(Peer(0), Tag(1), bytes)?; //~ E0308
    #[cfg(not(feature = "wrong"))]
    comm.isend(Peer(0), Tag(1), &bytes)?;
    Ok(())
}
