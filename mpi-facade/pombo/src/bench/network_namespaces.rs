//! Simulates hosts by network namespaces on a bridge. `bench`, `measure` and `site_jobs` use it. This needs no root: the command starts
//! itself once more, as root of its own namespaces, and the system removes everything together with them.
//!
//! Host i is called `hI` and has 10.77.0.(i+1) on `eth0`; the other end of that virtual cable, the bridge's port, is
//! `portI`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use nix::unistd::Pid;

use crate::error::Error;
use crate::run::guard::Guard;

/// The switch that tells a process that it has namespaces of its own.
pub(crate) const INSIDE: &str = "--inside";
/// The directory for the files of [`Hosts`], in a file system that disappears with the hosts.
const HOME: &str = "/run/pombo";
/// Bytes that an idle port sends at once.
pub(crate) const BURST: u32 = 16 << 10;
/// Largest number of bytes that wait in a port; beyond it frames are lost.
pub(crate) const QUEUE: u32 = 512 << 10;
/// The usual MTU in bytes.
pub(crate) const MTU: u32 = 1500;

/// The programs that are needed, with their Debian packages.
const TOOLS: [(&str, &str); 4] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
];

/// Namespaces of users, with root; of networks; of mounts; of processes, which end with the first of them.
const APART: [&str; 7] = [
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--kill-child",
    "--mount-proc",
    "--fork",
];

/// A script that runs the command behind the host's name on that host; each host knows its name.
const ENTER: &str = "#!/bin/sh
host=$1; shift
exec nsenter --net=/run/netns/$host unshare --uts sh -c \
'echo \"$0\" > /proc/sys/kernel/hostname; exec \"$@\"' \"$host\" \"$@\"
";

/// A script in place of a remote login: it takes options, a host, and words that a shell splits.
const LOGIN: &str = "#!/bin/sh
while [ \"${1#-}\" != \"$1\" ]; do shift; done
host=$1; shift
exec /run/pombo/enter \"$host\" sh -c \"$*\"
";

/// The rate of every port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) megabits: u32,
}

/// Hosts and the network between them.
pub(crate) struct Hosts {
    count: usize,
    /// The congestion control of TCP there.
    pub(crate) tcp: String,
}

impl FromStr for Rate {
    type Err = String;

    /// Parses a rate such as `100mbit` or `1gbit`.
    fn from_str(text: &str) -> Result<Rate, String> {
        let unit = |name: &str, megabits: u32| {
            let number: u32 = text.strip_suffix(name)?.parse().ok()?;
            number.checked_mul(megabits)
        };
        let megabits = unit("mbit", 1).or_else(|| unit("gbit", 1000));
        match megabits {
            Some(megabits @ 1..=10_000) => Ok(Rate { megabits }),
            _ => Err("give 1mbit to 10gbit, as in 100mbit".into()),
        }
    }
}

impl Rate {
    /// Returns the rate in millions of bytes per second.
    pub(crate) fn bytes(self) -> f64 {
        f64::from(self.megabits) / 8.0
    }
}

/// Starts this command once more where it may create hosts, and returns its exit code.
pub(crate) fn inside() -> Result<u8, Error> {
    let words = std::env::args_os().skip(1);
    let words: Vec<OsString> = words.chain([INSIDE.into()]).collect();
    inside_as(&words)
}

