//! Tests that "what is off costs nothing": the kernel with every aspect off against a twin that was written by hand for
//! the same protocol. Both behave alike in all cases; both take the same bytes; and the ratio of the kernel's
//! instructions to the twin's is at most [`RATIO`].
//!
//! Instructions are counted in a separate program (`twin/measure`), built in release mode as one codegen unit, one call
//! at a time.

#[path = "twin/behaviour.rs"]
mod behaviour;
#[path = "twin/face.rs"]
mod face;
#[path = "twin/hand/mod.rs"]
mod hand;
#[path = "twin/lockstep.rs"]
mod lockstep;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "common/measured.rs"]
mod measured;
#[path = "twin/protocol.rs"]
mod protocol;

/// Largest ratio of the kernel's instructions to the twin's, over all measured calls.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const RATIO: f64 = 1.02;
/// Largest ratio of the kernel's bytes to the twin's.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const BYTES: f64 = 1.0;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn skipped() {
    println!(
        "SKIPPED: instructions are counted by the trap flag of x86-64 and the signals of Linux"
    );
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn what_is_off_costs_nothing() {
    let lines = measured::measure("twin");
    let (mut kernel, mut twin) = (0, 0);
    for line in &lines {
        match line.what.as_str() {
            // Instructions, and bytes of a communicator, for the table in the crate's documentation.
            "aspect" => {}
            "bytes" => {
                let ratio = line.ours as f64 / line.hand as f64;
                assert!(ratio <= BYTES, "more bytes {}", line.name);
            }
            _ => {
                kernel += line.ours;
                twin += line.hand;
            }
        }
    }
    assert!(lines.len() > 40 && twin > 1000, "it has measured something");
    let ratio = kernel as f64 / twin as f64;
    println!("{kernel:6} {twin:6} {ratio:.4} all instructions");
    assert!(ratio <= RATIO, "{ratio:.4} is more than {RATIO}");
}
