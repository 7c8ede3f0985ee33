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
