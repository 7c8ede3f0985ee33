//! Tests `MPI_Bcast` over multicast of the network: eight ranks on four hosts, up to 8 MiB, on a network that loses
//! frames.

use crate::common::on_hosts;
use crate::jobs::{HOSTS, alone, compile, expect_ok, job};
use crate::support::finish;

#[test]
fn one_frame_for_all_hosts() {
    let _alone = alone();
    on_hosts(here!(one_frame_for_all_hosts), HOSTS, |hosts| {
        let program = compile("hosts-broadcast", "tests/c/bcast.c");
        for (loss, size) in [("0", "8388608"), ("2", "8388608"), ("20", "100000")] {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.arg(&program).args([size, "1"]);
            expect_ok(&finish(command.env("POMBO_FAULT_LOSS", loss)), "bcast");
        }
    });
}

#[test]
fn a_switch_may_filter_multicast() {
    let _alone = alone();
    on_hosts(here!(a_switch_may_filter_multicast), HOSTS, |hosts| {
        hosts.filter_multicast();
        let program = compile("hosts-filtered", "tests/c/bcast.c");
        let Some(mut command) = job(hosts) else {
            return;
        };
        command.arg(&program).args(["1000000", "1"]);
        expect_ok(&finish(&mut command), "bcast");
    });
}
