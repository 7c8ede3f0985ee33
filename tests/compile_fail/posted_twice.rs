//! One buffer takes one message at a time.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut buffer = [0; 8];
    let mut other = [0; 8];
    let mut comm = Comm::new(channel)?;
    comm.irecv(Tag(1), &mut buffer)?;
    #[cfg(feature = "wrong")]
    comm.irecv(Tag(2), &mut buffer)?; //~ E0499
    #[cfg(not(feature = "wrong"))]
    comm.irecv(Tag(2), &mut other)?;
    comm.check_messages()?;
    Ok(())
}
