//! The end: nobody leaves before all have what was sent to them.

use super::kind::BARRIER;
use super::message;
use crate::composition::Comm;
use crate::report::Failure;
use pombo_collective::topology::{Circle, Complete};
use pombo_collective::{CommCall, NoOperator, OperationBuffers, barrier_dissemination};
use pombo_kernel::Channel;

/// For so many nanoseconds a rank goes on answering peers that have not heard yet that all of theirs has arrived. A
/// peer asks each few milliseconds, so that all answers are lost with a probability far below 10^-9.
const LINGER: u64 = 300_000_000;

/// Returns when all ranks have called it, and a while later.
pub(super) fn run<L: Channel>(comm: &mut Comm<'_, L>) -> Result<(), Failure> {
    let circle = Circle::new(Complete::new(comm.peers()), comm.me().index());
    let steps = barrier_dissemination(circle);
    CommCall::new(
        steps,
        message(BARRIER, 0),
        OperationBuffers::NONE,
        NoOperator,
    )
    .wait(comm)?;
    if comm.peers() == 1 {
        return Ok(());
    }
    let until = comm.channel().now().saturating_add(LINGER);
    while comm.channel().now() < until {
        comm.check_messages()?;
        comm.channel_mut()
            .wait_timeout(100, 1_000_000)
            .map_err(pombo_kernel::Error::from)?;
    }
    Ok(())
}
