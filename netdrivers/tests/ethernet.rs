//! Ranks over raw Ethernet, on hosts of a segment that each test makes for itself: a bridge in a network namespace.
//! No rights are needed where the system lets users make namespaces; elsewhere the tests say that they are skipped.
#![cfg(all(feature = "std", feature = "ethernet", target_os = "linux"))]

#[path = "ethernet/conforms.rs"]
mod conforms;
#[path = "ethernet/joins.rs"]
mod joins;
#[cfg(feature = "sealed")]
#[path = "ethernet/sealed.rs"]
mod sealed;
#[path = "ethernet/segment.rs"]
mod segment;
#[path = "ethernet/strangers.rs"]
mod strangers;
