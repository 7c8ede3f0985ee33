//! A communication kernel: messages in envelopes, matched by header, for any protocol.
//!
//! Most communication systems may not look at the header of the protocol above them, so every protocol writes its own
//! queues, rendezvous and progress. Here the header is a type parameter: [`Communicator<H, L, M, C>`](Communicator)
//! owns the queues once, for every header `H`, over every channel `L`, for every kind of memory `M`, composed of the
//! policies that `C` names. `no_std`, no allocator, no `unsafe`; no atomics either, so targets without compare-and-swap
//! are served. Interrupt handlers and threads meet in the channel below, never here.
//!
//! ```
//! use pombo_kernel::{Communicator, Error, Header, Lent, Node, Operate, Pattern};
//! use pombo_netdrivers::Loopback;
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
//!
//! #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
//! #[repr(C)]
//! struct Topic(u8);
//!
//! impl Header for Topic {
//!     type Pattern = Topic;
//! }
//!
//! impl Pattern<Topic> for Topic {
//!     fn matches(&self, _from: Node, arrived: &Topic) -> bool {
//!         self.0 == 0 || self.0 == arrived.0
//!     }
//!     fn source(&self) -> Option<Node> {
//!         None
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let mut ranks = Loopback::world(1);
//! let mut comm = Communicator::<Topic, _, Lent<'_>>::new(ranks.remove(0))?;
//! comm.send_from(Node(0), Topic(7), b"to myself")?;
//! let mut text = [0; 16];
//! let envelope = comm.receive_into(Topic(0), &mut text)?;
//! assert_eq!((envelope.header().0, &text[..envelope.len()]), (7, &b"to myself"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Aspects
//!
//! Every policy is a type that always exists ([`aspect`], [`matching`]); a [`Config`] names one of each family, usually
//! as [`Compose`]. Cargo features only choose [`Selected`], the composition that is taken when none is named, so a
//! feature never changes what other code observes. What is off takes no bytes and no instructions.
//!
//! | family | policies | feature | bytes it adds |
//! | --- | --- | --- | --- |
//! | length | `U32`, `U64` | | 4 to an envelope |
//! | transfer | `Eager`, `Rendezvous<THRESHOLD>`, `ReceiverFirst<THRESHOLD>` | `rendezvous` | 9 to an envelope, 60 to 70 for each peer; hints 40 more |
//! | datatypes | `NoDatatypes`, `Basic`, `Contiguous`, `Full` | `datatypes-basic`, `-contiguous`, `-full` | 0; their memories 8, 16 and more to a loan |
//! | representation | `Homogeneous`, `Heterogeneous`, `Canonical` | `heterogeneous` | 0 |
//! | buffering | `Unbuffered`, `Buffered` | `buffering` | a cell for each operation (static storage), a vector (growing) |
//! | observer | `Unobserved`, `Counting` | `observer` | 104 to a communicator |
//! | matcher | [`matching`] | | see there |
//! | storage | `Static`, or growing (`pombo-netdrivers`) | | |
//!
//! With everything off an envelope takes the header and 6 bytes. (Measured with a header of 6 bytes on x86-64.)
//!
//! # Bounds, and what happens there
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | sends and receives under way or unclaimed | `Sizes::Operations` | [`Error::Full`], the buffer comes back |
//! | unexpected messages of one peer | `Sizes::Pool` / nodes, or [`Limits::credit`] | the peer keeps its messages (rendezvous), or its sends are [`Error::NoCredit`] |
//! | payload without an announce | the least of `Sizes::Cell`, the threshold, [`Limits::eager`], a frame | announced (rendezvous), or [`Error::TooLong`] |
//! | message length | the length type | [`Error::TooLong`] |
//! | nodes | `Sizes::Nodes` | [`Error::TooManyNodes`] when the communicator is made |
//! | header and pattern | frames of 128 bytes | does not compile |
//! | loans of one scope | [`SCOPE_LOANS`] | [`Error::Full`] |
//! | frames that no rule explains | | dropped and counted |
//!
//! # Costs
//!
//! | operation | cost |
//! | --- | --- |
//! | send | O(1), one frame if there is credit and room |
//! | receive | one search of the unexpected queue |
//! | arrival | one search of the expected queue, one copy into the posted buffer (or into the pool) |
//! | claim | O(1) |
//! | probe | one search; a question to each peer that holds messages back |
//! | matched probe | as a probe; the message keeps its place in the pool until it is received |
//! | cancel | O(1) for receives and held sends; an announced send asks the peer |
//! | a peer is lost | one pass over the operations |
//! | progress with nothing to do | the channel's poll |
//!
//! Progress happens inside calls. A bare system chooses the longest interval between two calls itself: nothing is lost
//! in between, peers only wait. Where a call blocks it lets the channel wait ([`Channel::wait`]), which may spin, yield
//! or wait for an interrupt; [`channel::Waiting`] puts a program's own policy in its place.
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
pub mod model;
pub mod network;
mod slab;
pub mod topology;

pub use channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
pub use communicator::{
    Communicator, Completed, Endpoint, Engine, Hints, Hold, Lender, Lengths, Limits, Loans, Mode,
    Operate, Port, Ports, SCOPE_LOANS, Scope, Single, View,
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
