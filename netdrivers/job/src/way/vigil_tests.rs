//! Connections between ranks that are threads.

extern crate std;

use super::*;
use crate::place::{Auth, Name};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const JOB: Job = Job {
    name: Name {
        epoch: 5,
        id: 7,
        auth: Auth::Off,
    },
    key: 0x1234_5678_9abc_def0,
};
/// Far above what any of it takes.
const HANG: Duration = Duration::from_secs(60);

/// All ranks meet; `before` runs when all doors are open.
fn meet(ranks: usize, before: impl FnOnce(&[SocketAddr])) -> Vec<Vigil> {
    let ip = IpAddr::from([127, 0, 0, 1]);
    let doors: Vec<_> = (0..ranks)
        .map(|_| Door::open(ip).expect("a port"))
        .collect();
    let addresses: Vec<_> = doors.iter().map(Door::address).collect();
    before(&addresses);
    let met: Vec<_> = doors
        .into_iter()
        .enumerate()
        .map(|(rank, door)| {
            let addresses = addresses.clone();
            let me = Node(rank as u16);
            thread::spawn(move || door.meet(me, &addresses, |node| node == me, JOB, 10))
        })
        .collect();
    let met = met.into_iter().map(|rank| rank.join().expect("no panic"));
    met.map(|vigil| vigil.expect("they meet")).collect()
}

fn gone(vigil: &mut Vigil) -> Vec<u16> {
    let mut nodes = Vec::new();
    vigil.look(|node| nodes.push(node.0));
    nodes.sort_unstable();
    nodes
}

fn until_gone(vigil: &mut Vigil, expected: &[u16]) {
    let (begin, mut nodes) = (Instant::now(), Vec::new());
    while nodes != expected {
        assert!(begin.elapsed() < HANG, "{nodes:?} instead of {expected:?}");
        nodes.extend(gone(vigil));
        nodes.sort_unstable();
    }
}

#[test]
fn every_end_is_noticed_once() {
    let mut ranks = meet(4, |_| ());
    for vigil in &mut ranks {
        assert_eq!(gone(vigil), []);
    }
    // Like a process that ends, and like one that finishes.
    drop(ranks.remove(1));
    ranks[2].finish();
    until_gone(&mut ranks[0], &[1, 3]);
    until_gone(&mut ranks[1], &[1, 3]);
    assert_eq!(gone(&mut ranks[0]), []);
}

/// Of another key.
const OTHER: Job = Job {
    key: JOB.key + 1,
    ..JOB
};

fn hello(from: u16, to: u16, job: Job) -> Vec<u8> {
    let (from, to) = (Node(from), Node(to));
    Hello { from, to }.bytes(job).to_vec()
}

#[test]
fn strangers_stay_outside() {
    let mut strangers = Vec::new();
    let mut ranks = meet(3, |doors| {
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n plus some more".to_vec(),
            hello(1, 0, OTHER),
            hello(1, 2, JOB),
            hello(9, 0, JOB),
            Vec::new(),
        ] {
            let mut stranger = TcpStream::connect(doors[0]).expect("an open door");
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

/// Whoever connects and says nothing, or not all of it, keeps nobody from joining.
#[test]
fn silent_strangers_delay_nobody() {
    let mut strangers = Vec::new();
    let mut ranks = meet(3, |doors| {
        for number in 0..20 {
            let mut stranger = TcpStream::connect(doors[number % 2]).expect("an open door");
            let half = &hello(2, 0, OTHER)[..number % SIZE];
            stranger.write_all(half).expect("room");
            strangers.push(stranger);
        }
    });
    for vigil in &mut ranks {
        assert_eq!(gone(vigil), []);
    }
}

/// Of more guests than there is room for the first ones go: who says all at once is heard.
#[test]
fn guests_are_bounded() {
    let door = Door::open(IpAddr::from([127, 0, 0, 1])).expect("a port");
    let mut guests = Guests::new(&MAGIC, 2);
    let connect = || TcpStream::connect(door.address()).expect("an open door");
    let mut silent: Vec<_> = (0..5).map(|_| connect()).collect();
    let mut rank = connect();
    rank.write_all(&hello(1, 0, JOB)).expect("room");
    let (begin, mut heard) = (Instant::now(), None);
    while heard.is_none() {
        assert!(begin.elapsed() < HANG, "nobody was heard");
        let hear = guests.hear(&door.socket, 1000, |said, _| heard = Hello::read(said, JOB));
        assert_eq!(hear, Ok(()));
    }
    assert_eq!(heard.map(|hello| hello.from), Some(Node(1)));
    // The one that came last is still there, those before it are not.
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
    let door = Door::open(ip).expect("a port");
    let addresses = std::vec![door.address(); MOST + 1];
    let met = door.meet(Node(0), &addresses, |_| true, JOB, 10);
    let refused = JobError::TooManyRanks {
        ranks: MOST + 1,
        most: MOST,
    };
    assert_eq!(met.err(), Some(refused));
}

#[test]
fn a_door_that_is_closed_is_named() {
    let ip = IpAddr::from([127, 0, 0, 1]);
    // At another address of this host: no door that opens beside this test gets that port there.
    let gone = IpAddr::from([127, 0, 0, 77]);
    let closed = Door::open(gone).expect("a port").address();
    let door = Door::open(ip).expect("a port");
    let addresses = [closed, door.address()];
    let met = door.meet(Node(1), &addresses, |node| node == Node(1), JOB, 10);
    let refused = JobError::NoWay {
        rank: 0,
        address: closed,
        errno: libc::ECONNREFUSED,
    };
    assert_eq!(met.err(), Some(refused));
}
