//! A program must discard a ticket, an outcome, or a refusal with a buffer in it explicitly.
#![deny(unused_must_use)]
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let ticket = comm.isend(Peer(0), Tag(1), b"hello")?;
    #[cfg(feature = "wrong")]
    {
        comm.wait(ticket)?; //~ unused_must_use
        comm.isend(Peer(0), Tag(1), b"hello"); //~ unused_must_use
        &mut comm << (Peer(0), Tag(1), &b"hello"[..]); //~ unused_must_use
    }
    #[cfg(not(feature = "wrong"))]
    comm.wait(ticket)?.outcome?;
    Ok(())
}
