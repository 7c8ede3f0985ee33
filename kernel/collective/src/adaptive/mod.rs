//! A minimum spanning tree that processes build and adapt among themselves: each knows its own links, none the graph.
//! Sources: Gallager, Humblet and Spira, 1983; Cheng, Cimet and Kumar, 1988; the paper on collectives on adaptive
//! spanning trees.
//!
//! [`Process`] is the state machine of one process. [`AdaptiveTree`] is its view of the tree for any root, a
//! [`crate::topology::Tree`] for every operation of this package. [`Monitor`] measures the links and tells which have
//! changed.
//!
//! A round adapts the tree: the ends of each link agree on its weight, links that became worse are dealt with, then
//! those that became better. Two detectors tell every process when each of the two is over. Files `search`, `waves` and
//! `exchange` describe the parts.
//!
//! ```
//! use pombo_collective::adaptive::{AdaptiveError, EdgeState, Link, Process};
//!
//! /// Carries messages until nobody has one.
//! fn exchange(processes: &mut [Process<[Link; 2]>; 3]) -> Result<(), AdaptiveError> {
//!     let mut quiet = false;
//!     while !quiet {
//!         quiet = true;
//!         for from in 0..3 {
//!             while let Some((link, message)) = processes[from].next_outgoing() {
//!                 quiet = false;
//!                 let to = &mut processes[processes[from].links()[link].neighbour() as usize];
//!                 let link = to.link_to(from as u32).expect("a neighbour");
//!                 to.receive(link, &message)?;
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # fn main() -> Result<(), AdaptiveError> {
//! // Three processes; the link between 1 and 2 takes longest, in ns.
//! let mut processes = [
//!     Process::new(0, 3, [Link::new(1, 10_000), Link::new(2, 20_000)])?,
//!     Process::new(1, 3, [Link::new(0, 10_000), Link::new(2, 30_000)])?,
//!     Process::new(2, 3, [Link::new(0, 20_000), Link::new(1, 30_000)])?,
//! ];
//! processes.iter_mut().for_each(|process| process.start());
//! exchange(&mut processes)?;
//! assert_eq!(processes[0].links().iter().filter(|link| link.state() == EdgeState::Branch).count(), 2);
//!
//! // It became faster: the link between 0 and 2 leaves the tree.
//! processes[1].set_weight(1, 5_000)?;
//! processes[2].set_weight(1, 5_000)?;
//! processes.iter_mut().for_each(|process| assert_eq!(process.adapt(), 1));
//! exchange(&mut processes)?;
//! assert!(processes.iter().all(|process| process.is_settled()));
//! assert_eq!(processes[0].links()[1].state(), EdgeState::Rejected);
//! # Ok(())
//! # }
//! ```

mod error;
mod exchange;
mod forecast;
mod link;
mod machine;
mod message;
mod monitor;
mod orientation;
mod process;
mod search;
mod waves;

pub use error::AdaptiveError;
pub use forecast::{Forecast, Forecaster, WINDOW};
pub use link::{EdgeState, Link, OUTGOING};
use link::{EdgeWeight, Fragment};
pub use machine::Counters;
pub use message::{Kind, Message};
pub use monitor::{LinkMonitor, Monitor, Probe, ProbeReply, Threshold};
pub use orientation::{AdaptiveChildren, AdaptiveTree, Oriented};
pub use process::{Process, ProcessState};
