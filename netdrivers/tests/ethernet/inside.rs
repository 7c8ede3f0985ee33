//! Tests run in network namespaces of their own.

use std::process::{Command, Stdio};

/// Set inside of a namespace.
const INSIDE: &str = "POMBO_TEST_SEGMENT";

/// Runs a test, named by its path, in a network namespace of its own.
pub(crate) fn in_namespace(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let probe = "ip link add pombo0 type veth peer name pombo1 && ip link add pombo2 type bridge";
    let probed = unshare().args(["sh", "-c", probe]).output();
    if !probed.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED {test}: no network namespaces for this user here: {probed:?}");
        return;
    }
    // The program knows its tests without the name of the crate.
    let name = test.split_once("::").map_or(test, |(_, rest)| rest);
    let program = std::env::current_exe().expect("this program");
    let mut again = unshare();
    again.arg(program).args(["--exact", name, "--nocapture"]);
    let output = again.env(INSIDE, "1").output().expect("it started before");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ran = output.status.success() && text.contains("1 passed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(ran, "{test} in a namespace: {text}\n{errors}");
    eprint!("{errors}");
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.arg("-Urn").stdin(Stdio::null());
    command
}

/// The path of the test function that calls it.
macro_rules! inside {
    ($test:ident, $body:expr) => {
        crate::inside::in_namespace(concat!(module_path!(), "::", stringify!($test)), $body)
    };
}
pub(crate) use inside;
