//! What iterators cost against loops written by hand. Instructions are counted in a program of its own
//! (`collectives/measure`), built in release mode as one codegen unit, one call at a time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Instructions of all iterators for each of the loops.
const ITERATORS: f64 = 1.02;
/// Instructions of one operation for each of the loop, and for setting up what can stop and go on at every step.
const OPERATION: (f64, u64) = (1.2, 250);

const MANIFEST: &str = r#"
[package]
name = "measure"
edition = "2024"

[[bin]]
name = "measure"
path = "{root}/tests/collectives/measure/main.rs"

[dependencies]
pombo-kernel = { path = "{root}/kernel" }
libc = { version = "0.2", default-features = false }

[profile.release]
lto = "fat"
codegen-units = 1
panic = "abort"

[workspace]
"#;

fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("the workspace");
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = temporary.join("iterators");
    fs::create_dir_all(&package).expect("a directory for the package");
    let manifest = MANIFEST.replace("{root}", &root.display().to_string());
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    // The same versions as everywhere, and nothing to be downloaded.
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = temporary.join("iterators-target");
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--offline"])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the program that measures does not build");
    target.join("release/measure")
}

#[test]
fn iterators_cost_what_loops_cost() {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("SKIPPED: instructions are counted by the trap flag of x86-64");
        return;
    }
    let ran = Command::new(build()).output().expect("it starts");
    let words = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {words}", ran.status);
    let said = String::from_utf8(ran.stdout).expect("it writes text");
    let (mut iterators, mut loops, mut operations) = (0, 0, 0);
    for line in said.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        let [what, ours, hand, name] = words[..] else {
            panic!("not a line of measurements: {line}")
        };
        let [ours, hand]: [u64; 2] = [ours, hand].map(|number| number.parse().expect("a number"));
        let ratio = ours as f64 / hand as f64;
        println!("{ours:6} {hand:6} {ratio:.3} {name}");
        if what == "iterator" {
            iterators += ours;
            loops += hand;
        } else {
            operations += 1;
            let bar = hand as f64 * OPERATION.0 + OPERATION.1 as f64;
            assert!(
                ours as f64 <= bar,
                "{name}: {ours} instructions, by hand {hand}"
            );
        }
    }
    assert!(loops > 1000 && operations > 10, "it has measured something");
    let ratio = iterators as f64 / loops as f64;
    println!("{iterators:6} {loops:6} {ratio:.4} all iterators");
    assert!(ratio <= ITERATORS, "{ratio:.4} is more than {ITERATORS}");
}
