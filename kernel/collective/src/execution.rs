//! Drives the steps of an operation.

use super::{Piece, Step};
use core::iter::Fuse;
use core::ops::ControlFlow;

/// Carries out the steps of an operation: point-to-point messages and work on memory. No method blocks.
///
/// Messages between two ranks arrive in the order in which they were sent.
pub trait Executor {
    /// The error of the layer below.
    type Error;

    /// Begins to send. Returns false if there is no room; the caller repeats the call after some progress.
    ///
    /// # Errors
    /// The error of the layer below, which ends the operation.
    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Self::Error>;

    /// Begins to receive. Returns false if there is no room; the caller repeats the call after some progress.
    ///
    /// # Errors
    /// The error of the layer below, which ends the operation.
    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Self::Error>;

    /// Returns whether all messages but the `open` youngest are complete.
    ///
    /// # Errors
    /// The error of the layer below for any message that has begun, which ends the operation.
    fn are_complete(&mut self, open: usize) -> Result<bool, Self::Error>;

    /// Returns whether everything is complete after the last step. While it returns false, the caller repeats the call
    /// after some progress.
    ///
    /// # Errors
    /// As for [`Executor::are_complete`].
    fn over(&mut self) -> Result<bool, Self::Error> {
        self.are_complete(0)
    }

    /// Computes `right` = `left` combined with `right`.
    fn combine(&mut self, left: Piece, right: Piece);

    /// Copies within this rank. Source and destination may be the same memory.
    fn copy(&mut self, from: Piece, into: Piece);
}

/// An operation under way. A blocking caller polls it until it is complete; a non-blocking caller keeps it and polls it
/// now and then.
#[derive(Clone, Debug)]
pub struct Execution<S> {
    steps: Fuse<S>,
    /// The step that had no room yet.
    next: Option<Step>,
}

impl<S: Iterator<Item = Step>> Execution<S> {
    /// Creates an execution of these steps, which begins nothing before the first poll.
    pub fn new(steps: S) -> Self {
        Execution {
            steps: steps.fuse(),
            next: None,
        }
    }

    /// Carries out as many steps as possible. Returns true when the operation and all its messages are complete;
    /// polling again after that is harmless. The caller makes the layer below progress.
    ///
    /// # Errors
    /// The first error of the executor.
    #[inline]
    pub fn poll<F: Executor>(&mut self, executor: &mut F) -> Result<bool, F::Error> {
        if let Some(step) = self.next {
            if !execute(executor, step)? {
                return Ok(false);
            }
            self.next = None;
        }
        // Internal iteration lets the compiler turn chained iterators into plain loops.
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

/// Returns false if the step has no room yet.
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
