//! Tests the harness: the hosts reach each other, and nothing of them remains.

use crate::common::{Hosts, on_hosts};
use std::net::UdpSocket;

fn out(hosts: &Hosts, host: usize, script: &str) -> String {
    let output = hosts.command(host, "sh").args(["-c", script]).output();
    let output = output.expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} on {host}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn hosts_have_addresses_names_and_a_login() {
    on_hosts(here!(hosts_have_addresses_names_and_a_login), 3, |hosts| {
        for host in 0..3 {
            let shown = out(hosts, host, "ip -4 -o addr show dev eth0");
            assert!(shown.contains(&format!("{}/24", hosts.address(host))));
            let login = hosts.login();
            let words = format!("{} -x h{host} \"ip\" -o addr", login.display());
            assert!(out(hosts, 0, &words).contains(&hosts.address(host)));
            let named = out(hosts, 0, &format!("getent hosts h{host}"));
            assert!(named.starts_with(&hosts.address(host)), "{named}");
        }
    });
}

#[test]
fn frames_pass_between_hosts_until_the_cable_is_out() {
    let path = here!(frames_pass_between_hosts_until_the_cable_is_out);
    on_hosts(path, 2, |hosts| {
        // Not even this process is on the network of the hosts.
        assert!(UdpSocket::bind(format!("{}:0", hosts.address(0))).is_err());
        // The port is closed: a host that receives the datagram refuses it; from a host that does not, no answer comes.
        let reached = |answer: bool| {
            let call = format!(
                "ip neigh flush all; exec 3<>/dev/tcp/{}/9",
                hosts.address(1)
            );
            let mut bash = hosts.command(0, "bash");
            let output = bash.env("LC_ALL", "C").args(["-c", &call]).output();
            let said = output.expect("bash").stderr;
            let said = String::from_utf8_lossy(&said);
            assert_eq!(said.contains("refused"), answer, "{said}");
        };
        reached(true);
        hosts.shape(100, 100_000);
        reached(true);
        hosts.unplug(1);
        reached(false);
        hosts.plug(1);
        reached(true);
    });
}
