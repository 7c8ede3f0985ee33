//! A buffer that is lent to a scope is borrowed until the scope ends, or until a claim returns the buffer.
mod help;
use help::*;

pub fn case(channel: impl Channel) -> Result<(), Error> {
    let mut comm = Comm::new(channel)?;
    let mut buffer = [0; 8];
    let mut first = 0;
    comm.scope(|scope| {
        let ticket = scope.irecv(Tag(1), &mut buffer)?;
        #[cfg(feature = "wrong")]
        {
            first = buffer[0]; //~ E0503
        }
        scope.wait(ticket)?.outcome
    })?;
    first += buffer[0];
    comm.send(Peer(0), Tag(first), &buffer)
}
