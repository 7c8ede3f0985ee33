//! A segment with hosts, and somebody on it who does not belong to the job.

use pombo_kernel::Node;
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{Address, ETHER_TYPE, Opened, Seat, Traffic};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far above the time that anything here takes on one host.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// Set inside of a namespace.
const INSIDE: &str = "POMBO_TEST_SEGMENT";

pub(crate) const JOB: u16 = 0x1701;

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
        crate::segment::in_namespace(concat!(module_path!(), "::", stringify!($test)), $body)
    };
}
pub(crate) use inside;

/// Runs commands of `ip`, one to a line.
pub(crate) fn ip(commands: &str) {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("ip");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(commands.as_bytes()).expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{commands}");
}

/// Makes hosts with the interfaces host0, host1, ... and a place for a stranger on one segment.
pub(crate) fn segment(hosts: u16, mtu: usize) {
    let mut commands = String::from("link set lo up\nlink add segment type bridge\n");
    commands += &format!("link set segment mtu {mtu} up\n");
    let names = (0..hosts).map(|host| format!("host{host}"));
    for (number, name) in names.chain(["stranger".into()]).enumerate() {
        commands += &format!(
            "link add {name} mtu {mtu} type veth peer name port{number} mtu {mtu}\n\
             link set port{number} master segment up\n\
             link set {name} up\n"
        );
    }
    ip(&commands);
    await_ports(usize::from(hosts) + 1);
}

/// The segment carries frames a moment after its ports have come up.
fn await_ports(ports: usize) {
    let start = Instant::now();
    loop {
        let mut list = Command::new("ip");
        list.args(["-d", "-o", "link", "show", "master", "segment"]);
        let text = list.output().expect("ip").stdout;
        let text = String::from_utf8_lossy(&text).into_owned();
        if text.matches("state forwarding").count() == ports {
            return;
        }
        assert!(start.elapsed() < HANG, "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn seat(node: u16, traffic: Traffic) -> Seat {
    Seat {
        job: JOB,
        node: Node(node),
        traffic,
    }
}

/// Nodes with so many on each host, and where they are.
pub(crate) fn opened(nodes: u16, per_host: u16, traffic: Traffic) -> (Vec<Opened>, Vec<Address>) {
    let open = |node: u16| {
        let host = format!("host{}", node / per_host);
        Ethernet::open(&host, seat(node, traffic)).expect("inside of a namespace")
    };
    let opened: Vec<Opened> = (0..nodes).map(open).collect();
    let addresses = opened.iter().map(Opened::address).collect();
    (opened, addresses)
}

/// A network of that many nodes.
pub(crate) fn network(nodes: u16, per_host: u16, traffic: Traffic) -> Vec<Ethernet> {
    let (opened, addresses) = opened(nodes, per_host, traffic);
    let join = |one: Opened| one.join(&addresses).expect("the table");
    opened.into_iter().map(join).collect()
}

/// Who sends what it likes, from its own place on the segment.
pub(crate) struct Stranger {
    fd: i32,
    to: libc::sockaddr_ll,
}

impl Stranger {
    /// At that interface.
    pub(crate) fn at(interface: &str) -> Self {
        let name = std::ffi::CString::new(interface).expect("a name");
        // SAFETY: the name is a C string; no other memory is passed.
        let (fd, index) = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            (fd, libc::if_nametoindex(name.as_ptr()))
        };
        assert!(fd >= 0 && index > 0);
        let to = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: ETHER_TYPE.to_be(),
            sll_ifindex: index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 6,
            sll_addr: [0; 8],
        };
        Stranger { fd, to }
    }

    /// A frame with Ethernet's header. False: the system did not take it.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        // SAFETY: frame and address are valid for their sizes, and only read.
        let sent = unsafe {
            libc::sendto(
                self.fd,
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const self.to).cast(),
                size_of_val(&self.to) as u32,
            )
        };
        sent == frame.len() as isize
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.fd) };
    }
}

/// What a frame says, to be changed by who forges.
#[derive(Clone, Copy)]
pub(crate) struct Forged {
    pub(crate) to: [u8; 6],
    pub(crate) from: [u8; 6],
    pub(crate) kind: [u8; 2],
    pub(crate) job: u16,
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) len: u16,
}

impl Forged {
    /// As that node would send it to another.
    pub(crate) fn as_node(
        source: u16,
        destination: u16,
        addresses: &[Address],
        len: usize,
    ) -> Self {
        Forged {
            to: addresses[usize::from(destination)].mac.0,
            from: addresses[usize::from(source)].mac.0,
            kind: [0x11, 0],
            job: JOB,
            source,
            destination,
            len: len as u16,
        }
    }

    pub(crate) fn with(&self, bytes: &[u8]) -> Vec<u8> {
        let words = [self.job, self.source, self.destination, self.len];
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let ether_type = ETHER_TYPE.to_be_bytes();
        [
            &self.to[..],
            &self.from,
            &ether_type,
            &self.kind,
            &words,
            bytes,
        ]
        .concat()
    }
}
