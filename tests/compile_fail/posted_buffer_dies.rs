//! A posted buffer must live as long as the communicator; dropping the communicator ends the loan.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut buffer = Vec::from([0; 8]);
    let mut comm = Comm::new(channel)?;
    comm.irecv(Tag(1), &mut buffer)?;
    #[cfg(feature = "wrong")]
    drop(buffer); //~ E0505
    comm.check_messages()?;
    #[cfg(not(feature = "wrong"))]
    drop(comm);
    #[cfg(not(feature = "wrong"))]
    drop(buffer);
    Ok(())
}
