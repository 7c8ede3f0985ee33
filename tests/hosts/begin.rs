//! Tests jobs that begin while a link is down. Launchers reach all hosts over `eth0`; the ranks use a second network,
//! to which this link belongs.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{HOSTS, alone, compile, expect_ok, job};
use crate::support::{Job, finish};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Adds the second network: host i has the address 10.78.0.(i+1) on `eth1`.
pub(crate) fn second_network(hosts: &Hosts) {
    hosts.set("ip link add br1 type bridge mcast_snooping 0 && ip link set br1 up");
    for host in 0..hosts.count() {
        hosts.set(&format!(
            "ip link add w{host} type veth peer name eth1 netns h{host} \
             && ip link set w{host} master br1 up && ip -n h{host} link set eth1 up \
             && ip -n h{host} addr add 10.78.0.{}/24 brd + dev eth1",
            host + 1
        ));
    }
}

fn over_it(hosts: &Hosts, timeout: &str) -> Option<Command> {
    let mut command = job(hosts)?;
    command.arg(compile("hosts-begin", "tests/c/p2p.c"));
    command
        .env("POMBO_NET", "udp:eth1")
        .env("POMBO_HOST_TIMEOUT", timeout);
    Some(command)
}

/// The system gives up resolving a host's address after three seconds; ranks keep trying.
#[test]
fn a_host_that_is_reached_late_takes_part() {
    let _alone = alone();
    let test = here!(a_host_that_is_reached_late_takes_part);
    on_hosts(test, HOSTS, |hosts| {
        let Some(mut command) = over_it(hosts, "600") else {
            return;
        };
        second_network(hosts);
        hosts.set("ip link set w3 down");
        let mut neighbours = hosts.command(3, "ip");
        neighbours.args(["monitor", "neigh"]).stdout(Stdio::piped());
        let mut neighbours = neighbours.spawn().expect("ip");
        let told = BufReader::new(neighbours.stdout.take().expect("a pipe"));
        let job = Job::start(&mut command);
        let mut told = told.lines().map_while(Result::ok);
        let failed = |line: &String| line.contains("dev eth1") && line.contains("FAILED");
        assert!(told.any(|line| failed(&line)), "the system looks for hosts");
        hosts.set("ip link set w3 up");
        expect_ok(&job.finish(), "p2p");
        neighbours.kill().expect("it runs until then");
        neighbours.wait().expect("a child");
    });
}

#[test]
fn a_host_that_is_never_reached_ends_the_job_and_is_named() {
    let test = here!(a_host_that_is_never_reached_ends_the_job_and_is_named);
    on_hosts(test, HOSTS, |hosts| {
        let Some(mut command) = over_it(hosts, "1") else {
            return;
        };
        second_network(hosts);
        hosts.set("ip link set w3 down");
        let outcome = finish(&mut command);
        assert_ne!(outcome.code, 0, "{}", outcome.out);
        let named = "cannot join its job: no connection to rank 0 at 10.78.0.1:";
        assert!(outcome.err.contains(named), "{}", outcome.err);
        // The other ranks do not wait until they time out.
        let waited = outcome.err.contains("did not come in");
        assert!(!waited, "{}", outcome.err);
    });
}
