//! A thousand worlds come and go, and nothing stays. Alone in its process, as it counts what the process has.
#![cfg(all(feature = "shm", target_os = "linux"))]

use std::thread;
use std::time::Duration;

use pombo_kernel::channel::{Channel, Cookie};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_netdrivers::shm::{Segment, Shm, bootstrap_within};

const WORLDS: usize = 1000;
const SOON: Duration = Duration::from_secs(60);

/// What a world could leave behind.
#[derive(PartialEq, Debug)]
struct Left {
    descriptors: usize,
    mappings: usize,
    sockets: usize,
}

impl Left {
    fn now() -> Self {
        let own = format!("leaves-{}-", std::process::id());
        let read = |path| std::fs::read_to_string(path).expect("what the system tells");
        let lines = |text: String, with: &str| text.lines().filter(|l| l.contains(with)).count();
        Self {
            descriptors: std::fs::read_dir("/proc/self/fd").expect("a list").count(),
            mappings: lines(read("/proc/self/maps"), "memfd:pombo"),
            sockets: lines(read("/proc/net/unix"), &own),
        }
    }
}

#[test]
fn a_thousand_worlds_leave_nothing_behind() {
    // What the first ones need for good, as threads do.
    (0..3).for_each(one_of_each_kind);
    let before = Left::now();
    (3..3 + WORLDS).for_each(one_of_each_kind);
    assert_eq!(Left::now(), before);
    assert_eq!((before.mappings, before.sockets), (0, 0));
}

/// Launched and met; left in good order and not.
fn one_of_each_kind(number: usize) {
    let segment = Segment::create(3, 1).expect("a segment");
    let attach = |rank| {
        let segment = Segment::open(segment.fd()).expect("the same segment");
        Shm::attach(segment, rank, 1).expect("a free rank")
    };
    let mut ranks = [attach(0), attach(2)];
    talk(&mut ranks[0], 2);
    talk(&mut ranks[1], 1);
    ranks[number % 2].finish();

    let job = format!("leaves-{}-{number}", std::process::id());
    let other = {
        let job = job.clone();
        thread::spawn(move || bootstrap_within(&job, 1, 2, 0, SOON).expect("rank 0"))
    };
    let mut first = bootstrap_within(&job, 0, 2, 0, SOON).expect("rank 1");
    talk(&mut first, 1);
    drop(other.join().expect("rank 1"));
}

fn talk(rank: &mut Shm, to: u16) {
    let sent = rank.try_send(Peer(to), Cookie::COPY, &[Part::Bytes(b"hello")]);
    sent.expect("room");
    rank.poll(|_| ()).expect("a poll");
}
