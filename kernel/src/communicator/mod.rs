//! The communicator: a header's queues over a channel. Source: the EPOS communication system, section 3.3.

mod announce;
mod arrive;
mod completed;
mod copies;
mod endpoint;
mod engine;
mod flush;
mod hint;
mod hold;
mod lane;
mod loans;
mod loss;
mod matched;
mod operate;
mod operation;
mod operators;
mod peer;
mod post;
mod probe;
mod questions;
mod scope;
mod state;
mod transmit;

pub use completed::{Completed, Seen};
pub use copies::{COPY_OVERHEAD, Copies};
pub use endpoint::{Communicator, Endpoint, Lengths, Limits, Port, Ports, Single, View};
pub use engine::Engine;
pub use loans::{Lender, Loans};
pub use operate::Operate;
pub use peer::{Hints, Hold};
pub use post::Mode;
pub use scope::{SCOPE_LOANS, Scope};
