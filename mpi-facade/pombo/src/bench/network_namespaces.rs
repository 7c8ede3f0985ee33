//! Hosts made of network namespaces on a bridge, for figures between several. Only `bench` uses
//! it. No root: the command starts itself once more, as root of namespaces of its own, and with
//! them the system takes everything away.
//!
//! Host i is called `hI` and has 10.77.0.(i+1) on `eth0`; the other end of that cable, the
//! bridge's port, is `portI`.

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

/// The switch that says that this process has namespaces of its own.
pub(super) const INSIDE: &str = "--inside";
/// What [`Hosts`] writes lies here, in a file system that goes with the hosts.
const HOME: &str = "/run/pombo";
/// Bytes that a port sends at once when it was idle.
pub(super) const BURST: u32 = 16 << 10;
/// Bytes that wait in a port at most; what comes then is lost.
pub(super) const QUEUE: u32 = 512 << 10;
/// A usual frame's content.
pub(super) const MTU: u32 = 1500;

/// Programs that are needed, and in which Debian package they are.
const TOOLS: [(&str, &str); 4] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
];

/// Root; networks; mounts; processes, which end with the first of them.
const APART: [&str; 7] = [
    "--map-root-user",
    "--net",
    "--mount",
    "--pid",
    "--kill-child",
    "--mount-proc",
    "--fork",
];

/// Does what comes after the host's name there; a host knows its name.
const ENTER: &str = "#!/bin/sh
host=$1; shift
exec nsenter --net=/run/netns/$host unshare --uts sh -c \
'echo \"$0\" > /proc/sys/kernel/hostname; exec \"$@\"' \"$host\" \"$@\"
";

/// In place of a remote login: options, a host, and words that a shell takes apart.
const LOGIN: &str = "#!/bin/sh
while [ \"${1#-}\" != \"$1\" ]; do shift; done
host=$1; shift
exec /run/pombo/enter \"$host\" sh -c \"$*\"
";

/// How fast every port is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) megabits: u32,
}

/// Hosts, and a network between them.
pub(super) struct Hosts {
    count: usize,
    /// How TCP behaves there when it loses something.
    pub(super) tcp: String,
}

impl FromStr for Rate {
    type Err = String;

    /// As `100mbit` or `1gbit`.
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
    /// In bytes, and as millions in a second.
    pub(super) fn bytes(self) -> f64 {
        f64::from(self.megabits) / 8.0
    }
}

/// Starts this command once more where it may make hosts, and answers with its exit code.
pub(super) fn inside() -> Result<u8, Error> {
    for (tool, package) in TOOLS {
        if !has(tool) {
            return Err(Error::NoTool { tool, package });
        }
    }
    allowed()?;
    let program = std::env::current_exe().map_err(Error::system("find this program"))?;
    let mut command = apart();
    command.arg(program).args(std::env::args_os().skip(1));
    // A group of its own, which the guard ends if this process is killed.
    command.arg(INSIDE).process_group(0).stdin(Stdio::null());
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

/// Administrators' programs are not in everyone's PATH.
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

/// What it said if it failed.
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
    /// So many, from 1 on. Only where [`inside`] has led.
    pub(super) fn make(count: usize) -> Result<Hosts, Error> {
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
        // No server is asked: none is there to answer.
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

    /// TCP that measures the path's rate by itself (BBR) takes these short paths for slow ones.
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

    /// A command on the first host.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(format!("{HOME}/enter"));
        command.arg("h0").arg(program);
        command
    }

    /// The first hosts, with a comma between them.
    pub(super) fn names(&self, count: usize) -> String {
        let names: Vec<String> = (0..count).map(|host| format!("h{host}")).collect();
        names.join(",")
    }

    /// From now on every host sends and receives no faster; None: as fast as it can.
    pub(super) fn shape(&self, rate: Option<Rate>) -> Result<(), Error> {
        self.each(|host| match rate {
            None => format!(
                "tc qdisc del dev port{host} root 2>&- || true
                 tc -n h{host} qdisc del dev eth0 root 2>&- || true"
            ),
            Some(Rate { megabits }) => {
                let shape = format!("root tbf rate {megabits}mbit burst {BURST} limit {QUEUE}");
                format!(
                    "tc qdisc replace dev port{host} {shape}
                     tc -n h{host} qdisc replace dev eth0 {shape}"
                )
            }
        })
    }

    /// From now on a frame has that many bytes, before a program starts.
    pub(super) fn set_mtu(&self, mtu: u32) -> Result<(), Error> {
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

/// How other launchers enter a host, that each gets a rank, and that there is one network: Hydra;
/// Open MPI 4 and 5; UCX.
pub(super) const SETTINGS: [(&str, &str); 10] = [
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

/// Other contents for a file, as the hosts see it.
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