/// Starts this program with those arguments, [`INSIDE`] among them, where it may create hosts.
pub(crate) fn inside_as(words: &[OsString]) -> Result<u8, Error> {
    for (tool, package) in TOOLS {
        if !has(tool) {
            return Err(Error::NoTool { tool, package });
        }
    }
    allowed()?;
    let program = std::env::current_exe().map_err(Error::system("find this program"))?;
    let mut command = apart();
    command.arg(program).args(words);
    // The command gets a group of its own, which the guard ends if this process is killed.
    command.process_group(0).stdin(Stdio::null());
    let mut guard = Guard::start()?;
    let mut child = command.spawn().map_err(Error::system("start unshare"))?;
    let group = Pid::from_raw(child.id().cast_signed());
    guard.add(group);
    let ended = child.wait().map_err(Error::system("wait for unshare"))?;
    guard.remove(group);
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

fn apart() -> Command {
    let mut command = Command::new("unshare");
    command.args(APART).arg("--").env("PATH", path());
    command
}

/// Returns a PATH with the directories of administrators' programs, which not every PATH has.
fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

fn has(tool: &str) -> bool {
    std::env::split_paths(&path()).any(|place| place.join(tool).is_file())
}

fn allowed() -> Result<(), Error> {
    let script = "mount -t tmpfs none /run && ip link add a0 type veth peer name a1 \
                  && tc qdisc add dev a0 root tbf rate 1mbit burst 16kb limit 65536";
    let mut command = apart();
    command.args(["sh", "-c", script]).stdin(Stdio::null());
    run(&mut command).map_err(|reason| Error::NoHosts { reason })
}

/// Runs a command; returns its error output if it failed.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(said.trim().to_owned()),
    }
}

fn shell(script: &str) -> Result<(), Error> {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).stdin(Stdio::null());
    run(&mut command).map_err(|reason| Error::NoHosts { reason })
}

impl Hosts {
    /// Creates `count` hosts, from 1 on. Works only in a process that [`inside`] has started.
    pub(crate) fn make(count: usize) -> Result<Hosts, Error> {
        shell(
            "mount -t tmpfs none /run; mkdir /run/netns /run/pombo; ip link set lo up
             ip link add br0 type bridge mcast_snooping 0; ip link set br0 up",
        )?;
        let address = |host: usize| format!("10.77.{}.{}", (host + 1) / 256, (host + 1) % 256);
        let mut names = String::from("127.0.0.1 localhost\n");
        for host in 0..count {
            let address = address(host);
            shell(&format!(
                "ip netns add h{host}
                 ip link add port{host} type veth peer name eth0 netns h{host}
                 ip link set port{host} master br0 up
                 ip -n h{host} link set lo up; ip -n h{host} link set eth0 up
                 ip -n h{host} addr add {address}/16 brd + dev eth0
                 ip -n h{host} route add default dev eth0"
            ))?;
            names += &format!("{address} h{host}\n");
        }
        write("enter", ENTER)?;
        write("login", LOGIN)?;
        // Names are resolved from files, because no name server can answer there.
        replace("/etc/hosts", &names)?;
        replace(
            "/etc/nsswitch.conf",
            "hosts: files\npasswd: files\ngroup: files\n",
        )?;
        let mut hosts = Hosts {
            count,
            tcp: String::new(),
        };
        hosts.tcp = hosts.control()?;
        Ok(hosts)
    }

    /// Selects the congestion control of TCP. BBR, which estimates the rate, takes these short paths for slow ones.
    fn control(&self) -> Result<String, Error> {
        let file = "/proc/sys/net/ipv4/tcp_congestion_control";
        let script =
            format!("for way in cubic reno; do echo $way > {file} && break; done; cat {file}");
        let mut name = String::new();
        for host in 0..self.count {
            let mut command = Command::new(format!("{HOME}/enter"));
            command.arg(format!("h{host}")).args(["sh", "-c", &script]);
            let output = command.output().map_err(Error::system("enter a host"))?;
            name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        }
        Ok(name)
    }

