//! The Pombo communication kernel.
#![no_std]
#![forbid(unsafe_code)]

pub mod aspect;
pub mod channel;
pub mod collective;
mod communicator;
mod config;
mod envelope;
mod error;
mod frame;
pub mod header;
pub mod matching;
pub mod memory;
pub mod network;
mod slab;
pub mod topology;

pub use channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
pub use communicator::{
    Communicator, Completed, Endpoint, Engine, Hold, Lender, Lengths, Limits, Loans, Mode, Operate,
    Port, Ports, SCOPE_LOANS, Scope, Single, View,
};
pub use config::{Compose, Config, Selected, Size, Sizes, fingerprint};
pub use envelope::Envelope;
pub use error::{Error, Refused};
pub use header::{Header, Node, Pattern, Wire};
pub use memory::{
    Bank, Lent, Loan, Memory, Part, Repeated, Segmented, Segments, Sink, Source, Ticket, Typed,
    Values, ValuesMut,
};
pub use network::Network;
