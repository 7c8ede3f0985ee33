//! Only mutable memory can be posted.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut buffer = [0; 8];
    let mut comm = Comm::new(channel)?;
    #[cfg(feature = "wrong")]
    comm.irecv(Tag(1), &buffer)?; //~ E0308
    #[cfg(not(feature = "wrong"))]
    comm.irecv(Tag(1), &mut buffer)?;
    Ok(())
}
