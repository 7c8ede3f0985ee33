//! Bytes that are being sent cannot change before they come back.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut bytes = *b"hello";
    let mut comm = Comm::new(channel)?;
    let ticket = comm.isend(Peer(0), Tag(1), &bytes)?;
    #[cfg(feature = "wrong")]
    {
        bytes[0] = b'j'; //~ E0506
    }
    comm.wait(ticket)?.outcome?;
    drop(comm);
    bytes[0] = b'j';
    Ok(())
}
