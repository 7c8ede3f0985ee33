//! Connections between ranks that are threads.

extern crate std;

use super::*;
use crate::bootstrap::{Auth, JobName};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const JOB: JobKeys = JobKeys {
    name: JobName {
        epoch: 5,
        id: 7,
        auth: Auth::Off,
    },
    key: 0x1234_5678_9abc_def0,
};
/// A time far above what any test takes.
const HANG: Duration = Duration::from_secs(60);

/// Connects all ranks; `before` runs when all listeners are open.
fn meet(ranks: usize, before: impl FnOnce(&[SocketAddr])) -> Vec<FailureDetector> {
    let ip = IpAddr::from([127, 0, 0, 1]);
    let listeners: Vec<_> = (0..ranks)
        .map(|_| Listener::open(ip).expect("a port"))
        .collect();
    let addresses: Vec<_> = listeners.iter().map(Listener::address).collect();
    before(&addresses);
    let info: Vec<_> = listeners
        .into_iter()
        .enumerate()
        .map(|(rank, listener)| {
            let addresses = addresses.clone();
            let me = Peer(rank as u16);
            thread::spawn(move || listener.meet(me, &addresses, |peer| peer == me, JOB, 10))
        })
        .collect();
    let info = info.into_iter().map(|rank| rank.join().expect("no panic"));
    info.map(|failure_detector| failure_detector.expect("they meet"))
        .collect()
}

fn gone(failure_detector: &mut FailureDetector) -> Vec<u16> {
    let mut peers = Vec::new();
    failure_detector.poll_deaths(u64::MAX, &mut |peer| peers.push(peer.0));
    peers.sort_unstable();
    peers
}

fn until_gone(failure_detector: &mut FailureDetector, expected: &[u16]) {
    let (begin, mut peers) = (Instant::now(), Vec::new());
    while peers != expected {
        assert!(begin.elapsed() < HANG, "{peers:?} instead of {expected:?}");
        peers.extend(gone(failure_detector));
        peers.sort_unstable();
    }
}

#[test]
fn every_end_is_noticed_once() {
    let mut ranks = meet(4, |_| ());
    for failure_detector in &mut ranks {
        assert_eq!(gone(failure_detector), []);
    }
    // The first is like a process that ends, the second like one that finishes.
    drop(ranks.remove(1));
    ranks[2].finish();
    until_gone(&mut ranks[0], &[1, 3]);
    until_gone(&mut ranks[1], &[1, 3]);
    assert_eq!(gone(&mut ranks[0]), []);
    assert!(
        [1, 3]
            .iter()
            .all(|end| !ranks[0].is_unreachable(Peer(*end)))
    );
}

/// A rank whose connection is reset may be alive, on the other side of a partition.
#[test]
fn a_reset_does_not_prove_an_end() {
    let mut ranks = meet(2, |_| ());
    let other = ranks.pop().expect("two ranks");
    for connection in &other.connections {
        let linger =
            rustix::net::sockopt::set_socket_linger(&connection.socket, Some(Duration::ZERO));
        linger.expect("a reset at the end");
    }
    drop(other);
    until_gone(&mut ranks[0], &[1]);
    assert!(ranks[0].is_unreachable(Peer(1)));
}

/// The same job with another key.
const OTHER: JobKeys = JobKeys {
    key: JOB.key + 1,
    ..JOB
};

fn hello(from: u16, to: u16, job: JobKeys) -> Vec<u8> {
    let (from, to) = (Peer(from), Peer(to));
    Hello { from, to }.bytes(job).to_vec()
}

#[test]
fn strangers_stay_outside() {
    let mut strangers = Vec::new();
    let mut ranks = meet(3, |listeners| {
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n plus some more".to_vec(),
            hello(1, 0, OTHER),
            hello(1, 2, JOB),
            hello(9, 0, JOB),
            Vec::new(),
        ] {
            let mut stranger = TcpStream::connect(listeners[0]).expect("an open door");
            stranger.write_all(&bytes).expect("room");
            if bytes.is_empty() {
                stranger.shutdown(std::net::Shutdown::Write).expect("open");
            }
            strangers.push(stranger);
        }
    });
    drop(strangers);
    assert_eq!(gone(&mut ranks[0]), []);
    drop(ranks.remove(2));
    until_gone(&mut ranks[0], &[2]);
    until_gone(&mut ranks[1], &[2]);
}

/// A connection that sends no hello, or an incomplete one, keeps no rank from joining.
#[test]
fn silent_strangers_delay_nobody() {
    let mut strangers = Vec::new();
    let mut ranks = meet(3, |listeners| {
        for number in 0..20 {
            let mut stranger = TcpStream::connect(listeners[number % 2]).expect("an open door");
            let half = &hello(2, 0, OTHER)[..number % SIZE];
            stranger.write_all(half).expect("room");
            strangers.push(stranger);
        }
    });
    for failure_detector in &mut ranks {
        assert_eq!(gone(failure_detector), []);
    }
}

/// If there are too many connections the oldest are closed: one that sends its whole hello at once is accepted.
#[test]
fn guests_are_bounded() {
    let listener = Listener::open(IpAddr::from([127, 0, 0, 1])).expect("a port");
    let mut pending = PendingConnections::new(&MAGIC, 2);
    let connect = || TcpStream::connect(listener.address()).expect("an open door");
    let mut silent: Vec<_> = (0..5).map(|_| connect()).collect();
    let mut rank = connect();
    rank.write_all(&hello(1, 0, JOB)).expect("room");
    let (begin, mut heard) = (Instant::now(), None);
    while heard.is_none() {
        assert!(begin.elapsed() < HANG, "nobody was heard");
        let polled = pending.poll(&listener.socket, 1000, |said, _| {
            heard = Hello::read(said, JOB)
        });
        assert_eq!(polled, Ok(()));
    }
    assert_eq!(heard.map(|hello| hello.from), Some(Peer(1)));
    // The latest one is still open, those before it are not.
    let mut byte = [0];
    for stranger in &mut silent[..4] {
        let limit = stranger.set_read_timeout(Some(HANG));
        limit.expect("an open connection");
        assert_eq!(stranger.read(&mut byte).expect("its end"), 0);
    }
    let last = silent[4].set_nonblocking(true);
    last.expect("an open connection");
    let open = silent[4].read(&mut byte).expect_err("nothing is said");
    assert_eq!(open.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn too_many_ranks_are_refused() {
    let ip = IpAddr::from([127, 0, 0, 1]);
    let listener = Listener::open(ip).expect("a port");
    let addresses = std::vec![listener.address(); MOST_RANKS + 1];
    let info = listener.meet(Peer(0), &addresses, |_| true, JOB, 10);
    let refused = JobError::TooManyRanks {
        ranks: MOST_RANKS + 1,
        most: MOST_RANKS,
    };
    assert_eq!(info.err(), Some(Box::new(refused)));
}

#[test]
fn a_door_that_is_closed_is_named() {
    let ip = IpAddr::from([127, 0, 0, 1]);
    // The address is another one of this host: no listener that opens beside this test gets that port there.
    let gone = IpAddr::from([127, 0, 0, 77]);
    let closed = Listener::open(gone).expect("a port").address();
    let listener = Listener::open(ip).expect("a port");
    let addresses = [closed, listener.address()];
    let info = listener.meet(Peer(1), &addresses, |peer| peer == Peer(1), JOB, 10);
    let refused = JobError::Unreachable {
        rank: 0,
        address: closed,
        errno: libc::ECONNREFUSED,
    };
    assert_eq!(info.err(), Some(Box::new(refused)));
}
