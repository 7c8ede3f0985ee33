//! The steps of an operation.

/// One step of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Begin to send a piece to a rank.
    Send {
        /// The destination rank.
        to: usize,
        /// The data.
        piece: Piece,
    },
    /// Begin to receive a piece from a rank.
    Receive {
        /// The source rank.
        from: usize,
        /// Where the data goes.
        piece: Piece,
    },
    /// Wait until at most this many of the messages that have begun, the youngest, are incomplete.
    Await(usize),
    /// `right` = `left` combined with `right`, by the operation of a reduction. Both have the same number of blocks.
    Combine {
        /// The left operand.
        left: Piece,
        /// The right operand and the result.
        right: Piece,
    },
    /// Copy within this rank.
    Copy {
        /// The source.
        from: Piece,
        /// The destination.
        into: Piece,
    },
}

impl Step {
    /// Returns the same step on other pieces.
    pub fn on(self, piece: impl Fn(Piece) -> Piece) -> Step {
        match self {
            Step::Send { to, piece: old } => send(to, piece(old)),
            Step::Receive { from, piece: old } => receive(from, piece(old)),
            Step::Await(open) => Step::Await(open),
            Step::Combine { left, right } => combine(piece(left), piece(right)),
            Step::Copy { from, into } => copy(piece(from), piece(into)),
        }
    }
}

/// One of the operation's buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The contribution of the rank.
    Input,
    /// The result of the rank.
    Output,
    /// What the rank has so far.
    Work,
    /// Received data that is to be combined.
    Incoming,
}

/// Consecutive blocks of a buffer. A piece may have no blocks: then the message itself is the information.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The buffer.
    pub buffer: Buffer,
    /// The first block.
    pub first: usize,
    /// Number of blocks.
    pub blocks: usize,
}

impl Piece {
    /// No bytes.
    pub const NOTHING: Piece = Buffer::Input.blocks(0, 0);

    /// Returns the same blocks of another buffer.
    pub const fn of(self, buffer: Buffer) -> Piece {
        Piece { buffer, ..self }
    }
}

impl Buffer {
    /// Returns block `index`.
    pub const fn block(self, index: usize) -> Piece {
        self.blocks(index, 1)
    }

    /// Returns `blocks` blocks from `first` on.
    pub const fn blocks(self, first: usize, blocks: usize) -> Piece {
        Piece {
            buffer: self,
            first,
            blocks,
        }
    }

    /// Returns the first `blocks` blocks.
    pub const fn all(self, blocks: usize) -> Piece {
        self.blocks(0, blocks)
    }
}

pub(super) const fn send(to: usize, piece: Piece) -> Step {
    Step::Send { to, piece }
}

pub(super) const fn receive(from: usize, piece: Piece) -> Step {
    Step::Receive { from, piece }
}

pub(super) const fn copy(from: Piece, into: Piece) -> Step {
    Step::Copy { from, into }
}

pub(super) const fn combine(left: Piece, right: Piece) -> Step {
    Step::Combine { left, right }
}

/// Waits until every message that has begun is complete.
pub(super) const AWAIT_ALL: Step = Step::Await(0);
