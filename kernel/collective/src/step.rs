//! What an operation is made of.

/// One thing for one rank to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Begin to send a piece to a rank.
    Send {
        /// The rank.
        to: usize,
        /// What.
        piece: Piece,
    },
    /// Begin to receive a piece from a rank.
    Receive {
        /// The rank.
        from: usize,
        /// Where to.
        piece: Piece,
    },
    /// Go on only when of everything begun at most so many, the youngest, are not over.
    Await(usize),
    /// `right` = `left` combined with `right`, by the operation of a reduction. Both have as many blocks.
    Combine {
        /// The left operand.
        left: Piece,
        /// The right operand and the result.
        right: Piece,
    },
    /// Copy inside this rank.
    Copy {
        /// From here.
        from: Piece,
        /// To here.
        into: Piece,
    },
}

impl Step {
    /// The same step on other pieces.
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
    /// What the rank contributes.
    Input,
    /// What the rank gets.
    Output,
    /// What it has so far.
    Work,
    /// What came in, to be combined.
    Incoming,
}

/// Some consecutive blocks of a buffer. No blocks at all: the message itself is the information.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Of which buffer.
    pub buffer: Buffer,
    /// The first block.
    pub first: usize,
    /// How many.
    pub blocks: usize,
}

impl Piece {
    /// No bytes.
    pub const NOTHING: Piece = Buffer::Input.blocks(0, 0);

    /// The same blocks of another buffer.
    pub const fn of(self, buffer: Buffer) -> Piece {
        Piece { buffer, ..self }
    }
}

impl Buffer {
    /// Block `index`.
    pub const fn block(self, index: usize) -> Piece {
        self.blocks(index, 1)
    }

    /// `blocks` blocks from `first` on.
    pub const fn blocks(self, first: usize, blocks: usize) -> Piece {
        Piece {
            buffer: self,
            first,
            blocks,
        }
    }

    /// All of so many blocks.
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

/// Everything begun is over.
pub(super) const AWAIT_ALL: Step = Step::Await(0);
