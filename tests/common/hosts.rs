//! Simulates hosts by network namespaces, for tests of jobs on several hosts. This needs no root: [`on_hosts`] starts
//! the calling test once more, as root of a user namespace with processes, mounts and networks of its own. The system
//! removes all of that when the process ends.
//!
//! Host i is called `hI`, has the address 10.77.0.(i+1) on `eth0`, and is connected to a bridge. Names resolve.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The variable that is set in the process that has the hosts.
const INSIDE: &str = "POMBO_TEST_HOSTS";
/// The directory of the harness, in a file system of its own.
const HOME: &str = "/run/pombo";
/// The hang limit of a test on hosts; each runs some twenty jobs in a few seconds each.
const HANG: Duration = Duration::from_secs(1800);

/// Switches of `unshare` for root, networks, mounts, and processes, which end with the first of them.
const APART: [&str; 6] = [
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--kill-child",
    "--mount-proc",
];

/// Runs `body` with `count` hosts. `test` is the path of the calling test, crate first. If the system does not permit
/// the namespaces, the test reports so and passes.
pub fn on_hosts(test: &str, count: usize, body: impl FnOnce(&Hosts)) {
    if std::env::var_os(INSIDE).is_some() {
        return body(&Hosts::make(count));
    }
    if let Err(reason) = allowed() {
        return eprintln!("SKIPPED {test}: this system makes no hosts without root: {reason}");
    }
    let (_crate, test) = test.split_once("::").expect("the path of a test");
    let program = std::env::current_exe().expect("this program's path");
    let mut command = apart();
    command.arg(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(INSIDE, "1").stdin(Stdio::null());
    let mut child = command.spawn().expect("unshare was just tried");
    let start = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > HANG {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "it failed on its hosts: {status}");
}

fn apart() -> Command {
    let mut command = Command::new("unshare");
    command.args(APART).arg("--fork").arg("--");
    command
}

/// Returns whether this user may create hosts here, or else the reason.
fn allowed() -> Result<(), String> {
    let mut command = apart();
    let script = "mount -t tmpfs none /run && ip link add a0 type veth peer name a1";
    command.args(["sh", "-c", script]).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Hosts and a network between them.
pub struct Hosts {
    count: usize,
}

impl Hosts {
    fn make(count: usize) -> Self {
        assert!((1..=200).contains(&count));
        let hosts = Hosts { count };
        sh(
            "mount -t tmpfs none /run && mkdir /run/netns /run/pombo && ip link set lo up \
            && ip link add br0 type bridge mcast_snooping 0 && ip link set br0 up",
        );
        for host in 0..count {
            sh(&format!(
                "ip netns add h{host} \
                 && ip link add v{host} type veth peer name eth0 netns h{host} \
                 && ip link set v{host} master br0 up \
                 && ip -n h{host} link set lo up && ip -n h{host} link set eth0 up \
                 && ip -n h{host} addr add {}/24 brd + dev eth0 \
                 && ip -n h{host} route add default dev eth0",
                hosts.address(host)
            ));
        }
        hosts.name();
        hosts
    }

    /// Gives the hosts names, and writes the script that enters one in place of a login.
    fn name(&self) {
        let mut names = String::from("127.0.0.1 localhost\n");
        for host in 0..self.count {
            writeln!(names, "{} h{host}", self.address(host)).expect("memory");
        }
        // Names are resolved from files, because no name server can answer there.
        self.replace("/etc/hosts", &names);
        self.replace(
            "/etc/nsswitch.conf",
            "hosts: files\npasswd: files\ngroup: files\n",
        );
        // The script takes the arguments of ssh: options, a host, and words that a shell splits.
        let enter = "#!/bin/sh\n\
            while [ \"${1#-}\" != \"$1\" ]; do shift; done\n\
            host=$1; shift\n\
            exec nsenter --net=/run/netns/$host sh -c \"$*\"\n";
        std::fs::write(self.login(), enter).expect("a file system of its own");
        sh(&format!("chmod +x {}", self.login().display()));
    }

    /// Replaces the contents of a file while the hosts exist.
    pub fn replace(&self, path: &str, contents: &str) {
        let copy = format!("{HOME}/{}", path.replace('/', "-"));
        std::fs::write(&copy, contents).expect("a file system of its own");
        if Path::new(path).exists() {
            sh(&format!("mount --bind {copy} {path}"));
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("10.77.0.{}", host + 1)
    }

    /// Returns all names, separated by commas.
    pub fn names(&self) -> String {
        let names: Vec<String> = (0..self.count).map(|host| format!("h{host}")).collect();
        names.join(",")
    }

    /// Returns the program that is called as `ssh HOST WORDS..`.
    pub fn login(&self) -> PathBuf {
        Path::new(HOME).join("login")
    }

    /// Returns a directory that all hosts see and that is removed with them.
    pub fn home(&self) -> &Path {
        Path::new(HOME)
    }

    /// Returns a command on a host.
    pub fn command(&self, host: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/h{host}"));
        command.arg("--").arg(program).stdin(Stdio::null());
        command
    }

    /// Returns an `mpiexec` of the Hydra kind on host 0 that starts `ranks_per_host` ranks on every host in turn: 0 0 1
    /// 1 for two.
    pub fn hydra(&self, mpiexec: &str, ranks_per_host: usize) -> Command {
        let mut command = self.command(0, mpiexec);
        command.args(["-iface", "eth0", "-launcher", "ssh", "-launcher-exec"]);
        command.arg(self.login());
        command.args(["-hosts", &self.names()]);
        command.args(["-ppn", &ranks_per_host.to_string()]);
        command.args(["-n", &(ranks_per_host * self.count).to_string()]);
        command
    }

    /// Runs a script that changes the network, outside the hosts.
    pub fn set(&self, script: &str) {
        sh(script);
    }

    /// Limits the rate of every host in both directions, through queues of `queue` bytes on either side.
    pub fn shape(&self, megabits: u32, queue: u32) {
        let shape = format!("root tbf rate {megabits}mbit burst 16kb limit {queue}");
        for host in 0..self.count {
            sh(&format!(
                "tc qdisc replace dev v{host} {shape} && tc -n h{host} qdisc replace dev eth0 {shape}"
            ));
        }
    }

    /// Makes the switch drop multicast; it still forwards broadcasts.
    pub fn filter_multicast(&self) {
        for host in 0..self.count {
            sh(&format!(
                "ip link set v{host} type bridge_slave mcast_flood off"
            ));
        }
    }

    /// Makes a host vanish: takes its link down.
    pub fn unplug(&self, host: usize) {
        sh(&format!("ip link set v{host} down"));
    }

    /// Takes the link of a host up again. Nobody keeps looking for addresses as of a moment before: such a search may be about
    /// to fail, and with it what is connected next.
    pub fn plug(&self, host: usize) {
        sh(&format!("ip link set v{host} up"));
        for host in 0..self.count {
            sh(&format!("ip -n h{host} neigh flush dev eth0"));
        }
    }
}

/// Runs a script of the harness, which must succeed.
fn sh(script: &str) {
    let mut command = Command::new("sh");
    let output = command.args(["-ec", script]).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{said}");
}
