//! A communication kernel: messages in envelopes, matched by header, for any protocol.
//!
//! Most communication systems may not look at the header of the protocol above them, so every protocol writes its own
//! queues, rendezvous and progress. Here the header is a type parameter: [`Communicator<H, L, M, C>`](Communicator)
//! owns the queues once, for every header `H`, over every channel `L`, for every kind of memory `M`, composed of the
//! policies that `C` names. `no_std`, no allocator, no `unsafe`; no atomics either, so targets without compare-and-swap
//! are served. Interrupt handlers and threads meet in the channel below, never here.
//!
//! ```
//! use pombo_kernel::channel::SelfChannel;
//! use pombo_kernel::prelude::*;
//!
//! header! {
//!     struct Topic { number: u8 }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let mut comm = Communicator::<Topic, _, Lent<'_>>::new(SelfChannel::<1024>::new())?;
//! comm.send(Peer(0), Topic { number: 7 }, b"to myself")?;
//! let mut text = [0; 16];
//! let envelope = comm.recv(Any.into(), &mut text)?;
//! assert_eq!((envelope.header().number, &text[..envelope.len()]), (7, &b"to myself"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! Programs and drivers use the items below and in the modules; [`facade`] is for protocol libraries.
//!
//! # Aspects
//!
//! Every policy is a type that always exists ([`aspect`], [`matching`]); a [`Config`] names one of each family, usually
//! as [`Composition`]. Cargo features only select [`Selected`], the default composition, so a feature never changes the
//! behaviour of other code. A policy that is off takes no bytes and no instructions.
//!
//! | family | policies | feature | bytes of an envelope | bytes of a communicator | instructions |
//! | --- | --- | --- | --- | --- | --- |
//! | *everything off* | | | *12* | *6624* | *892* |
//! | length | `U32`, `U64` | | 4 | 128 | 0 |
//! | transfer | `Eager`, `Rendezvous<THRESHOLD>` | `rendezvous` | 9 | 1224 | 147 |
//! | | `EarlyData<THRESHOLD, FRAMES>` | | 9 | 1672 | 160 |
//! | | `ReceiverInitiated<THRESHOLD>` | | 9 | 1672 | 768, a frame among them |
//! | matcher | `Linear`, `NoQueues`; `Binned`; `Adaptive` | | 0 | 0; 2856; 2856 | 0; 121; -69 |
//! | observer | `Unobserved`, `Counting` | `observer` | 0 | 104 | 0 |
//! | datatypes | `NoDatatypes`, `Basic`, `Contiguous`, `Full` | `datatypes-basic`, `-contiguous`, `-full` | 0 | 0; more in a loan of such memory | 0 |
//! | representation | `Homogeneous`, `Heterogeneous`, `Canonical` | `heterogeneous` | 0 | 0 | 0, but what converting takes |
//! | buffering | `Unbuffered`, `Buffered` | `buffering` | 0 | 1472 | 0 |
//! | storage | `Static`, or growing (`pombo-netdrivers`) | | 0 | tables go to the heap | |
//!
//! Each row gives the cost of the policy in addition to the first row: a header of 6 bytes, 16 operations, a pool of 32
//! messages of 64 bytes, 8 peers. Instructions are those of a short message with a posted receive, from both posts to
//! both claims; 0 stands for less than 40 either way, which is noise of register allocation. Measured with rustc 1.95
//! on x86-64; `cargo test -p pombo-kernel --test twin -- --nocapture` prints them anew, beside those of the same
//! protocol written by hand: as many bytes, and at most 2 % more instructions.
//!
//! # Bounds, and the behaviour at each
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | sends and receives in progress or unclaimed | `Sizes::Operations` | [`Error::Full`], the buffer comes back |
//! | unexpected messages of one peer | `Sizes::Pool` / peers, or [`Limits::credit`] | the peer keeps its messages (rendezvous), or its sends are [`Error::NoCredit`] |
//! | eager payload | the least of `Sizes::Cell`, the threshold, [`Limits::eager`], a frame | announced (rendezvous), or
//! [`Error::TooLong`] |
//! | message length | the length type | [`Error::TooLong`] |
//! | peers | `Sizes::Peers` | [`Error::TooManyPeers`] when the communicator is created |
//! | header and pattern | frames of 128 bytes | does not compile |
//! | loans of one scope | [`SCOPE_LOANS`] | [`Error::Full`] |
//! | frames that violate the protocol | | dropped and counted |
//!
//! # Costs
//!
//! | operation | cost |
//! | --- | --- |
//! | send | O(1), one frame if there is credit and room |
//! | receive | one search of the unexpected queue |
//! | arrival | one search of the expected queue, one copy into the posted buffer (or into the pool) |
//! | claim | O(1) |
//! | probe | one search; a query to each peer that holds messages |
//! | matched probe | as a probe; the message keeps its pool slot until it is received |
//! | cancel | O(1) for receives and held sends; an announced send asks the peer |
//! | loss of a peer | one pass over the operations |
//! | progress without events | the channel's poll |
//!
//! Progress happens inside calls. A bare-metal system chooses the longest interval between two calls itself: nothing is
//! lost in between, peers only wait. A blocking call lets the channel wait ([`Channel::wait`]), which may spin, yield
//! or wait for an interrupt; [`channel::WithWaitPolicy`] replaces this by the program's own policy.
#![no_std]
#![forbid(unsafe_code)]

pub mod aspect;
pub mod channel;
mod communicator;
mod composition;
mod config;
pub mod envelope;
mod error;
mod forward;
mod frame;
pub mod header;
pub mod layout;
pub mod mailbox;
pub mod matching;
pub mod memory;
pub mod network;
mod patterns;
pub mod prelude;
mod slab;
pub mod text;

pub use channel::{Arrival, Channel, ChannelError, Cookie, Event, Sent};
pub use communicator::{
    Communicator, Completed, Endpoint, Limits, Mode, PointToPoint, Port, PortView, Ports,
    SCOPE_LOANS, Scope, Single,
};
pub use composition::{Capacities, Composition, Envelope, Selected, fingerprint};
pub use config::{Config, Sizes};
pub use error::{Error, Refused};
pub use header::{Header, Pattern, Peer, Wire};
pub use memory::{
    LayoutSink, LayoutSource, Lent, Loan, Memory, Part, Repeated, Sink, Source, Ticket, Typed,
    Values, ValuesMut, WithLayout,
};
pub use network::Network;
pub use patterns::{Any, Exact, Select};

/// Items for authors of a protocol library such as MPI on the kernel, in addition to those for programs.
pub mod facade {
    pub use crate::communicator::{
        Awaited, COPY_OVERHEAD, FirstPort, Inspect, Lengths, MultiPort, Peeked, PointToPointExt,
        Received, slot_bytes,
    };
}

// The expansion of `header!` names this package from outside, and the package's tests are inside.
extern crate self as pombo_kernel;
#[doc(hidden)]
pub use zerocopy as __zerocopy;
