//! A broadcast from each rank in turn, by the tree of the collectives.

use super::kind::BROADCAST;
use super::{fill, message};
use crate::composition::Comm;
use crate::report::{Failure, Report};
use pombo_collective::topology::{Complete, Topology};
use pombo_collective::{Blocks, CommCall, NoOperator, OperationBuffers, SharedBytes, broadcast};
use pombo_kernel::Channel;

const ROUNDS: u32 = 100;

/// Every message goes through `memory`, which has at least 512 bytes.
pub(super) fn run<'buf, L: Channel>(
    comm: &mut Comm<'buf, L>,
    memory: SharedBytes<'buf>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let (me, ranks) = (comm.me().index(), comm.peers());
    let (mut expected, mut came) = ([0; 512], [0; 512]);
    for round in 0..ROUNDS {
        let root = round as usize % ranks;
        let bytes = fill(&mut expected, round);
        let output = memory.part(0, bytes.len());
        if me == root {
            output.write(bytes);
        }
        let parts = OperationBuffers {
            output: Blocks::one(output),
            ..OperationBuffers::NONE
        };
        let steps = broadcast(Complete::new(ranks).tree(me, root), 1);
        CommCall::new(steps, message(BROADCAST, round), parts, NoOperator).wait(comm)?;
        output.read(&mut came);
        if came.get(..bytes.len()) != Some(&*bytes) {
            return Err(Failure::Wrong("broadcast: the bytes are wrong"));
        }
        output.write(&[0; 512]);
    }
    report
        .text("broadcast: ")
        .number(ROUNDS.into())
        .text(", from every rank in turn\n");
    Ok(())
}
