//! A collective operation by messages or multicast that is under way.

use super::layout::Layout;
use super::multicast_bcast::MulticastOperation;
use super::other_rank::OtherRank;
use super::p2p_executor::{Addressing, OperationBuffers, P2pExecutor};
use super::schedule::Steps;
use super::scratch::{Pool, Scratch};
use crate::any_source_failure;
use crate::constants::Comm;
use crate::error::Error;
use crate::explanation;
use crate::kernel::PostedSet;
use crate::runtime::world::{CommError, World};
use alloc::boxed::Box;
use core::ffi::c_int;
use pombo_collective::Execution;
use pombo_netdrivers::tuning::SLEEPING_AFTER;

/// The schedule, memory and reduction of one operation.
pub(super) struct PreparedOperation {
    pub(super) steps: Steps,
    /// The schedule that follows `steps`.
    pub(super) then: Option<Steps>,
    pub(super) memory: OperationBuffers,
    pub(super) scratch: [Scratch; 2],
}

impl PreparedOperation {
    /// Prepares an operation without scratch memory.
    pub(super) fn plain(steps: Steps, input: Layout, output: Layout) -> PreparedOperation {
        let memory = OperationBuffers {
            input,
            output,
            ..OperationBuffers::nothing()
        };
        PreparedOperation {
            steps,
            then: None,
            memory,
            scratch: Default::default(),
        }
    }
}

/// One rank's part of an operation. It is boxed, as it is too large to move around.
pub(super) struct Operation {
    execution: ExecutionKind,
    /// The schedule that follows the current one.
    then: Option<Steps>,
    addressing: Addressing,
    buffers: OperationBuffers,
    posted: PostedSet,
    /// Scratch memory that the buffers point to.
    scratch: [Scratch; 2],
    /// The error to return at the end if ranks disagree on lengths.
    disagreement: Option<Error>,
    /// The only rank that sends to this one, if it is known when it has sent everything; and whether it has.
    sender: Option<OtherRank>,
    sender_has_left: bool,
}

/// How an operation is executed.
enum ExecutionKind {
    Messages(Execution<Steps>),
    /// It runs by multicast.
    Multicast(MulticastOperation),
}

impl ExecutionKind {
    fn of(steps: Steps) -> Self {
        match steps {
            Steps::Multicast(cast) => ExecutionKind::Multicast(cast),
            steps => ExecutionKind::Messages(Execution::new(steps)),
        }
    }
}

impl Operation {
    pub(super) fn new(addressing: Addressing, ready: PreparedOperation) -> Self {
        Operation {
            execution: ExecutionKind::of(ready.steps),
            then: ready.then,
            addressing,
            buffers: ready.memory,
            posted: PostedSet::default(),
            scratch: ready.scratch,
            disagreement: None,
            sender: None,
            sender_has_left: false,
        }
    }

    /// Makes the operation fail if this rank, the only one that sends to this one, leaves without sending.
    pub(super) fn watch(&mut self, sender: OtherRank) {
        self.sender = Some(sender);
    }

    /// Waits until the operation is complete.
    #[inline(never)]
    pub(super) fn run(mut self: Box<Self>, world: &mut World) -> Result<(), CommError> {
        let idle = world.first_idle();
        let done = world.until_after(idle, |world| {
            let mut over = self.poll(world)?;
            if !over && any_source_failure::is_due(world.idle_counts.waiting) {
                over = self.fail_if_peer_lost(world)?;
                self.fail_if_nothing_is_sent(world)?;
                let idle = world.idle_counts.waiting;
                explanation::attend(world, idle, |world| self.explain(world));
            }
            Ok(over.then_some(()))
        });
        if let Err(failure) = &done {
            self.abandon(world, failure.error);
        }
        if let Some(sender) = self.sender {
            sender.end_wait(world);
        }
        world.objects.extensions.get::<Pool>().give(self.scratch);
        done
    }

