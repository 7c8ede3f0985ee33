//! "What is off costs nothing": the kernel with everything off against a twin that was written by hand for the same
//! protocol. Both behave alike, whatever happens to them; both take the same bytes; and the kernel executes at most so
//! many instructions more as [`RATIO`] says.
//!
//! Instructions are counted in a program of its own (`twin/measure`), built in release mode as one codegen unit, one
//! call at a time.

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

/// Instructions of the kernel for each of the twin, over all measured calls.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const RATIO: f64 = 1.02;
/// Bytes of the kernel for each of the twin.
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
            // Instructions, and bytes of a communicator: for the table of the crate's page.
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
