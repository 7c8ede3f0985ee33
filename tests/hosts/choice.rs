//! Tests the automatic choice of the network between hosts, and the errors where a requested one is impossible.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{HOSTS, alone, compile, expect_ok, job};
use crate::support::{Outcome, finish};
use std::path::Path;
use std::process::Command;

/// Runs the ranks through a script that gets the program as its first argument.
fn run(hosts: &Hosts, net: &str, script: &str) -> Option<Outcome> {
    let program = compile("hosts-choice", "tests/c/p2p.c");
    let mut command = job(hosts)?;
    command.args(["sh", "-ec", script]).arg(program);
    command
        .env("POMBO_NET", net)
        .env("POMBO_VERBOSE", "1")
        .env("POMBO_ETHERNET_HELPER", hosts.home().join("helper"));
    Some(finish(&mut command))
}

/// A script that starts the rank unchanged.
const PLAIN: &str = "exec \"$0\"";
/// A script under which frames get lost.
const LOSSY: &str = "POMBO_FAULT_LOSS=2 exec \"$0\"";
/// A script under which rank 5 and its children have no right to raw sockets.
const ONE_MAY_NOT: &str =
    "[ $PMI_RANK != 5 ] || exec setpriv --bounding-set=-net_raw \"$0\"; exec \"$0\"";
/// A script under which no rank has the right, but programs that the ranks start may have it.
const NONE_MAY: &str = "exec setpriv --securebits=+noroot \"$0\"";

/// Checks that the job runs, and that rank 0 reports the network.
fn takes(outcome: &Outcome, what: &str) {
    expect_ok(outcome, "p2p");
    let line = format!("pombo: 8 ranks on 4 hosts, between hosts {what}");
    assert!(
        outcome.err.contains(&line),
        "not '{line}' in {}",
        outcome.err
    );
}

/// Checks that the job fails, and that its error states the reason.
fn refused(outcome: &Outcome, why: &str) {
    assert_ne!(outcome.code, 0, "{}", outcome.out);
    assert!(outcome.err.contains(why), "not '{why}' in {}", outcome.err);
}

#[test]
fn raw_ethernet_where_all_ranks_may_else_udp() {
    let _alone = alone();
    let test = here!(raw_ethernet_where_all_ranks_may_else_udp);
    on_hosts(test, HOSTS, |hosts| {
        let Some(outcome) = run(hosts, "auto", PLAIN) else {
            return;
        };
        takes(&outcome, "raw Ethernet on eth0");
        let run = |net, script| run(hosts, net, script).expect("as before");
        takes(&run("udp", PLAIN), "UDP at 10.77.0.1\n");
        let none = "UDP at 10.77.0.1: no raw Ethernet: rank";
        let right = "has no right to send raw frames";
        takes(&run("auto", ONE_MAY_NOT), &format!("{none} 5 {right}"));
        takes(&run("auto", NONE_MAY), &format!("{none} 0 {right}"));
        refused(
            &run("ethernet", NONE_MAY),
            "no right to send raw frames on eth0",
        );
    });
}

#[test]
fn a_helper_lends_sockets_to_ranks_without_the_right() {
    let _alone = alone();
    let test = here!(a_helper_lends_sockets_to_ranks_without_the_right);
    on_hosts(test, HOSTS, |hosts| {
        let helper = hosts.home().join("helper");
        let built = Path::new(env!("CARGO_BIN_EXE_pombo-ethernet"));
        std::fs::copy(built, &helper).expect("a file system of its own");
        let refused = |run: Option<Outcome>, why: &str| {
            run.is_none_or(|outcome| {
                refused(&outcome, why);
                false
            })
        };
        // Without its capability the helper is useless.
        if refused(
            run(hosts, "ethernet", NONE_MAY),
            "no right to send raw frames",
        ) {
            return;
        }
        let given = Command::new("setcap")
            .arg("cap_net_raw+ep")
            .arg(&helper)
            .output();
        if !given.as_ref().is_ok_and(|given| given.status.success()) {
            return eprintln!("SKIPPED {test}: no capability for a file here: {given:?}");
        }
        for net in ["auto", "ethernet:eth0"] {
            let outcome = run(hosts, net, NONE_MAY).expect("as before");
            takes(&outcome, "raw Ethernet on eth0");
        }
    });
}

