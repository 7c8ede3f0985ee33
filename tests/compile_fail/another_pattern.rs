//! Receives and probes take patterns of the communicator's protocol.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut buffer = [0; 8];
    let mut comm = Comm::new(channel)?;
    #[cfg(feature = "wrong")]
    comm.irecv(OtherHeader(1), &mut buffer)?; //~ E0308
    #[cfg(not(feature = "wrong"))]
    comm.irecv(Tag(1), &mut buffer)?;
    #[cfg(feature = "wrong")]
    comm.probe(OtherHeader(1))?; //~ E0308
    Ok(())
}