    /// Returns a command that runs on the first host.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(format!("{HOME}/enter"));
        command.arg("h0").arg(program);
        command
    }

    /// Lets a command of `pombo run` start this many ranks, one on each of the first hosts.
    pub(crate) fn reach(&self, command: &mut Command, count: usize) {
        command.envs(SETTINGS);
        command.arg("--host").arg(self.names(count));
    }

    /// Returns the names of the first hosts, separated by commas.
    pub(crate) fn names(&self, count: usize) -> String {
        let names: Vec<String> = (0..count).map(|host| format!("h{host}")).collect();
        names.join(",")
    }

    /// Limits the rate at which every host sends and receives; `None` removes the limit.
    pub(crate) fn shape(&self, rate: Option<Rate>) -> Result<(), Error> {
        self.shape_with(rate, BURST)
    }

    /// Does so with ports that send next to nothing at once after they were idle, so that the rate holds for short
    /// messages too.
    pub(crate) fn shape_tightly(&self, rate: Option<Rate>) -> Result<(), Error> {
        // A frame, or what 100 us carry: timers of the system are not much finer.
        let least = rate.map_or(0.0, |rate| rate.bytes() * 100.0) as u32;
        self.shape_with(rate, least.max(MTU + 100))
    }

    fn shape_with(&self, rate: Option<Rate>, burst: u32) -> Result<(), Error> {
        self.each(|host| match rate {
            None => format!(
                "tc qdisc del dev port{host} root 2>&- || true
                 tc -n h{host} qdisc del dev eth0 root 2>&- || true"
            ),
            Some(Rate { megabits }) => {
                let shape = format!("root tbf rate {megabits}mbit burst {burst} limit {QUEUE}");
                format!(
                    "tc qdisc replace dev port{host} {shape}
                     tc -n h{host} qdisc replace dev eth0 {shape}"
                )
            }
        })
    }

    /// Limits the rate at which a host sends, in bits per second.
    pub(crate) fn limit(&self, host: usize, rate: u64) -> Result<(), Error> {
        shell(&format!(
            "tc -n h{host} qdisc replace dev eth0 root tbf rate {rate}bit burst {BURST} limit {QUEUE}"
        ))
    }

    /// Writes a script for the hosts, and returns its path.
    pub(crate) fn write(name: &str, script: &str) -> Result<PathBuf, Error> {
        write(name, script)
    }

    /// Sets the MTU in bytes; programs that start later see it.
    pub(crate) fn set_mtu(&self, mtu: u32) -> Result<(), Error> {
        self.each(|host| {
            format!(
                "ip link set port{host} mtu {mtu}
                 ip -n h{host} link set eth0 mtu {mtu}"
            )
        })?;
        shell(&format!("ip link set br0 mtu {mtu}"))
    }

    fn each(&self, script: impl Fn(usize) -> String) -> Result<(), Error> {
        let scripts: Vec<String> = (0..self.count).map(script).collect();
        shell(&scripts.join("\n"))
    }
}

/// Settings for other launchers: how they enter a host, that each host gets one rank, and which network to use; for
/// Hydra, Open MPI 4 and 5, and UCX.
pub(crate) const SETTINGS: [(&str, &str); 10] = [
    ("HYDRA_LAUNCHER", "ssh"),
    ("HYDRA_LAUNCHER_EXEC", "/run/pombo/login"),
    ("HYDRA_IFACE", "eth0"),
    ("OMPI_MCA_plm_rsh_agent", "/run/pombo/login"),
    ("OMPI_MCA_oob_tcp_if_include", "eth0"),
    ("OMPI_MCA_btl_tcp_if_include", "eth0"),
    ("PRTE_MCA_plm_ssh_agent", "/run/pombo/login"),
    ("PRTE_MCA_prte_if_include", "eth0"),
    ("PRTE_MCA_rmaps_default_mapping_policy", "node"),
    ("UCX_NET_DEVICES", "eth0"),
];

fn write(name: &str, text: &str) -> Result<PathBuf, Error> {
    let path = Path::new(HOME).join(name);
    fs::write(&path, text).map_err(Error::file("write", &path))?;
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&path, all).map_err(Error::file("make executable", &path))?;
    Ok(path)
}

/// Replaces the contents of a file as the hosts see it.
fn replace(path: &str, text: &str) -> Result<(), Error> {
    let copy = write(&path.replace('/', "-"), text)?;
    match Path::new(path).exists() {
        true => shell(&format!("mount --bind {} {path}", copy.display())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        assert_eq!("100mbit".parse(), Ok(Rate { megabits: 100 }));
        assert_eq!("1gbit".parse(), Ok(Rate { megabits: 1000 }));
        assert_eq!("100mbit".parse::<Rate>().unwrap().bytes(), 12.5);
        for wrong in [
            "",
            "100",
            "mbit",
            "0mbit",
            "-1mbit",
            "11gbit",
            "5000000gbit",
            "1 mbit",
        ] {
            let error = wrong.parse::<Rate>().unwrap_err();
            assert!(error.contains("100mbit"), "{wrong}: {error}");
        }
    }
}
