//! Hosts, each a network namespace of its own, made by this program for itself.

use pombo_kernel::Peer;
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{BoundEthernet, FrameAddress, Traffic};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

const JOB: u16 = 0x1701;

/// Host n has the interface `host<n>` and the address 10.7.0.<n + 1>.
pub(crate) struct Hosts {
    home: File,
    each: Vec<File>,
}

impl Hosts {
    /// Two, with nothing in between.
    pub(crate) fn pair(mtu: usize) -> Self {
        let hosts = Self::alone(2);
        hosts.on(0, || {
            let there = hosts.path(&hosts.each[1]);
            ip(&format!(
                "link add host0 mtu {mtu} type veth peer name host1 mtu {mtu} netns {there}"
            ));
        });
        hosts.start();
        hosts
    }

    /// On a segment; the ports of its switch are `port<n>`, here.
    pub(crate) fn segment(count: usize, mtu: usize) -> Self {
        let hosts = Self::alone(count);
        ip(&format!("link add segment mtu {mtu} type bridge"));
        ip("link set segment up");
        for (host, there) in hosts.each.iter().enumerate() {
            let there = hosts.path(there);
            ip(&format!(
                "link add port{host} mtu {mtu} type veth peer name host{host} mtu {mtu} netns {there}"
            ));
            ip(&format!("link set port{host} master segment up"));
        }
        hosts.start();
        // The switch carries frames a moment after its ports have come up.
        let list = || {
            let mut list = Command::new("ip");
            list.args(["-d", "-o", "link", "show", "master", "segment"]);
            String::from_utf8_lossy(&list.output().expect("ip").stdout).into_owned()
        };
        while list().matches("state forwarding").count() < count {
            std::thread::sleep(Duration::from_millis(10));
        }
        hosts
    }

    /// No longer there: the next may have the same names.
    pub(crate) fn end(self) {
        // A pair has no switch, and the other end of its line goes with the first.
        let delete = |name: &str| {
            let _ = Command::new("ip").args(["link", "del", name]).output();
        };
        delete("segment");
        for host in 0..self.each.len() {
            self.on(host, || delete(&format!("host{host}")));
        }
    }

    fn alone(count: usize) -> Self {
        let own = || File::open("/proc/thread-self/ns/net").expect("a namespace");
        let home = own();
        let new = |_| {
            // SAFETY: takes nothing; concerns this thread alone.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "unshare");
            let new = own();
            enter(&home);
            new
        };
        let each = (0..count).map(new).collect();
        Hosts { home, each }
    }

    fn start(&self) {
        for host in 0..self.each.len() {
            self.on(host, || {
                ip("link set lo up");
                ip(&format!("link set host{host} up"));
                ip(&format!("addr add 10.7.0.{}/24 dev host{host}", host + 1));
            });
        }
    }

    /// Where other programs find it.
    fn path(&self, namespace: &File) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd())
    }

    /// Does something on a host: what is opened there stays there.
    pub(crate) fn on<T>(&self, host: usize, f: impl FnOnce() -> T) -> T {
        enter(&self.each[host]);
        let done = f();
        enter(&self.home);
        done
    }

    /// A network with one peer on each host.
    pub(crate) fn network(&self, peers: usize, traffic: Traffic) -> Vec<Ethernet> {
        let open = |host: usize| {
            let peer = Peer(host as u16);
            let job = JOB;
            let frame_address = FrameAddress { job, peer, traffic };
            self.on(host, || {
                Ethernet::open(&format!("host{host}"), frame_address)
            })
            .expect("inside of a namespace")
        };
        let opened: Vec<BoundEthernet> = (0..peers).map(open).collect();
        let addresses: Vec<_> = opened.iter().map(BoundEthernet::address).collect();
        let join = |one: BoundEthernet| one.join(&addresses).expect("the table");
        opened.into_iter().map(join).collect()
    }

    /// The ports of the switch and the first host's own carry 100 Mb/s, and forgive 16 KiB.
    pub(crate) fn shape(&self, receivers: usize) {
        let shape = |name: &str| {
            let bucket = "root tbf rate 100mbit burst 16kb limit 600000";
            run("tc", &format!("qdisc replace dev {name} {bucket}"));
        };
        self.on(0, || shape("host0"));
        (1..=receivers).for_each(|port| shape(&format!("port{port}")));
    }
}

fn enter(namespace: &File) {
    // SAFETY: takes a descriptor that is open; concerns this thread alone.
    let entered = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(entered, 0, "setns");
}

fn ip(command: &str) {
    run("ip", command);
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split(' ')).status();
    let status = status.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(status.success(), "{program} {arguments}");
}