    /// Progresses as far as possible; returns whether the operation is complete. After an error no message of it
    /// remains under way.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<bool, CommError> {
        while self.poll_part(world)? {
            match self.then.take() {
                Some(steps) => self.execution = ExecutionKind::of(steps),
                None => {
                    return self
                        .disagreement
                        .map_or(Ok(true), |error| Err(self.failure(error)));
                }
            }
        }
        Ok(false)
    }

    /// Fails, as [`Operation::poll`] does, if a rank of the communicator has ended; returns false otherwise.
    #[cold]
    pub(super) fn fail_if_peer_lost(&mut self, world: &mut World) -> Result<bool, CommError> {
        let Some(peer) = any_source_failure::dead_member(world, self.addressing.index) else {
            return Ok(false);
        };
        let rank = c_int::from(peer.0);
        let error = Error::PeerLost { rank };
        self.abandon(world, error);
        Err(self.failure(error))
    }

    /// Fails, as [`Operation::poll`] does, if the only sender has left without sending.
    #[cold]
    fn fail_if_nothing_is_sent(&mut self, world: &mut World) -> Result<(), CommError> {
        let Some(sender) = self.sender else {
            return Ok(());
        };
        if world.idle_counts.waiting < SLEEPING_AFTER || !sender.has_left(world) {
            return Ok(());
        }
        // What it has sent before it left, the next poll finds.
        match core::mem::replace(&mut self.sender_has_left, true) {
            false => Ok(()),
            true => Err(self.failure(Error::unequal(0, self.buffers.output.bytes() as u64))),
        }
    }

    /// Adds the operation to an answer about what this rank waits for.
    pub(super) fn explain(&self, world: &mut World) {
        explanation::add_collective(world, self.context());
    }

    fn poll_part(&mut self, world: &mut World) -> Result<bool, CommError> {
        let running = match &mut self.execution {
            ExecutionKind::Messages(running) => running,
            ExecutionKind::Multicast(cast) => {
                return match cast.poll(world) {
                    Err(error) if error.is_unequal() => {
                        self.disagreement.get_or_insert(error);
                        Ok(true)
                    }
                    polled => polled.map_err(|error| self.failure(error)),
                };
            }
        };
        let mut exchange = P2pExecutor {
            world,
            addressing: &self.addressing,
            buffers: &self.buffers,
            posted: &mut self.posted,
            disagreement: &mut self.disagreement,
        };
        let polled = running.poll(&mut exchange);
        if let Err(failure) = &polled {
            self.abandon(world, failure.error);
        }
        polled
    }

    fn failure(&self, error: Error) -> CommError {
        CommError::new(error, self.addressing.comm)
    }

    /// Takes back the messages under way, because their memory goes away.
    pub(super) fn abandon(&mut self, world: &mut World, error: Error) {
        if let ExecutionKind::Multicast(cast) = &mut self.execution {
            cast.abandon(world, error);
        }
        if let Some(Steps::Multicast(cast)) = &mut self.then {
            cast.abandon(world, error);
        }
        let Self { posted, .. } = self;
        posted.cancel(&mut world.kernel);
        // A message that has matched its receive completes, so that the other side need not fail too. Where the wait
        // for it fails, no message refers to the memory any more.
        let _ = world.until(
            |world| match posted.settle(&mut world.kernel, 0, |_, _| ()) {
                Ok(over) => Ok(over.then_some(())),
                Err(pombo_kernel::Error::Channel(error)) => {
                    Err(pombo_kernel::Error::Channel(error).into())
                }
                // One message failed; the others still have to complete.
                Err(_) => Ok(None),
            },
        );
        posted.release(&mut world.kernel);
    }

    /// Returns the scratch memory of an operation that is over.
    pub(super) fn into_scratch(self) -> [Scratch; 2] {
        self.scratch
    }

    /// Returns the communicator's context, for the report that the operation is over.
    pub(super) fn context(&self) -> u32 {
        self.addressing.header.context.get() & !1
    }

    /// Returns the communicator's index in the table.
    pub(super) fn index(&self) -> usize {
        self.addressing.index
    }

    /// Returns the communicator.
    pub(super) fn comm(&self) -> Comm {
        self.addressing.comm
    }
}
