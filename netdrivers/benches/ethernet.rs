//! Raw Ethernet on one machine: hosts are interfaces in a namespace that this program makes for itself.
//!
//! Half round trips beside the system's own calls, in turns; broadcasts through a line of 100 Mb/s, in per cent of what
//! the line can carry of payload; a short broadcast. Arguments choose parts: `trip`, `cast`, `short`.

#[path = "../tests/ethernet/cast.rs"]
mod cast;
#[path = "../tests/ethernet/segment.rs"]
mod segment;

use pombo_kernel::channel::reliable::{Reliable, Window};
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::network::Network;
use pombo_kernel::{Node, Part};
use pombo_netdrivers::ethernet::{ETHER_TYPE, Traffic};
use pombo_netdrivers::{Ethernet, Growing};
use std::process::Command;
use std::time::Instant;

const INSIDE: &str = "POMBO_BENCH_SEGMENT";
const TRIPS: u32 = 2000;
const ROUNDS: usize = 25;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(INSIDE).is_none() {
        let program = std::env::current_exe().expect("this program");
        let mut again = Command::new("unshare");
        again
            .arg("-Urn")
            .arg(program)
            .args(&wanted)
            .env(INSIDE, "1");
        let ended = again.status().expect("unshare");
        std::process::exit(ended.code().unwrap_or(1));
    }
    let parts = wanted.iter().any(|word| !word.starts_with('-'));
    let has = |part: &str| !parts || wanted.iter().any(|word| word == part);
    segment::segment(8, 1500);
    segment::ip(
        "link add direct0 type veth peer name direct1\nlink set direct0 up\nlink set direct1 up\n",
    );
    if has("trip") {
        trips();
    }
    if has("short") {
        short();
    }
    if has("cast") {
        casts();
    }
}

/// Somebody who throws a ball back, and the first who waits for it.
trait Side: Send {
    fn throw(&mut self);
    fn catch(&mut self);
}

/// Nanoseconds for one way, each round; `sides` are two of a kind.
fn round(sides: &mut [Box<dyn Side>; 2]) -> f64 {
    let [one, other] = sides;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..TRIPS {
                other.catch();
                other.throw();
            }
        });
        let start = Instant::now();
        for _ in 0..TRIPS {
            one.throw();
            one.catch();
        }
        start.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS)
    })
}

