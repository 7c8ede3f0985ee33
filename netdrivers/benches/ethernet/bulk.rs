//! How many bytes go from host to host over a line without a limit, by frames of several sizes, beside TCP.

use crate::hosts::Hosts;
use crate::median;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::ethernet::Traffic;
use pombo_netdrivers::{Ethernet, HeapStorage};
use pombo_transport::reliable::{Reliable, Window};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Instant;

const TOTAL: usize = 128 << 20;
const ROUNDS: usize = 7;
/// What TCP is given at once.
const BLOCK: usize = 256 << 10;

type Over = Reliable<Ethernet, Window<2, 64, 65535>, HeapStorage>;

/// In turns.
pub(crate) fn bulk() {
    println!("bytes one way between two hosts, GB/s: median of {ROUNDS}");
    println!("  MTU  Reliable<Ethernet>    TCP");
    for mtu in [1500, 9000, 65000] {
        let hosts = Hosts::pair(mtu);
        let [mut one, mut other] = channels(&hosts);
        let (mut from, mut to) = streams(&hosts);
        let (mut ours, mut tcp) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(timed(|| give(&mut one), || take(&mut other)));
            tcp.push(timed(|| write(&mut from), || read(&mut to)));
        }
        let (ours, tcp) = (median(&mut ours), median(&mut tcp));
        println!("{mtu:5} {ours:19.2} {tcp:6.2}");
        hosts.end();
    }
}

/// Gigabytes in a second, until the receiver has all.
fn timed(send: impl FnOnce() + Send, receive: impl FnOnce()) -> f64 {
    std::thread::scope(|scope| {
        let start = Instant::now();
        scope.spawn(send);
        receive();
        TOTAL as f64 / start.elapsed().as_nanos() as f64
    })
}

fn channels(hosts: &Hosts) -> [Over; 2] {
    let two: [Ethernet; 2] = match hosts.network(2, Traffic::Unicast).try_into() {
        Ok(two) => two,
        Err(_) => panic!("two were asked for"),
    };
    two.map(|device| Over::new(device, 0x5eed).expect("two places"))
}

fn give(channel: &mut Over) {
    let bytes = vec![7; channel.limit(Peer(1))];
    let (mut left, mut idle) = (TOTAL, 0);
    while left > 0 {
        let some = left.min(bytes.len());
        let parts = [Part::Bytes(&bytes[..some])];
        match channel.try_send(Peer(1), Cookie::COPY, &parts) {
            Ok(_) => left -= some,
            Err(ChannelError::Full) => send_due(channel, &mut idle, |_| ()),
            Err(error) => panic!("{error}"),
        }
    }
}

fn take(channel: &mut Over) {
    let mut room = vec![0; channel.limit(Peer(0))];
    let (mut came, mut idle) = (0, 0);
    while came < TOTAL {
        send_due(channel, &mut idle, |bytes| {
            room[..bytes.len()].copy_from_slice(bytes);
            came += bytes.len();
        });
    }
}

/// Looks for frames, and waits if there are none.
fn send_due(channel: &mut Over, idle: &mut u32, mut f: impl FnMut(&[u8])) {
    let heard = channel.poll(|event| {
        if let Event::Arrival(frame) = event {
            frame.for_each_chunk(0, frame.len(), &mut f);
        }
    });
    if heard.expect("it is up") {
        *idle = 0;
    } else {
        channel.wait(*idle).expect("it is up");
        *idle += 1;
    }
}

fn streams(hosts: &Hosts) -> (TcpStream, TcpStream) {
    let listener = hosts.on(1, || TcpListener::bind("10.7.0.2:0").expect("an address"));
    let address = listener.local_addr().expect("bound");
    let from = hosts.on(0, || TcpStream::connect(address).expect("it listens"));
    let name = c"cubic".to_bytes();
    // SAFETY: the name is valid for its size, and only read.
    unsafe {
        // Some systems use one that is slow on lines like these; where there is no other it stays.
        let size = name.len() as libc::socklen_t;
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        libc::setsockopt(from.as_raw_fd(), level, option, name.as_ptr().cast(), size);
    }
    (from, listener.accept().expect("it connected").0)
}

fn write(to: &mut TcpStream) {
    let block = vec![7; BLOCK];
    for _ in 0..TOTAL / BLOCK {
        to.write_all(&block).expect("it is up");
    }
}

fn read(from: &mut TcpStream) {
    let (mut block, mut came) = (vec![0; BLOCK], 0);
    while came < TOTAL {
        came += from.read(&mut block).expect("it is up");
    }
}
