//! Ping-pong between rank 0 and each other rank in turn; rank 0 with itself where it is alone.

use super::kind::{PING, PONG};
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
    match (comm.me(), comm.peers() as u16) {
        (Peer(0), 1) => with_itself(comm, count, report),
        (Peer(0), peers) => (1..peers).try_for_each(|peer| asks(comm, Peer(peer), count, report)),
        _ => answers(comm, count, report),
    }
}

fn asks<L: Channel>(
    comm: &mut Comm<'_, L>,
    peer: Peer,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (mut sent, mut came) = ([0; 512], [0; 512]);
    let (mut sum, mut start) = (CHECKSUM, 0);
    for number in 0..count {
        let ping = fill(&mut sent, number);
        comm.send(peer, message(PING, number), ping)?;
        let pong = comm.recv(Message::kind(PONG).from_peer(peer), &mut came)?;
        let pong = came.get(..pong.len()).unwrap_or_default();
        let opposite = ping.iter().zip(pong).all(|(ping, pong)| *ping == !*pong);
        if ping.len() != pong.len() || !opposite {
            return Err(Failure::Wrong("ping-pong: an answer is wrong"));
        }
        sum = checksum(sum, pong);
        if number == 0 {
            start = comm.channel().now();
            report.text("ping-pong: first answer\n");
        }
    }
    let nanoseconds = comm.channel().now() - start;
    report
        .text("ping-pong: ")
        .number(count.into())
        .text(" round trips with rank ");
    report
        .number(peer.0.into())
        .text(", ")
        .number(nanoseconds / u64::from(count.max(2) - 1));
    report
        .text(" ns each, checksum ")
        .number(sum.into())
        .text("\n");
    Ok(())
}

fn answers<L: Channel>(
    comm: &mut Comm<'_, L>,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (mut expected, mut came) = ([0; 512], [0; 512]);
    for number in 0..count {
        let ping = comm.recv(Message::kind(PING).from_peer(Peer(0)), &mut came)?;
        let bytes = came.get_mut(..ping.len()).unwrap_or_default();
        if ping.header().number.get() != number || bytes != fill(&mut expected, number) {
            return Err(Failure::Wrong("ping-pong: a question is wrong"));
        }
        if number == 0 {
            report.text("ping-pong: first question\n");
        }
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
        comm.send(Peer(0), message(PONG, number), bytes)?;
    }
    Ok(())
}

fn with_itself<L: Channel>(
    comm: &mut Comm<'_, L>,
    count: u32,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (mut sent, mut came) = ([0; 512], [0; 512]);
    for number in 0..count {
        let ping = fill(&mut sent, number);
        comm.send(Peer(0), message(PING, number), ping)?;
        let got = comm.recv(Message::kind(PING), &mut came)?;
        if came.get(..got.len()) != Some(&*ping) {
            return Err(Failure::Wrong("ping-pong: a message to itself is wrong"));
        }
    }
    report
        .text("ping-pong: ")
        .number(count.into())
        .text(" messages to itself\n");
    Ok(())
}
