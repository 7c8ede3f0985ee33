//! Raw Ethernet on one machine: hosts are network namespaces that this program makes for itself.
//!
//! Arguments choose parts: `trip` half round trips beside the system's own calls, in turns; `short` a broadcast of 16
//! bytes; `cast` broadcasts through lines of 100 Mb/s, in per cent of what a line carries of payload; `loss` the same
//! where receivers lose frames, beside the simulator; `bulk` bytes by frames of several sizes, beside TCP.

mod bulk;
#[path = "../../tests/ethernet/cast.rs"]
mod cast;
mod casts;
mod hosts;
#[allow(dead_code, reason = "tests use more of it")]
#[path = "../../tests/reliable_groups/cast.rs"]
mod simulated;
mod trip;

use std::process::Command;

const INSIDE: &str = "POMBO_BENCH_SEGMENT";
const PARTS: [(&str, fn()); 5] = [
    ("trip", trip::trips),
    ("short", casts::short),
    ("cast", casts::long),
    ("loss", casts::lossy),
    ("bulk", bulk::bulk),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(INSIDE).is_none() {
        let program = std::env::current_exe().expect("this program");
        let mut again = Command::new("unshare");
        let again = again.arg("-Urn").arg(program).args(&words);
        let ended = again.env(INSIDE, "1").status().expect("unshare");
        std::process::exit(ended.code().unwrap_or(1));
    }
    let wanted: Vec<&str> = words.iter().map(String::as_str).collect();
    let wanted: Vec<&str> = wanted.into_iter().filter(|w| !w.starts_with('-')).collect();
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.contains(&name) {
            part();
        }
    }
}

pub(crate) fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
