//! Builds programs that count instructions, in release mode as one codegen unit, because the figures must not depend on
//! the build of the test. `twin` and `collectives` use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const MANIFEST: &str = r#"
[package]
name = "measure"
edition = "2024"

[[bin]]
name = "measure"
path = "{root}/tests/{folder}/measure/main.rs"

[dependencies]
pombo-kernel = { path = "{root}/kernel" }
pombo-collective = { path = "{root}/kernel/collective" }
heapless = { version = "0.9", default-features = false }
libc = { version = "0.2", default-features = false }
zerocopy = { version = "0.8", default-features = false, features = ["derive"] }

[profile.release]
lto = "fat"
codegen-units = 1
panic = "abort"

[workspace]
"#;

/// One line of such a program's output: a subject, two figures, a name.
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) ours: u64,
    pub(crate) hand: u64,
    pub(crate) name: String,
}

/// Builds and runs `tests/FOLDER/measure`.
pub(crate) fn measure(folder: &str) -> Vec<Line> {
    let ran = Command::new(build(folder)).output().expect("it starts");
    let words = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {words}", ran.status);
    let said = String::from_utf8(ran.stdout).expect("it writes text");
    said.lines().map(line).collect()
}

fn line(text: &str) -> Line {
    let words: Vec<_> = text.splitn(4, ' ').collect();
    let [what, ours, hand, name] = words[..] else {
        panic!("not a line of measurements: {text}")
    };
    let number = |word: &str| word.parse().expect("a number");
    let line = Line {
        what: what.to_owned(),
        ours: number(ours),
        hand: number(hand),
        name: name.to_owned(),
    };
    let ratio = line.ours as f64 / line.hand as f64;
    println!("{ours:>6} {hand:>6} {ratio:.3} {name}");
    line
}

fn build(folder: &str) -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = above.find(|folder| folder.join("Cargo.lock").exists());
    let root = root.expect("the workspace");
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = temporary.join(folder);
    fs::create_dir_all(&package).expect("a directory for the package");
    let manifest = MANIFEST
        .replace("{root}", &root.display().to_string())
        .replace("{folder}", folder);
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    // The lock file gives the workspace's versions, so that cargo downloads nothing.
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = temporary.join(format!("{folder}-target"));
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
