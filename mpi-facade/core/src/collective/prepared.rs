//! An operation by messages that is under way.

use super::cast::Cast;
use super::exchange::{Buffers, Exchange, Line};
use super::layout::Layout;
use super::schedule::Steps;
use super::scratch::{Pool, Scratch};
use crate::constants::Comm;
use crate::error::Error;
use crate::forsaken;
use crate::kernel::Begun;
use crate::world::{Fault, World};
use alloc::boxed::Box;
use core::ffi::c_int;
use pombo_collective::Running;

/// Everything that an operation needs.
pub(super) struct Ready {
    pub(super) steps: Steps,
    /// What follows them.
    pub(super) then: Option<Steps>,
    pub(super) memory: Buffers,
    pub(super) scratch: [Scratch; 2],
}

impl Ready {
    /// Without temporary memory.
    pub(super) fn plain(steps: Steps, input: Layout, output: Layout) -> Ready {
        let memory = Buffers {
            input,
            output,
            ..Buffers::nothing()
        };
        Ready {
            steps,
            then: None,
            memory,
            scratch: Default::default(),
        }
    }
}

/// One rank's part in it: too large to be moved around.
pub(super) struct Operation {
    running: Part,
    /// What follows.
    then: Option<Steps>,
    line: Line,
    buffers: Buffers,
    begun: Begun,
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
            begun: Begun::default(),
            scratch: ready.scratch,
            noted: None,
        }
    }

    /// Sees it through.
    #[inline(never)]
    pub(super) fn run(mut self: Box<Self>, world: &mut World) -> Result<(), Fault> {
        let looks = world.patience();
        let done = world.until_after(looks, |world| {
            let mut over = self.poll(world)?;
            if !over && forsaken::is_due(world.looks.waiting) {
                over = self.forsake(world)?;
            }
            Ok(over.then_some(()))
        });
        if let Err(fault) = &done {
            self.abandon(world, fault.error);
        }
        world.parts.get::<Pool>().give(self.scratch);
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

    /// Fails, as [`Operation::poll`] does, if a rank of its communicator has ended. Else it is not over.
    #[cold]
    pub(super) fn forsake(&mut self, world: &mut World) -> Result<bool, Fault> {
        let Some(node) = forsaken::ended(world, self.line.index) else {
            return Ok(false);
        };
        let rank = c_int::from(node.0);
        let error = Error::PeerLost { rank };
        self.abandon(world, error);
        Err(self.fault(error))
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
        Fault::new(error, self.line.comm)
    }

    /// Takes back what is under way, for its memory goes away.
    fn abandon(&mut self, world: &mut World, error: Error) {
        if let Part::Cast(cast) = &mut self.running {
            cast.abandon(world, error);
        }
        if let Some(Steps::Cast(cast)) = &mut self.then {
            cast.abandon(world, error);
        }
        let Self { begun, .. } = self;
        begun.cancel(&mut world.kernel);
        // What has met its receive goes on to its end, so that the other side need not fail too. Where that cannot be
        // waited for nothing of it touches the memory any more.
        let _ = world.until(|world| match begun.settle(&mut world.kernel, 0, |_| ()) {
            Ok(over) => Ok(over.then_some(())),
            Err(pombo_kernel::Error::Channel(error)) => {
                Err(pombo_kernel::Error::Channel(error).into())
            }
            // One of them failed; the others are still to come.
            Err(_) => Ok(None),
        });
        begun.release(&mut world.kernel);
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
