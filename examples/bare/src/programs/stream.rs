//! Messages without answers, from each rank to the next one at the same time: as fast as credit allows, in order.

use super::kind::{STREAM, TOTAL};
use super::{CHECKSUM, checksum, fill, message};
use crate::composition::{Comm, Message};
use crate::report::{Failure, Report};
use pombo_kernel::Channel;
use pombo_kernel::prelude::*;

pub(super) fn run<L: Channel>(
    comm: &mut Comm<'_, L>,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (me, peers) = (comm.me().0, comm.peers() as u16);
    let (next, previous) = (Peer((me + 1) % peers), Peer((me + peers - 1) % peers));
    let (mut out, mut expected, mut came) = ([0; 512], [0; 512], [0; 512]);
    let (mut sent, mut received) = (CHECKSUM, CHECKSUM);
    for number in 0..count {
        // A receive stands before the send, so that the ranks do not wait for each other's room.
        let from = Message::kind(STREAM).from_peer(previous);
        let bytes = fill(&mut out, number);
        sent = checksum(sent, bytes);
        let (len, came_as) = comm.scope(|scope| {
            let ticket = scope.irecv(from, &mut came)?;
            scope.send(next, message(STREAM, number), bytes)?;
            let over = scope.wait(ticket)?;
            let number = over.envelope.map(|envelope| envelope.header().number.get());
            over.outcome.map(|len| (len, number))
        })?;
        let bytes = came.get(..len).unwrap_or_default();
        if came_as != Some(number) || bytes != fill(&mut expected, number) {
            return Err(Failure::Wrong("stream: a message is wrong"));
        }
        received = checksum(received, bytes);
    }
    let mut total = [0; 4];
    comm.send(next, message(TOTAL, 0), &sent.to_le_bytes())?;
    comm.recv(Message::kind(TOTAL).from_peer(previous), &mut total)?;
    if u32::from_le_bytes(total) != received {
        return Err(Failure::Wrong("stream: the checksums differ"));
    }
    report
        .text("stream: ")
        .number(count.into())
        .text(" messages from rank ")
        .number(previous.0.into());
    report
        .text(", checksum ")
        .number(received.into())
        .text("\n");
    Ok(())
}