#[test]
fn interfaces_that_will_not_do_are_named() {
    let test = here!(interfaces_that_will_not_do_are_named);
    on_hosts(test, HOSTS, |hosts| {
        // With a second network the interface is ambiguous.
        hosts.set("ip link add br1 type bridge && ip link add br2 type bridge");
        hosts.set("ip link set br1 up && ip link set br2 up");
        for host in 0..HOSTS {
            let bridge = 1 + host / 2;
            hosts.set(&format!(
                "ip link add w{host} type veth peer name eth1 netns h{host} \
                 && ip link set w{host} master br{bridge} up && ip -n h{host} link set eth1 up"
            ));
        }
        let Some(apart) = run(hosts, "ethernet:eth1", PLAIN) else {
            return;
        };
        refused(
            &apart,
            "rank 0 hears no frames of rank 4: put all hosts on one segment",
        );
        let run = |net| run(hosts, net, PLAIN).expect("as before");
        hosts.set("ip -n h0 link set eth1 mtu 9000 && ip -n h1 link set eth1 mtu 9000");
        hosts.set("ip -n h2 link set eth1 mtu 9000 && ip -n h3 link set eth1 mtu 9000");
        let narrow = "rank 0 hears no frames of rank 2: put all hosts on one segment that carries";
        refused(&run("ethernet:eth1"), narrow);
        refused(&run("ethernet"), "choose one by name: eth0, eth1");
        refused(&run("ethernet:eth7"), "no interface eth7");
        refused(&run("ethernet:lo"), "lo is not an Ethernet interface");
        hosts.set("ip -n h2 link set eth1 down");
        refused(
            &run("ethernet:eth1"),
            "rank 4 has an interface that is down",
        );
    });
}

#[test]
fn frames_are_as_long_as_all_interfaces_carry() {
    let _alone = alone();
    let test = here!(frames_are_as_long_as_all_interfaces_carry);
    on_hosts(test, HOSTS, |hosts| {
        let each = |interface: &str, mtu: u32| {
            (0..HOSTS).for_each(|host| {
                let interface = interface.replace('#', &host.to_string());
                hosts.set(&format!("ip {interface} mtu {mtu}"));
            });
        };
        let usual = "raw Ethernet on eth0, 1490 bytes to a frame\n";
        let Some(outcome) = run(hosts, "ethernet", PLAIN) else {
            return;
        };
        takes(&outcome, usual);
        let run = |net, script| run(hosts, net, script).expect("as before");
        each("link set v#", 9000);
        hosts.set("ip link set br0 mtu 9000");
        each("-n h# link set eth0", 9000);
        let long = "raw Ethernet on eth0, 8990 bytes to a frame\n";
        takes(&run("auto", PLAIN), long);
        takes(&run("auto", LOSSY), long);
        // A frame that one host's MTU does not allow is sent by none.
        hosts.set("ip -n h3 link set eth0 mtu 1400");
        let shortest = "raw Ethernet on eth0, 1390 bytes to a frame\n";
        takes(&run("ethernet", PLAIN), shortest);
        // A datagram is shorter than a raw frame by the headers of IP and UDP.
        let by_both = "raw Ethernet on eth0, 1372 bytes to a frame, and UDP for long messages, ";
        takes(&run("auto", PLAIN), by_both);
        takes(&run("auto", LOSSY), by_both);
        hosts.set("ip -n h3 link set eth0 mtu 5000");
        takes(
            &run("auto", LOSSY),
            "raw Ethernet on eth0, 4990 bytes to a frame\n",
        );
        each("link set v#", 65000);
        hosts.set("ip link set br0 mtu 65000");
        each("-n h# link set eth0", 65000);
        let longest = "raw Ethernet on eth0, 64990 bytes to a frame\n";
        takes(&run("auto", LOSSY), longest);
    });
}

#[test]
fn frames_carry_everything_whatever_they_are_believed_by() {
    let _alone = alone();
    let test = here!(frames_carry_everything_whatever_they_are_believed_by);
    on_hosts(test, HOSTS, |hosts| {
        for (net, auth, name) in [
            ("udp", "full", "many"),
            ("udp", "off", "bcast"),
            ("ethernet", "full", "many"),
            ("ethernet", "off", "many"),
            ("ethernet", "on", "p2p"),
            ("ethernet", "full", "bcast"),
            ("ethernet", "on", "bcast"),
        ] {
            let Some(mut command) = job(hosts) else {
                return;
            };
            command.arg(compile("hosts-authenticated", &format!("tests/c/{name}.c")));
            if name == "bcast" {
                command.args(["1000000", "1"]);
            }
            command.env("POMBO_NET", net).env("POMBO_AUTH", auth);
            expect_ok(&finish(command.env("POMBO_FAULT_LOSS", "2")), name);
        }
    });
}
