//! The misbehaviour that tests rely on: it is what the plan says, it repeats, and it stays inside what is allowed.
#![cfg(all(feature = "shm", target_os = "linux"))]

#[path = "fault/adversarial_channel.rs"]
mod adversarial_channel;
#[path = "fault/arq.rs"]
mod arq;
#[path = "fault/chance.rs"]
mod chance;
#[path = "fault/network.rs"]
mod network;
