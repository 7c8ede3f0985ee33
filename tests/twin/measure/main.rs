//! A separate program that runs the same calls on kernel and twin and prints how many instructions each executes.
//!
//! The test `twin` builds it in release mode, in one codegen unit, runs it, and compares.
#![allow(dead_code, reason = "the tests use more of what they share")]

mod aspects;
#[path = "../face.rs"]
mod face;
#[path = "../hand/mod.rs"]
mod hand;
#[path = "../mirror.rs"]
mod mirror;
#[path = "../protocol.rs"]
mod protocol;
mod scenes;
mod step;

use face::Kernel;
use hand::Twin;
use mirror::Mirror;
use protocol::{Off, Tagged};

fn main() {
    let size = |what, kernel, twin| println!("bytes {kernel} {twin} {what}");
    size(
        "of an envelope",
        size_of::<pombo_kernel::Envelope<Tagged, Off>>(),
        size_of::<hand::Envelope>(),
    );
    size(
        "of a communicator",
        size_of::<Kernel<'_, Mirror>>(),
        size_of::<Twin<'_, Mirror>>(),
    );
    let kernel = scenes::play::<Kernel<'static, Mirror>>();
    let twin = scenes::play::<Twin<'static, Mirror>>();
    for (kernel, twin) in kernel.iter().zip(&twin) {
        assert_eq!(kernel.call, twin.call);
        println!("steps {} {} {}", kernel.steps, twin.steps, kernel.call);
    }
    aspects::print();
}