/// Half round trips of 8 bytes over a pair of interfaces, everybody spinning.
fn trips() {
    let mut kinds = [
        ("packet socket, send and recv", plain()),
        ("Ethernet", devices()),
        ("Reliable<Ethernet>", channels()),
    ];
    let mut times = kinds.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (kind, times) in kinds.iter_mut().zip(&mut times) {
            times.push(round(&mut kind.1));
        }
    }
    println!(
        "half round trip of 8 bytes, ns: median, least of {ROUNDS} rounds, ratio to the first"
    );
    let first = median(&mut times[0].clone());
    for ((name, _), times) in kinds.iter().zip(&mut times) {
        let middle = median(times);
        println!(
            "{name:30} {middle:8.0} {:8.0} {:6.2}",
            times[0],
            middle / first
        );
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What the system's calls do by themselves.
struct Plain(i32);

impl Side for Plain {
    fn throw(&mut self) {
        let mut frame = [0xff; 32];
        frame[12..14].copy_from_slice(&0x88b6_u16.to_be_bytes());
        // SAFETY: the frame is valid for its size, and only read.
        let sent = unsafe { libc::send(self.0, frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, 32);
    }

    fn catch(&mut self) {
        let mut room = [0_u8; 2048];
        // SAFETY: the place is valid for the size given.
        let mut receive =
            || unsafe { libc::recv(self.0, room.as_mut_ptr().cast(), 2048, libc::MSG_DONTWAIT) };
        while receive() <= 0 {}
    }
}

fn plain() -> [Box<dyn Side>; 2] {
    [c"direct0", c"direct1"].map(|name| {
        // SAFETY: the address is valid for its size; the name is a C string.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            let mut at: libc::sockaddr_ll = std::mem::zeroed();
            at.sll_family = libc::AF_PACKET as u16;
            at.sll_protocol = (ETHER_TYPE + 1).to_be();
            at.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of_val(&at) as u32;
            assert_eq!(libc::bind(fd, (&raw const at).cast(), size), 0);
            fd
        };
        Box::new(Plain(fd)) as Box<dyn Side>
    })
}

fn pair(job: u16) -> [Ethernet; 2] {
    let opened = [0, 1].map(|node| {
        let seat = segment::seat(node, Traffic::Single);
        let seat = pombo_netdrivers::ethernet::Seat { job, ..seat };
        Ethernet::open(&format!("direct{node}"), seat).expect("inside of a namespace")
    });
    let table = opened.each_ref().map(|one| one.address());
    opened.map(|one| one.join(&table).expect("the table"))
}

struct Device(Ethernet);

impl Side for Device {
    fn throw(&mut self) {
        let to = Node(1 - self.0.node().0);
        self.0.transmit(to, &[Part::Bytes(&[7; 8])]).expect("room");
    }

    fn catch(&mut self) {
        while !self.0.poll(|frame| assert_eq!(frame.len(), 8)).expect("up") {}
    }
}

fn devices() -> [Box<dyn Side>; 2] {
    pair(1).map(|device| Box::new(Device(device)) as Box<dyn Side>)
}

type Over = Reliable<Ethernet, Window<2, 64, 1500>, Growing>;

struct Linked(Over);

impl Side for Linked {
    fn throw(&mut self) {
        let to = Node(1 - self.0.node().0);
        let sent = self.0.try_send(to, Cookie::COPY, &[Part::Bytes(&[7; 8])]);
        sent.expect("room");
    }

    fn catch(&mut self) {
        let mut came = false;
        while !came {
            let polled = self
                .0
                .poll(|event| came |= matches!(event, Event::Arrival(_)));
            polled.expect("up");
        }
    }
}

fn channels() -> [Box<dyn Side>; 2] {
    pair(2).map(|device| {
        let over = Over::new(device, 0x5eed).expect("two places");
        Box::new(Linked(over)) as Box<dyn Side>
    })
}

/// Short messages.
const SHORT: usize = 1000;

/// 16 bytes to seven receivers, until all are known to have them.
fn short() {
    let nodes = segment::network(8, 1, Traffic::Group);
    let times = cast::broadcast(nodes, vec![16; SHORT]);
    let mut each: Vec<f64> = times
        .each
        .iter()
        .map(|time| time.as_nanos() as f64 / 1e3)
        .collect();
    let middle = median(&mut each);
    println!(
        "16 bytes to 7 receivers, all acknowledged: {middle:.1} us median, {:.1} least, {:.1} at 90 %",
        each[0],
        each[each.len() * 9 / 10]
    );
}

/// What the line carries in a second, in bytes, as the shaper counts.
const LINE: f64 = 12.5e6;

/// The sender's own port and those of the switch have 100 Mb/s and a bucket of 16 KiB.
fn shape(ports: u16) {
    let names = (1..ports).map(|port| format!("port{port}"));
    for name in names.chain(["host0".into()]) {
        let arguments =
            format!("qdisc add dev {name} root tbf rate 100mbit burst 16kb limit 600000");
        let shaped = Command::new("tc").args(arguments.split(' ')).status();
        assert!(shaped.expect("tc").success(), "{name}");
    }
}

fn casts() {
    shape(8);
    println!("broadcast at 100 Mb/s, per cent of the payload ceiling");
    for receivers in [1, 3, 7] {
        for (len, count) in [(256 << 10, 16), (4 << 20, 2), (32 << 20, 1)] {
            let nodes = segment::network(receivers + 1, 1, Traffic::Group);
            let times = cast::broadcast(nodes, vec![len; count + 1]);
            // The first finds an empty cache and a full bucket.
            let time: f64 = times.each[1..].iter().map(|time| time.as_secs_f64()).sum();
            let frame = (1500 + 14) as f64;
            let ceiling = LINE * times.chunk as f64 / frame;
            let rate = (len * count) as f64 / time;
            println!(
                "{receivers} receivers {len:9} bytes: {:5.1} %  {}",
                100.0 * rate / ceiling,
                times.counts
            );
        }
    }
}
