//! A communicator carries one protocol, even if another one looks the same on the wire.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    #[cfg(feature = "wrong")]
    comm.isend(Peer(0), OtherHeader(1), b"hello")?; //~ E0308
    #[cfg(not(feature = "wrong"))]
    comm.isend(Peer(0), Tag(1), b"hello")?;
    Ok(())
}
