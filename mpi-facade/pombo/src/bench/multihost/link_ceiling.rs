//! The limited network between hosts: its rate and the payload that it carries. Only `multihost` uses it.

use serde_json::{Value, json};

use super::super::library::Library;
use super::super::network_namespaces::{self, MTU, Rate};

/// The network that was measured.
pub(super) struct Link {
    pub(super) rate: Rate,
    /// The congestion control of TCP.
    pub(super) tcp: String,
}

impl Link {
    /// Returns the largest rate of payload at a receiver, in millions of bytes per second: the rate of the network
    /// without the headers of the library's frames.
    pub(super) fn ceiling(&self, library: &Library) -> f64 {
        let besides = library.besides() as u32;
        self.rate.bytes() * f64::from(MTU - besides) / f64::from(MTU + ETHERNET)
    }

    pub(super) fn value(&self, libraries: &[Library]) -> Value {
        let ceilings = libraries
            .iter()
            .map(|one| (one.name.clone(), Value::from(self.ceiling(one))));
        json!({
            "megabits": self.rate.megabits,
            "burst_bytes": network_namespaces::BURST,
            "queue_bytes": network_namespaces::QUEUE,
            "mtu": MTU,
            "tcp": self.tcp,
            "ceilings": Value::Object(ceilings.collect()),
        })
    }
}

/// Bytes of a frame that the shaper counts in addition to its content.
const ETHERNET: u32 = 14;
