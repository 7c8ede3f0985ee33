//! Bytes that are lent to a communicator must live as long as it does.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let outer = *b"hello";
    let mut comm = Comm::new(channel)?;
    {
        let inner = *b"hello";
        #[cfg(feature = "wrong")]
        let bytes = &inner; //~ E0597
        #[cfg(not(feature = "wrong"))]
        let bytes = &outer;
        comm.isend(Peer(0), Tag(inner[0]), bytes)?;
    }
    comm.check_messages()?;
    Ok(())
}
