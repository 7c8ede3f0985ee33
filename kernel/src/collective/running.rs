//! Drives an operation's steps.

use super::{Block, Step};

/// What carries the steps of an operation out.
pub trait Functions {
    /// What can go wrong.
    type Error;

    /// Begins to send.
    ///
    /// # Errors
    /// What the layer below says; the operation ends with it.
    fn send(&mut self, to: usize, block: Block) -> Result<(), Self::Error>;

    /// Begins to receive.
    ///
    /// # Errors
    /// What the layer below says; the operation ends with it.
    fn receive(&mut self, from: usize, block: Block) -> Result<(), Self::Error>;

    /// Is everything begun over? Makes progress, never blocks.
    ///
    /// # Errors
    /// What the layer below says of anything begun; the operation ends with it.
    fn settled(&mut self) -> Result<bool, Self::Error>;

    /// `into` = `from` combined with `into`.
    fn combine(&mut self, from: Block, into: Block);

    /// Copies inside this rank.
    fn copy(&mut self, from: Block, into: Block);
}

/// An operation under way. Blocking: poll it to the end. Non-blocking: keep it and poll it now and then.
pub struct Running<S> {
    steps: S,
    fenced: bool,
}

impl<S: Iterator<Item = Step>> Running<S> {
    /// Nothing is begun before the first poll.
    pub fn new(steps: S) -> Self {
        Running {
            steps,
            fenced: false,
        }
    }

    /// Goes as far as it can; true when the operation is over. Polling again after that is harmless.
    ///
    /// # Errors
    /// The first error of the functions.
    pub fn poll<F: Functions>(&mut self, functions: &mut F) -> Result<bool, F::Error> {
        loop {
            if self.fenced {
                if !functions.settled()? {
                    return Ok(false);
                }
                self.fenced = false;
            }
            match self.steps.next() {
                None => return Ok(true),
                Some(Step::Send { to, block }) => functions.send(to, block)?,
                Some(Step::Receive { from, block }) => functions.receive(from, block)?,
                Some(Step::Fence) => self.fenced = true,
                Some(Step::Combine { from, into }) => functions.combine(from, into),
                Some(Step::Copy { from, into }) => functions.copy(from, into),
            }
        }
    }
}
