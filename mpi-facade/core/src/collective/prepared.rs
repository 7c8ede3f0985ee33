//! An operation by messages that is under way.

use super::call::Ready;
use super::cast::Cast;
use super::exchange::{Buffers, Exchange, Line};
use super::schedule::Steps;
use super::scratch::Scratch;
use crate::constants::Comm;
use crate::error::Error;
use crate::world::{Fault, World};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pombo_kernel::collective::Running;
use pombo_kernel::{Operate, Ticket};

/// One rank's part in it: too large to be moved around.
pub(super) struct Operation {
    running: Part,
    /// What follows.
    then: Option<Steps>,
    line: Line,
    buffers: Buffers,
    begun: VecDeque<Ticket>,
    /// What the buffers point to, as far as it is the operation's own.
    scratch: [Scratch; 2],
    /// The ranks do not agree on lengths: what it ends with.
    noted: Option<Error>,
}

/// How it goes.
enum Part {
    Messages(Running<Steps>),
    /// Over the network's own broadcast.
    Cast(Cast),
}

impl Part {
    fn of(steps: Steps) -> Self {
        match steps {
            Steps::Cast(cast) => Part::Cast(cast),
            steps => Part::Messages(Running::new(steps)),
        }
    }
}

impl Operation {
    pub(super) fn new(line: Line, ready: Ready) -> Self {
        Operation {
            running: Part::of(ready.steps),
            then: ready.then,
            line,
            buffers: ready.memory,
            begun: VecDeque::new(),
            scratch: ready.scratch,
            noted: None,
        }
    }

    /// Sees it through.
    #[inline(never)]
    pub(super) fn run(mut self: Box<Self>, world: &mut World) -> Result<(), Fault> {
        let looks = world.looks();
        let done = world.until_after(looks, |world| Ok(self.poll(world)?.then_some(())));
        if let Err(fault) = &done {
            self.abandon(world, fault.error);
        }
        world.collectives.pool.give(self.scratch);
        done
    }

    /// Goes as far as it can. After an error nothing of it is under way any more.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<bool, Fault> {
        while self.poll_part(world)? {
            match self.then.take() {
                Some(steps) => self.running = Part::of(steps),
                None => return self.noted.map_or(Ok(true), |error| Err(self.fault(error))),
            }
        }
        Ok(false)
    }

    fn poll_part(&mut self, world: &mut World) -> Result<bool, Fault> {
        let running = match &mut self.running {
            Part::Messages(running) => running,
            Part::Cast(cast) => {
                return match cast.poll(world) {
                    Err(error) if error.is_unequal() => {
                        self.noted.get_or_insert(error);
                        Ok(true)
                    }
                    polled => polled.map_err(|error| self.fault(error)),
                };
            }
        };
        let mut exchange = Exchange {
            world,
            line: &self.line,
            buffers: &self.buffers,
            begun: &mut self.begun,
            noted: &mut self.noted,
        };
        let polled = running.poll(&mut exchange);
        if let Err(fault) = &polled {
            self.abandon(world, fault.error);
        }
        polled
    }

    fn fault(&self, error: Error) -> Fault {
        Fault {
            error,
            comm: self.line.comm,
        }
    }

    /// Takes back what is under way, for its memory goes away. What cannot be taken back keeps the operation's own
    /// memory for ever.
    fn abandon(&mut self, world: &mut World, error: Error) {
        if let Part::Cast(cast) = &mut self.running {
            cast.abandon(world, error);
        }
        if let Some(Steps::Cast(cast)) = &mut self.then {
            cast.abandon(world, error);
        }
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
