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
mod cost {
    use super::{BYTES, RATIO};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::{env, fs};

    const MANIFEST: &str = r#"
[package]
name = "measure"
edition = "2024"

[[bin]]
name = "measure"
path = "{root}/tests/twin/measure/main.rs"

[dependencies]
pombo-kernel = { path = "{root}/kernel" }
heapless = { version = "0.9", default-features = false }
libc = { version = "0.2", default-features = false }
zerocopy = { version = "0.8", default-features = false, features = ["derive"] }

[profile.release]
lto = "fat"
codegen-units = 1
panic = "abort"

[workspace]
"#;

    /// One line of what the program prints.
    struct Line {
        what: String,
        name: String,
        kernel: u64,
        twin: u64,
    }

    fn build() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let root = root.expect("the workspace");
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let package = temporary.join("twin");
        fs::create_dir_all(&package).expect("a directory for the package");
        let manifest = MANIFEST.replace("{root}", &root.display().to_string());
        fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
        // The same versions as everywhere, and nothing to be downloaded.
        fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let target = temporary.join("twin-target");
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

    fn measure() -> Vec<Line> {
        let ran = Command::new(build()).output().expect("it starts");
        let words = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{}: {words}", ran.status);
        let said = String::from_utf8(ran.stdout).expect("it writes text");
        let line = |line: &str| {
            let mut words = line.splitn(4, ' ');
            let mut word = || words.next().expect("four words").to_owned();
            let (what, kernel, twin, name) = (word(), word(), word(), word());
            let number = |word: String| word.parse().expect("a number");
            Line {
                what,
                name,
                kernel: number(kernel),
                twin: number(twin),
            }
        };
        said.lines().map(line).collect()
    }

    #[test]
    fn what_is_off_costs_nothing() {
        let lines = measure();
        let (mut kernel, mut twin) = (0, 0);
        for line in &lines {
            let ratio = line.kernel as f64 / line.twin as f64;
            println!("{:6} {:6} {ratio:.3} {}", line.kernel, line.twin, line.name);
            match line.what.as_str() {
                // Instructions, and bytes of a communicator: for the table of the crate's page.
                "aspect" => {}
                "bytes" => assert!(ratio <= BYTES, "more bytes {}", line.name),
                _ => {
                    kernel += line.kernel;
                    twin += line.twin;
                }
            }
        }
        assert!(lines.len() > 40 && twin > 1000, "it has measured something");
        let ratio = kernel as f64 / twin as f64;
        println!("{kernel:6} {twin:6} {ratio:.4} all instructions");
        assert!(ratio <= RATIO, "{ratio:.4} is more than {RATIO}");
    }
}
