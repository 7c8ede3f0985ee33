//! Tests the kernel in a program without a standard library and without an allocator: it builds, runs, and is small.
//!
//! The program is in `bare/`. It is built in a package of its own, so that no feature and no profile of the workspace
//! affects it.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[test]
fn skipped() {
    println!("SKIPPED: the bare program ends by a system call of Linux on x86-64 or aarch64");
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::{env, fs};

    const MANIFEST: &str = r#"
[package]
name = "bare"
edition = "2024"

[[bin]]
name = "bare"
path = "{bare}/main.rs"

[features]
rendezvous = ["pombo-kernel/rendezvous"]

[dependencies]
pombo-kernel = { path = "{kernel}" }
zerocopy = { version = "0.8", default-features = false, features = ["derive"] }

[profile.release]
opt-level = "s"
lto = "fat"
codegen-units = 1
panic = "abort"

[workspace]
"#;

    /// Linker options: no libraries, no loader, and no padding that a loader would protect.
    const LINK: [&str; 4] = ["-nostartfiles", "-nostdlib", "-static", "-Wl,-z,norelro"];

    /// Sizes of a program's sections in bytes, as `size` reports them: `text` is code and constants.
    #[derive(Debug)]
    struct Sizes {
        text: u64,
        data: u64,
        bss: u64,
    }

    fn root() -> PathBuf {
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR"));
        kernel.parent().expect("the workspace").to_owned()
    }

    /// Builds the program and returns its path.
    fn build(features: &[&str]) -> PathBuf {
        let package = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(["bare", features.join("-").as_str()].concat());
        fs::create_dir_all(&package).expect("a directory for the package");
        let root = root();
        let manifest = MANIFEST
            .replace("{bare}", &root.join("tests/bare").display().to_string())
            .replace("{kernel}", &root.join("kernel").display().to_string());
        fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
        // The lock file gives the workspace's versions, so that cargo downloads nothing.
        fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let target = package.parent().expect("it has one").join("bare-target");
        let built = Command::new(cargo)
            .args(["rustc", "--quiet", "--release", "--offline"])
            .arg("--manifest-path")
            .arg(package.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .arg("--features")
            .arg(features.join(","))
            .args(["--", "-Crelocation-model=static"])
            .args(LINK.map(|arg| format!("-Clink-arg={arg}")))
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the bare program does not build");
        let program = package.join("bare");
        fs::copy(target.join("release/bare"), &program).expect("the program");
        program
    }

    /// Reads the section headers of a 64-bit little-endian ELF file.
    fn sizes(program: &Path) -> Sizes {
        const NOBITS: u64 = 8;
        const WRITE: u64 = 1;
        const ALLOC: u64 = 2;
        let file = fs::read(program).expect("the program");
        // The name of that module would be in the symbol table.
        let formats = file.windows(9).any(|name| name == b"4core3fmt");
        assert!(
            !formats,
            "panics with messages have come in: they need formatting"
        );
        assert_eq!(file[..6], *b"\x7fELF\x02\x01", "64 bit, little endian");
        let number = |at: usize, len: usize| {
            let mut bytes = [0; 8];
            bytes[..len].copy_from_slice(&file[at..at + len]);
            u64::from_le_bytes(bytes)
        };
        let (start, entry, count) = (number(0x28, 8), number(0x3a, 2), number(0x3c, 2));
        let mut sizes = Sizes {
            text: 0,
            data: 0,
            bss: 0,
        };
        for index in 0..count {
            let header = (start + index * entry) as usize;
            let (kind, flags, size) = (
                number(header + 4, 4),
                number(header + 8, 8),
                number(header + 0x20, 8),
            );
            match (flags & ALLOC != 0, kind == NOBITS, flags & WRITE != 0) {
                (false, ..) => {}
                (_, true, _) => sizes.bss += size,
                (_, _, true) => sizes.data += size,
                _ => sizes.text += size,
            }
        }
        sizes
    }

    /// Builds, runs and measures the program. `text` is the budget in bytes.
    fn run(features: &[&str], text: u64) {
        let program = build(features);
        let ended = Command::new(&program).status().expect("it starts");
        assert_eq!(ended.code(), Some(0), "the number of the step that failed");
        let sizes = sizes(&program);
        println!("bare program with {features:?}: {sizes:?}");
        assert!(
            sizes.text <= text,
            "{sizes:?} is more than {text} bytes of text"
        );
        // Only the program itself could have static data, and it has none.
        assert!(sizes.data + sizes.bss <= 64, "{sizes:?}");
    }

    #[test]
    fn the_kernel_needs_no_std_and_no_allocator() {
        run(&[], 20 << 10);
        run(&["rendezvous"], 32 << 10);
    }
}
