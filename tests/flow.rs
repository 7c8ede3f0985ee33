//! What happens to messages on their way: floods, waiting, cancels, losses, bad frames, foreign headers.
//!
//! Ranks are threads over loopback where they must run at the same time, and take turns in one thread where the
//! exact order of events matters.

mod common;
#[path = "flow/credit.rs"]
mod credit;
#[path = "flow/forged.rs"]
mod forged;
#[path = "flow/help.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "each test uses a part of it")]
mod help;
#[path = "flow/later.rs"]
mod later;
#[path = "flow/lost.rs"]
mod lost;
#[path = "common/moody.rs"]
mod moody;
#[path = "flow/probe.rs"]
mod probe;
