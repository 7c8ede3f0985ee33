//! The Pombo communication kernel.
#![no_std]
#![forbid(unsafe_code)]

pub mod channel;
pub mod header;
pub mod memory;

pub use channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
pub use header::{Header, Node, Pattern, Wire};
pub use memory::{Lent, Loan, Memory, Part, Sink, Source, Ticket};
