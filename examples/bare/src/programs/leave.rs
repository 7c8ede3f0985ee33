//! The end: nobody leaves before all have what was sent to them.

use super::kind::LEAVE;
use super::message;
use crate::composition::Comm;
use crate::report::Failure;
use pombo_kernel::Channel;
use pombo_kernel::prelude::*;

/// For so many nanoseconds a rank goes on answering peers that have not heard yet that all of theirs has arrived. A
/// peer asks each few milliseconds, so that all answers are lost with a probability far below 10^-9.
const LINGER: u64 = 300_000_000;

/// Returns when all ranks have called it, and a while later: rank 0 hears of all, then tells all.
pub(super) fn run<L: Channel>(comm: &mut Comm<'_, L>) -> Result<(), Failure> {
    let (me, peers) = (comm.me(), comm.peers() as u16);
    if peers == 1 {
        return Ok(());
    }
    if me != Peer(0) {
        comm.send(Peer(0), message(LEAVE, 0), &[])?;
        hear(comm, 1, u64::MAX)?;
    } else {
        for _ in 1..peers {
            hear(comm, 0, u64::MAX)?;
        }
        for peer in 1..peers {
            comm.send(Peer(peer), message(LEAVE, 1), &[])?;
        }
    }
    // A message of this number never comes.
    match hear(comm, 2, LINGER) {
        Err(Error::TimedOut) => Ok(()),
        other => Ok(other?),
    }
}

fn hear<L: Channel>(comm: &mut Comm<'_, L>, number: u32, nanoseconds: u64) -> Result<(), Error> {
    let wanted = Select::from(Exact(message(LEAVE, number)));
    comm.recv_timeout(wanted, &mut [], nanoseconds).map(|_| ())
}
