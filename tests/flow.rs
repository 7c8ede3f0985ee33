//! Tests the transport of messages: floods, waiting, cancels, losses, bad frames, unusual headers.
//!
//! Ranks are threads over loopback where they must run at the same time, and are polled in turn in one thread where the
//! exact order of events matters.

#[path = "flow/bounds.rs"]
mod bounds;
#[path = "flow/cancel.rs"]
mod cancel;
mod common;
#[path = "flow/credit.rs"]
mod credit;
#[path = "flow/early.rs"]
mod early;
#[path = "flow/flood.rs"]
mod flood;
#[path = "flow/forged.rs"]
mod forged;
#[path = "flow/help.rs"]
mod help;
#[path = "flow/later.rs"]
mod later;
#[path = "flow/lost.rs"]
mod lost;
#[path = "flow/mailbox.rs"]
mod mailbox;
#[path = "flow/probe.rs"]
mod probe;
#[path = "flow/stream.rs"]
mod stream;
#[path = "flow/traffic.rs"]
mod traffic;
