//! Drives an operation's steps.

use super::{Piece, Step};
use core::iter::Fuse;
use core::ops::ControlFlow;

/// What carries the steps of an operation out: point-to-point messages and work on memory.
///
/// Between two ranks messages arrive in the order in which they were sent. Nothing here blocks.
pub trait Executor {
    /// What can go wrong.
    type Error;

    /// Begins to send. False when there is no room now; the same call comes again after some progress.
    ///
    /// # Errors
    /// What the layer below says; the operation ends with it.
    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Self::Error>;

    /// Begins to receive. False when there is no room now; the same call comes again after some progress.
    ///
    /// # Errors
    /// What the layer below says; the operation ends with it.
    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Self::Error>;

    /// Of everything begun, are all but the `open` youngest over?
    ///
    /// # Errors
    /// What the layer below says of anything begun; the operation ends with it.
    fn are_complete(&mut self, open: usize) -> Result<bool, Self::Error>;

    /// The last step is done: is everything begun over? Comes again after some progress while it says no.
    ///
    /// # Errors
    /// As for [`Executor::are_complete`].
    fn over(&mut self) -> Result<bool, Self::Error> {
        self.are_complete(0)
    }

    /// `right` = `left` combined with `right`.
    fn combine(&mut self, left: Piece, right: Piece);

    /// Copies inside this rank. The two may be the same memory.
    fn copy(&mut self, from: Piece, into: Piece);
}

/// An operation under way. Blocking: poll it to the end. Non-blocking: keep it and poll it now and then.
#[derive(Clone, Debug)]
pub struct Execution<S> {
    steps: Fuse<S>,
    /// The step that could not be done yet.
    next: Option<Step>,
}

impl<S: Iterator<Item = Step>> Execution<S> {
    /// Nothing is begun before the first poll.
    pub fn new(steps: S) -> Self {
        Execution {
            steps: steps.fuse(),
            next: None,
        }
    }

    /// Goes as far as it can; true when the operation is over and nothing that it began is still under way. Polling
    /// again after that is harmless. It makes no progress below: whoever polls sees to that.
    ///
    /// # Errors
    /// The first error of the functions.
    #[inline]
    pub fn poll<F: Executor>(&mut self, executor: &mut F) -> Result<bool, F::Error> {
        if let Some(step) = self.next {
            if !execute(executor, step)? {
                return Ok(false);
            }
            self.next = None;
        }
        // From inside the iterator its parts become loops, as if they were written by hand.
        let stopped = self
            .steps
            .try_for_each(|step| match execute(executor, step) {
                Ok(true) => ControlFlow::Continue(()),
                Ok(false) => ControlFlow::Break(Ok(step)),
                Err(error) => ControlFlow::Break(Err(error)),
            });
        if let ControlFlow::Break(step) = stopped {
            self.next = Some(step?);
            return Ok(false);
        }
        executor.over()
    }
}

/// False if it cannot be done yet.
#[inline]
fn execute<F: Executor>(executor: &mut F, step: Step) -> Result<bool, F::Error> {
    match step {
        Step::Send { to, piece } => return executor.send(to, piece),
        Step::Receive { from, piece } => return executor.receive(from, piece),
        Step::Await(open) => return executor.are_complete(open),
        Step::Combine { left, right } => executor.combine(left, right),
        Step::Copy { from, into } => executor.copy(from, into),
    }
    Ok(true)
}
