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
pub struct Prepared(Box<Operation>);

/// The operation itself: too large to be moved around.
pub(super) struct Operation {
    running: Running<Steps>,
    line: Line,
    buffers: Buffers,
    begun: VecDeque<Ticket>,
    /// What the buffers point to, as far as it is the operation's own.
    scratch: [Scratch; 2],
}

impl Prepared {
    /// The next operation on a communicator: its messages carry its number.
    #[inline(never)]
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
        Ok(Prepared(Box::new(Operation {
            running: Running::new(steps),
            line: Line {
                index,
                comm,
                header,
            },
            buffers,
            begun: VecDeque::new(),
            scratch,
        })))
    }

    /// The blocking call.
    #[inline(never)]
    pub fn run(mut self) -> Result<(), Fault> {
        world::with(|world| {
            let done = world.until(|world| Ok(self.0.poll(world)?.then_some(())));
            if done.is_err() {
                self.0.abandon(world);
            }
            world.collectives.pool.give(self.0.scratch);
            done
        })
    }

    /// The non-blocking call: it goes on whenever this rank is in a call.
    #[inline(never)]
    pub fn start(self) -> Result<Request, Fault> {
        world::with(|world| requests::start(world, self.0))
    }
}

impl Operation {
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

    /// Takes back what is under way, for its memory goes away. What cannot be taken back keeps the operation's own
    /// memory for ever.
    fn abandon(&mut self, world: &mut World) {
        for &ticket in &self.begun {
            // What is over need not be cancelled.
            let _ = world.kernel.cancel(ticket);
        }
        while let Some(ticket) = self.begun.pop_front() {
            // The operation reports an error already.
            if world
                .until(|world| Ok(world.kernel.claim(ticket)?))
                .is_err()
            {
                core::mem::forget(core::mem::take(&mut self.scratch));
            }
        }
    }

    /// Its memory, when it is over.
    pub(super) fn into_scratch(self) -> [Scratch; 2] {
        self.scratch
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
}
