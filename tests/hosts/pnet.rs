//! Raw Ethernet by the portable way, `pnet`: the same programs as elsewhere, over a library that is built with it.

use crate::common::on_hosts;
use crate::jobs::{HOSTS, PROGRAMS, alone, compile, compile_for, expect_ok, job, less_of};
use crate::support::{cargo_build, finish};
use std::path::{Path, PathBuf};

/// The library with the feature, in a directory of its own.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pnet");
    let words = ["--package", "pombo-mpi-abi", "--features", "pnet"];
    cargo_build(|cargo| cargo.args(words).arg("--target-dir").arg(&target));
    target.join(match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    })
}

#[test]
fn programs_on_four_hosts_by_pnet() {
    // It is built here, because hosts have no network by which cargo could download what the feature takes.
    let library = library();
    let _alone = alone();
    on_hosts(here!(programs_on_four_hosts_by_pnet), HOSTS, |hosts| {
        let bcast = ("bcast", &["8388608", "1"][..]);
        let all = PROGRAMS.split(' ').map(|name| (name, less_of(name), "0"));
        let some = [("ordering", &[][..]), bcast].map(|(name, words)| (name, words, "2"));
        for (name, words, loss) in all.chain(some) {
            let source = format!("tests/c/{name}.c");
            let program = compile_for(Some(&library), "hosts-pnet", &source);
            let Some(mut command) = job(hosts) else {
                return;
            };
            command
                .env("POMBO_NET", "ethernet:eth0")
                .env("POMBO_ETHERNET_IO", "pnet")
                .env("POMBO_VERBOSE", "1")
                .env("POMBO_FAULT_LOSS", loss);
            let outcome = finish(command.arg(&program).args(words));
            expect_ok(&outcome, name);
            let way = "between hosts raw Ethernet by pnet on eth0";
            assert!(outcome.err.contains(way), "{}", outcome.err);
        }
    });
}

#[test]
fn a_library_without_pnet_says_so() {
    let _alone = alone();
    on_hosts(here!(a_library_without_pnet_says_so), HOSTS, |hosts| {
        let Some(mut command) = job(hosts) else {
            return;
        };
        command.env("POMBO_ETHERNET_IO", "pnet");
        let outcome = finish(command.arg(compile("hosts-no-pnet", "tests/c/p2p.c")));
        assert_ne!(outcome.code, 0);
        let why = "POMBO_ETHERNET_IO is set, but this library is built without the feature pnet";
        assert!(outcome.err.contains(why), "{}", outcome.err);
    });
}
