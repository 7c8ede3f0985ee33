//! Half round trips of 8 bytes between two hosts, everybody spinning, each on a processor of its own.

use crate::hosts::Hosts;
use crate::median;
use pombo_kernel::channel::{Arrival, Channel, Cookie, Event};
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::ethernet::{ETHER_TYPE, Traffic};
use pombo_netdrivers::{Ethernet, HeapStorage};
use pombo_transport::reliable::{Reliable, Window};
use std::time::Instant;

const TRIPS: u32 = 2000;
const ROUNDS: usize = 25;

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
            pin(1);
            for _ in 0..TRIPS {
                other.catch();
                other.throw();
            }
        });
        let thrower = scope.spawn(|| {
            pin(0);
            let start = Instant::now();
            for _ in 0..TRIPS {
                one.throw();
                one.catch();
            }
            start.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS)
        });
        thrower.join().expect("it catches")
    })
}

/// This thread works there and nowhere else, if there is such a processor.
fn pin(processor: usize) {
    // SAFETY: zeros are an empty set; the set is valid for its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

/// In turns, beside the system's own calls.
pub(crate) fn trips() {
    let hosts = Hosts::pair(1500);
    let mut kinds = [
        ("packet socket, send and recv", plain(&hosts)),
        ("Ethernet", devices(&hosts)),
        ("Reliable<Ethernet>", channels(&hosts)),
    ];
    let mut times = kinds.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (kind, times) in kinds.iter_mut().zip(&mut times) {
            times.push(round(&mut kind.1));
        }
    }
    println!("half round trip of 8 bytes, ns: median and least of {ROUNDS}, ratio to the first");
    let first = median(&mut times[0].clone());
    for ((name, _), times) in kinds.iter().zip(&mut times) {
        let (middle, least) = (median(times), times[0]);
        let ratio = middle / first;
        println!("{name:30} {middle:8.0} {least:8.0} {ratio:6.2}");
    }
    hosts.end();
}

/// What the system's calls do by themselves.
struct Plain(i32);

impl Side for Plain {
    fn throw(&mut self) {
        let mut frame = [0xff; 32];
        frame[12..14].copy_from_slice(&(ETHER_TYPE + 1).to_be_bytes());
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

fn plain(hosts: &Hosts) -> [Box<dyn Side>; 2] {
    let socket = |name: &std::ffi::CStr| {
        // SAFETY: the address is valid for its size; the name is a C string.
        unsafe {
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            let mut at: libc::sockaddr_ll = std::mem::zeroed();
            at.sll_family = libc::AF_PACKET as u16;
            at.sll_protocol = (ETHER_TYPE + 1).to_be();
            at.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of_val(&at) as u32;
            assert_eq!(libc::bind(fd, (&raw const at).cast(), size), 0);
            fd
        }
    };
    [(0, c"host0"), (1, c"host1")].map(|(host, name)| {
        let fd = hosts.on(host, || socket(name));
        Box::new(Plain(fd)) as Box<dyn Side>
    })
}

struct Device(Ethernet);

impl Side for Device {
    fn throw(&mut self) {
        let to = Peer(1 - self.0.me().0);
        self.0.transmit(to, &[Part::Bytes(&[7; 8])]).expect("room");
    }

    fn catch(&mut self) {
        while !self.0.poll(|frame| assert_eq!(frame.len(), 8)).expect("up") {}
    }
}

fn devices(hosts: &Hosts) -> [Box<dyn Side>; 2] {
    let [one, other] = two(hosts, Traffic::Multicast);
    [Box::new(Device(one)), Box::new(Device(other))]
}

/// Of one traffic; the other is another device's.
fn two(hosts: &Hosts, traffic: Traffic) -> [Ethernet; 2] {
    let two = hosts.network(2, traffic).try_into();
    two.unwrap_or_else(|_| panic!("two were asked for"))
}

type Over = Reliable<Ethernet, Window<2, 64, 1500>, HeapStorage>;

struct Linked(Over);

impl Side for Linked {
    fn throw(&mut self) {
        let to = Peer(1 - self.0.me().0);
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

fn channels(hosts: &Hosts) -> [Box<dyn Side>; 2] {
    two(hosts, Traffic::Unicast).map(|device| {
        let over = Over::new(device, 0x5eed).expect("two places");
        Box::new(Linked(over)) as Box<dyn Side>
    })
}
