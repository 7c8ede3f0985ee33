//! Collective operations as topology x direction x functions. Source: the EPOS thesis, section 4.4.
//!
//! An operation is an iterator of [`Step`]s, one rank's part, made from a topology. It knows neither a protocol nor
//! memory: a [`Functions`] object carries the steps out, over a communicator, over MPI or over anything else that
//! sends and receives. [`Running`] drives it without ever blocking.

mod operations;
mod running;

pub use operations::{allgather, alltoall, barrier, broadcast, gather, reduce, scatter};
pub use running::{Functions, Running};

/// One thing for one rank to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Begin to send a block to a rank.
    Send {
        /// The rank.
        to: usize,
        /// What.
        block: Block,
    },
    /// Begin to receive a block from a rank.
    Receive {
        /// The rank.
        from: usize,
        /// Where to.
        block: Block,
    },
    /// Go on only when everything begun is over.
    Fence,
    /// `into` = `from` combined with `into`, by the operation of a reduction.
    Combine {
        /// The left operand.
        from: Block,
        /// The right operand and the result.
        into: Block,
    },
    /// Copy inside this rank.
    Copy {
        /// From here.
        from: Block,
        /// To here.
        into: Block,
    },
}

/// A piece of one of the operation's buffers; how large block i of a buffer is, and where, only [`Functions`] know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// Block of the rank's contribution.
    Input(usize),
    /// Block of the rank's result.
    Output(usize),
    /// What a reduction has so far: the result itself at the root, a temporary elsewhere.
    Partial,
    /// A temporary for what comes in.
    Incoming,
    /// No bytes: the message itself is the information.
    Nothing,
}
