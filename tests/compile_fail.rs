//! Tests what the types forbid: a lent buffer that is touched or dies too early, another header, and other misuse.
//!
//! Every file of `compile_fail/` is built twice: as it is, and with the feature `wrong`. Without the feature it must
//! compile. With the feature the compiler must refuse it, at each line that ends with `//~ CODE` and with that code,
//! and nowhere else. `//~^ CODE` refers to the line above, `//~ kernel CODE` to some line of the kernel. Error codes
//! change less often than messages, so the messages are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const MANIFEST: &str = r#"
[package]
name = "cases"
edition = "2024"

[features]
wrong = []

[lib]
path = "nothing.rs"

[dependencies]
pombo-kernel = { path = "{kernel}" }
zerocopy = { version = "0.8", default-features = false, features = ["derive"] }

[profile.dev]
debug = 0

[workspace]
"#;

const CASE: &str = r#"
[[example]]
name = "{name}"
path = "{path}"
crate-type = ["lib"]
"#;

/// The line of an error (`None` if it is not in the case's file) and its code.
type Mistakes = BTreeSet<(Option<usize>, String)>;

fn root() -> PathBuf {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR"));
    kernel.parent().expect("the workspace").to_owned()
}

/// Returns the cases by name.
fn cases() -> BTreeMap<String, PathBuf> {
    let files = fs::read_dir(root().join("tests/compile_fail")).expect("the cases");
    let files = files.map(|file| file.expect("a file").path());
    let cases = files.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let named = |file: PathBuf| {
        let name = file.file_stem().expect("it has a name").to_string_lossy();
        (name.into_owned(), file)
    };
    cases.map(named).collect()
}

/// Returns the errors that a case declares.
fn expected(case: &Path) -> Mistakes {
    let text = fs::read_to_string(case).expect("the case");
    let lines = text.lines().zip(1..);
    let marked = lines.filter_map(|(line, number)| Some((line.split_once("//~")?.1, number)));
    let mistake = |(mark, line): (&str, usize)| {
        let code = mark.trim_start_matches('^');
        let line = line - (mark.len() - code.len());
        match code.trim().strip_prefix("kernel ") {
            Some(code) => (None, code.to_owned()),
            None => (Some(line), code.trim().to_owned()),
        }
    };
    marked.map(mistake).collect()
}

/// Creates a package with all cases.
fn package(cases: &BTreeMap<String, PathBuf>) -> PathBuf {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compile_fail");
    fs::create_dir_all(&package).expect("a directory for the package");
    let kernel = root().join("kernel").display().to_string();
    let mut manifest = MANIFEST.replace("{kernel}", &kernel);
    for (name, path) in cases {
        let path = path.display().to_string();
        manifest += &CASE.replace("{name}", name).replace("{path}", &path);
    }
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest");
    fs::write(package.join("nothing.rs"), "").expect("an empty library");
    // The lock file gives the workspace's versions, so that cargo downloads nothing.
    let lock = root().join("Cargo.lock");
    fs::copy(lock, package.join("Cargo.lock")).expect("the lock file");
    package
}

/// Builds all cases and returns the errors that the compiler found in each.
fn found(package: &Path, wrong: bool) -> BTreeMap<String, Mistakes> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = package.parent().expect("it has one");
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--offline", "--keep-going"])
        .args(["--examples", "--message-format=json-diagnostic-short"])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target.join("compile_fail-target"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    if wrong {
        command.args(["--features", "wrong"]);
    }
    let built = command.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&built.stdout);
    let mut found = BTreeMap::<_, Mistakes>::new();
    for line in said.lines() {
        if let Some((case, mistake)) = mistake(line) {
            found.entry(case).or_default().insert(mistake);
        }
    }
    let refused = !built.status.success();
    let words = String::from_utf8_lossy(&built.stderr);
    assert_eq!(refused, !found.is_empty(), "{words}\n{said}");
    found
}

/// Parses the error in one line of cargo's output: its case, line and code.
fn mistake(line: &str) -> Option<(String, (Option<usize>, String))> {
    let after = |key: &str| Some(line.split_once(key)?.1);
    let code = after(r#""code":{"code":""#)?.split('"').next()?;
    let case = after(r#""name":""#)?.split('"').next()?;
    // The format is "path:line:column: error[code]: words", or ": error: words" from a lint.
    let (place, _) = after(r#""rendered":""#)?.split_once(": error")?;
    let mut parts = place.rsplit(':').skip(1);
    let line = parts.next()?.parse().ok()?;
    let file = Path::new(parts.next()?).file_stem()?;
    let own = file.to_string_lossy() == case;
    Some((case.to_owned(), (own.then_some(line), code.to_owned())))
}

#[test]
fn what_is_wrong_is_refused_and_nothing_else() {
    let cases = cases();
    let package = package(&cases);
    assert_eq!(found(&package, false), BTreeMap::new(), "nothing is wrong");
    let found = found(&package, true);
    let mut failed = false;
    for (name, case) in &cases {
        let expected = expected(case);
        assert!(!expected.is_empty(), "{name} says nothing about itself");
        let found = found.get(name).cloned().unwrap_or_default();
        if found != expected {
            eprintln!("{name}: found {found:?}, expected {expected:?}");
            failed = true;
        }
    }
    assert!(!failed, "see above");
    println!("{} kinds of misuse are refused", cases.len());
}
