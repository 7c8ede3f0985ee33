//! Ranks over raw Ethernet, on hosts of a segment that each test makes for itself: a bridge in a network namespace.
//! No rights are needed where the system lets users make namespaces; elsewhere the tests say that they are skipped.
#![cfg(all(feature = "ethernet", target_os = "linux"))]

#[path = "ethernet/authenticated.rs"]
mod authenticated;
#[path = "ethernet/cast.rs"]
mod cast;
#[path = "ethernet/casts.rs"]
mod casts;
#[path = "ethernet/conforms.rs"]
mod conforms;
#[path = "ethernet/copies.rs"]
mod copies;
#[path = "ethernet/inside.rs"]
mod inside;
#[path = "ethernet/joins.rs"]
mod joins;
#[path = "ethernet/rights.rs"]
mod rights;
#[path = "ethernet/segment.rs"]
mod segment;
#[path = "ethernet/stranger.rs"]
mod stranger;
#[path = "ethernet/strangers.rs"]
mod strangers;
#[path = "ethernet/troubles.rs"]
mod troubles;
#[path = "ethernet/with_udp.rs"]
mod with_udp;
