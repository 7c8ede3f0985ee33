//! A program cannot read a buffer that a message may be written to.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<u8, Error> {
    let mut buffer = [0; 8];
    let mut comm = Comm::new(channel)?;
    let ticket = comm.irecv(Tag(1), &mut buffer)?;
    #[cfg(feature = "wrong")]
    let early = buffer[0]; //~ E0503
    #[cfg(not(feature = "wrong"))]
    let early = 0;
    comm.wait(ticket)?.outcome?;
    drop(comm);
    Ok(early + buffer[0])
}
