//! The communicator: a header's queues over a channel. Source: the EPOS communication system, section 3.3.

mod arrive;
mod copies;
mod endpoint;
mod engine;
mod flush;
mod hint;
mod hold;
mod lane;
mod loans;
mod matched;
mod operate;
mod operators;
mod post;
mod probe;
mod scope;
mod state;

pub use copies::{COPY_OVERHEAD, Copies};
pub use endpoint::{Communicator, Endpoint, Lengths, Limits, Port, Ports, Single, View};
pub use engine::Engine;
pub use hint::Hints;
pub use hold::Hold;
pub use loans::{Lender, Loans};
pub use operate::{Completed, Operate, Seen};
pub use post::Mode;
pub use scope::{SCOPE_LOANS, Scope};
