//! The communicator: one header's queues over one channel. Source: the EPOS communication system, section 3.3.

mod arrive;
mod flush;
mod hold;
mod loans;
mod operate;
mod post;
mod probe;
mod scope;
mod state;

pub use hold::Hold;
pub use loans::{Lender, Loans};
pub use operate::{Completed, Engine, Operate};
pub use post::Mode;
pub use scope::{SCOPE_LOANS, Scope};

use crate::channel::{Channel, MIN_LIMIT};
use crate::config::{Config, Selected};
use crate::error::Error;
use crate::frame::{Handle, LEAD};
use crate::header::{Header, Node};
use crate::matching::{Expected, Unexpected};
use crate::memory::{Bank, Memory};
use state::State;

/// The four queues, the loans, and the channel below. What it can do is in [`Operate`].
pub struct Communicator<H: Header, L: Channel, M: Memory, C: Config = Selected> {
    channel: L,
    state: State<H, C>,
    loans: Loans<M, C>,
}

/// Bounds chosen when a program starts, inside what the composition allows. All nodes must choose the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Places in each peer's pool that a node may take: 1 up to pool / nodes, which is the default.
    pub credit: Option<u32>,
    /// The longest payload in bytes that is sent without an announce: at most the composition's.
    pub eager: Option<usize>,
}

impl<H: Header, L: Channel, M: Memory, C: Config> Communicator<H, L, M, C> {
    const HEADS_FIT: () = assert!(
        LEAD + 2 * size_of::<Handle>() + size_of::<C::Length>() + size_of::<H>() <= MIN_LIMIT
            && LEAD + size_of::<Handle>() + size_of::<H::Pattern>() <= MIN_LIMIT,
        "the header or its pattern is too large: frames must fit 128 bytes without payload"
    );

    /// Over a channel, with the composition's bounds.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::PoolTooSmall`].
    pub fn new(channel: L) -> Result<Self, Error> {
        Self::with_limits(channel, Limits::default())
    }

    /// Over a channel, with smaller bounds.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::PoolTooSmall`].
    pub fn with_limits(channel: L, limits: Limits) -> Result<Self, Error> {
        const { Self::HEADS_FIT };
        let mut state = State::new(channel.node(), channel.nodes())?;
        if let Some(credit) = limits.credit {
            state.set_credit(credit.clamp(1, state.credit));
        }
        if let Some(eager) = limits.eager {
            state.eager = state.eager.min(eager);
        }
        Ok(Communicator {
            channel,
            state,
            loans: Loans::new(),
        })
    }

    /// This node.
    pub fn node(&self) -> Node {
        self.channel.node()
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.channel.nodes()
    }

    /// The channel below.
    pub fn channel(&self) -> &L {
        &self.channel
    }

    /// The channel below. Sending on it directly breaks the kernel's order.
    pub fn channel_mut(&mut self) -> &mut L {
        &mut self.channel
    }

    /// How long the queues are now.
    pub fn lengths(&self) -> Lengths {
        Lengths {
            operations: self.state.operations.len(),
            expected: self.state.expected.len(),
            unexpected: self.state.unexpected.len(),
        }
    }

    /// Frames dropped because no rule of the protocol explains them.
    pub fn rejected(&self) -> u64 {
        self.state.rejected
    }

    /// Every frame that was due has been taken by the channel; what is left waits for the peers.
    pub fn is_flushed(&self) -> bool {
        !self.state.due
    }
}

/// How long the queues are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Sends and receives that are under way or unclaimed.
    pub operations: usize,
    /// Receives that wait for a message.
    pub expected: usize,
    /// Messages that wait for a receive.
    pub unexpected: usize,
}

impl<H: Header, L: Channel, M: Memory, C: Config> Operate for Communicator<H, L, M, C> {
    type Header = H;
    type Channel = L;
    type Memory = M;
    type Config = C;

    #[inline]
    fn engine(&mut self) -> Engine<'_, H, L, C, impl Lender<M> + Bank> {
        Engine {
            state: &mut self.state,
            channel: &mut self.channel,
            bank: &mut self.loans,
        }
    }
}
