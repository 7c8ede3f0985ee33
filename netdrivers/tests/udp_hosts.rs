//! Ranks as processes on hosts of their own, over UDP. Where the system allows no such hosts, the tests say so and pass.
//!
//! `POMBO_MEASURE=1` with `--nocapture` prints what the round trip between two hosts costs, and how fast long
//! messages are.
#![cfg(all(feature = "udp", target_os = "linux"))]

#[path = "udp_hosts/bandwidth.rs"]
mod bandwidth;
#[path = "udp_hosts/conforms.rs"]
mod conforms;
#[path = "udp_hosts/crew.rs"]
mod crew;
#[path = "../../tests/common/hosts.rs"]
mod hosts;
#[path = "udp_hosts/latency.rs"]
mod latency;
