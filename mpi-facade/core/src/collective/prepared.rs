//! An operation that is ready to go, and one that is under way.

use super::exchange::{Buffers, Exchange, Line};
use super::requests;
use super::schedule::Steps;
use super::scratch::Scratch;
use crate::constants::{Comm, Request};
use crate::header::Envelope;
use crate::world::{self, Fault, World};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pombo_kernel::collective::Running;
use pombo_kernel::{Operate, Ticket};

/// A collective operation of this rank. Run or start it: the other ranks count on it.
#[must_use = "the other ranks wait for it"]
pub struct Prepared {
    running: Running<Steps>,
    line: Line,
    buffers: Buffers,
    begun: VecDeque<Ticket>,
    /// What the buffers point to, as far as it is the operation's own.
    _scratch: [Scratch; 2],
}

impl Prepared {
    /// The next operation on a communicator: its messages carry its number.
    pub(super) fn new(
        world: &mut World,
        comm: Comm,
        steps: Steps,
        buffers: Buffers,
        scratch: [Scratch; 2],
    ) -> Result<Prepared, Fault> {
        let index = world.comms.index(comm)?;
        let group = world.comms.get(comm)?;
        group.operations = group.operations.wrapping_add(1) & (u32::MAX >> 1);
        let header = Envelope::new(group.context * 2 + 1, group.operations);
        Ok(Prepared {
            running: Running::new(steps),
            line: Line {
                index,
                comm,
                header,
            },
            buffers,
            begun: VecDeque::new(),
            _scratch: scratch,
        })
    }

    /// Goes as far as it can. After an error nothing of it is under way any more.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<bool, Fault> {
        let mut exchange = Exchange {
            world,
            line: self.line,
            buffers: &self.buffers,
            begun: &mut self.begun,
        };
        let polled = self.running.poll(&mut exchange);
        if polled.is_err() {
            self.abandon(world);
        }
        polled
    }

    /// Takes back what is under way, for its memory goes away.
    fn abandon(&mut self, world: &mut World) {
        for &ticket in &self.begun {
            // What is over need not be cancelled.
            let _ = world.kernel.cancel(ticket);
        }
        while let Some(ticket) = self.begun.pop_front() {
            // Nothing can be done about errors here, and the operation reports one already.
            let _ = world.until(|world| Ok(world.kernel.claim(ticket)?));
        }
    }

    /// The communicator's context, to say that the operation is over.
    pub(super) fn context(&self) -> u32 {
        self.line.header.context.get() & !1
    }

    /// The communicator's place in the table.
    pub(super) fn index(&self) -> usize {
        self.line.index
    }

    /// The communicator.
    pub(super) fn comm(&self) -> Comm {
        self.line.comm
    }

    /// The blocking call.
    pub fn run(mut self) -> Result<(), Fault> {
        world::with(|world| self.finish(world))
    }

    /// The blocking call inside another one.
    pub(crate) fn finish(&mut self, world: &mut World) -> Result<(), Fault> {
        world.until(|world| Ok(self.poll(world)?.then_some(())))
    }

    /// The non-blocking call: it goes on whenever this rank is in a call.
    pub fn start(self) -> Result<Request, Fault> {
        world::with(|world| requests::start(world, Box::new(self)))
    }
}
