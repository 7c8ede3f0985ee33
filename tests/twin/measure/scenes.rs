//! The measured calls, each in a scene of its own.

use crate::face::Face;
use crate::mirror::Mirror;
use crate::protocol::{CELL, PEERS, OPERATIONS, Tagged, Wanted, tagged, wanted};
use crate::step;
use pombo_kernel::{Error, Limits, Peer, Refused, Ticket};
use std::hint::black_box;

/// A call and the number of instructions that it executed.
pub(crate) struct Measured {
    pub(crate) call: String,
    pub(crate) steps: u64,
}

/// Measures everything.
pub(crate) fn play<R: Face<'static, Mirror>>() -> Vec<Measured> {
    step::prepare();
    let (nothing, ()) = step::count(|| ());
    let mut stage = Stage::<R> {
        rank: rank(None),
        scene: "",
        measured: Vec::new(),
        nothing,
    };
    for (scene, len, room) in [
        ("posted", 8, 8),
        ("posted, 64 bytes", 64, 64),
        ("posted, empty", 0, 0),
        ("truncated", 64, 8),
    ] {
        expected(&mut stage, scene, len, room);
    }
    unexpected(&mut stage);
    behind(&mut stage);
    credit(&mut stage);
    bounds(&mut stage);
    blocking(&mut stage);
    short(&mut stage);
    matched(&mut stage);
    others(&mut stage);
    stage.measured
}

const PEER: Peer = Peer(3);

// Each call is a function of its own; otherwise the compiler would merge it with the code around it.

type Sent = Result<Ticket, Refused<&'static [u8]>>;
type Posted = Result<Ticket, Refused<&'static mut [u8]>>;

#[inline(never)]
fn isend<R: Face<'static, Mirror>>(rank: &mut R, header: Tagged, bytes: &'static [u8]) -> Sent {
    rank.isend(PEER, header, bytes)
}

#[inline(never)]
fn irecv<R: Face<'static, Mirror>>(
    rank: &mut R,
    pattern: Wanted,
    room: &'static mut [u8],
) -> Posted {
    rank.irecv(pattern, room)
}

#[inline(never)]
fn poll<R: Face<'static, Mirror>>(rank: &mut R) -> Result<bool, Error> {
    rank.check_messages()
}

#[inline(never)]
fn claim<R: Face<'static, Mirror>>(
    rank: &mut R,
    ticket: Ticket,
) -> Result<Option<R::Completed>, Error> {
    rank.claim(ticket)
}

#[inline(never)]
fn cancel<R: Face<'static, Mirror>>(rank: &mut R, ticket: Ticket) -> Result<(), Error> {
    rank.cancel(ticket)
}

#[inline(never)]
fn probe<R: Face<'static, Mirror>>(
    rank: &mut R,
    pattern: Wanted,
) -> Result<Option<R::Envelope>, Error> {
    rank.probe(pattern)
}

#[inline(never)]
fn matched_probe<R: Face<'static, Mirror>>(
    rank: &mut R,
    pattern: Wanted,
) -> Result<Option<(Ticket, R::Envelope)>, Error> {
    rank.matched_probe(pattern)
}

#[inline(never)]
fn irecv_matched<R: Face<'static, Mirror>>(
    rank: &mut R,
    ticket: Ticket,
    room: &'static mut [u8],
) -> Result<(), Refused<&'static mut [u8]>> {
    rank.irecv_matched(ticket, room)
}

#[inline(never)]
fn try_inject<R: Face<'static, Mirror>>(
    rank: &mut R,
    header: Tagged,
    bytes: &[u8],
) -> Result<bool, Error> {
    rank.try_inject(PEER, header, bytes)
}

#[inline(never)]
fn send<R: Face<'static, Mirror>>(
    rank: &mut R,
    header: Tagged,
    bytes: &[u8],
) -> Result<(), Error> {
    rank.send(PEER, header, bytes)
}

#[inline(never)]
fn recv<R: Face<'static, Mirror>>(
    rank: &mut R,
    pattern: Wanted,
    room: &mut [u8],
) -> Result<R::Envelope, Error> {
    rank.recv(pattern, room)
}

/// A rank and its measurements. Calls without a name are not counted.
struct Stage<R> {
    rank: R,
    scene: &'static str,
    measured: Vec<Measured>,
    /// Number of instructions of the counting itself.
    nothing: u64,
}

impl<R: Face<'static, Mirror>> Stage<R> {
    fn count<T>(&mut self, name: &str, call: impl FnOnce(&mut R) -> T) -> T {
        let rank = &mut self.rank;
        if name.is_empty() {
            return call(rank);
        }
        let (steps, result) = step::count(|| black_box(call(black_box(rank))));
        self.measured.push(Measured {
            call: format!("{}: {name}", self.scene),
            steps: steps - self.nothing,
        });
        result
    }

    fn isend(&mut self, name: &str, tag: i32, len: usize) -> Sent {
        let bytes = (0..len).map(|i| i as u8).collect::<Vec<_>>().leak();
        self.count(name, |rank| isend(rank, tagged(tag), bytes))
    }

    fn irecv(&mut self, name: &str, pattern: Wanted, len: usize) -> Posted {
        let room = vec![0; len].leak();
        self.count(name, |rank| irecv(rank, pattern, room))
    }

    fn poll(&mut self, name: &str) -> bool {
        self.count(name, |rank| poll(rank))
            .expect("a mirror does not break")
    }

    /// Claims an operation; returns whether it was complete.
    fn claim(&mut self, name: &str, ticket: Ticket) -> bool {
        let over = self.count(name, |rank| claim(rank, ticket));
        over.expect("it is known").is_some()
    }

    fn probe(&mut self, name: &str, pattern: Wanted) -> bool {
        let known = self.count(name, |rank| probe(rank, pattern));
        known.expect("there is such a peer").is_some()
    }

    /// Begins the next scene, on a rank whose tables have all been used.
    fn begin(&mut self, scene: &'static str) {
        self.scene = scene;
        self.rank = rank(None);
        for tag in 0..OPERATIONS as i32 {
            let posted = ticket(self.irecv("", wanted(None, Some(tag)), 8));
            let sent = ticket(self.isend("", tag, 8));
            assert!(self.poll("") && self.claim("", posted) && self.claim("", sent));
        }
        while self.poll("") {}
    }
}

fn rank<R: Face<'static, Mirror>>(credit: Option<u32>) -> R {
    let limits = Limits {
        credit,
        eager: None, copies: None,
    };
    R::over(Mirror::new(PEERS), limits).expect("it fits")
}

fn ticket<T>(taken: Result<Ticket, Refused<T>>) -> Ticket {
    taken.map_err(Error::from).expect("it is taken")
}

fn error<T>(refused: Result<Ticket, Refused<T>>) -> Error {
    refused
        .map_err(Error::from)
        .expect_err("it is not to be taken")
}

fn any() -> Wanted {
    wanted(None, None)
}

/// Measures a receive that is posted before the message.
fn expected<R: Face<'static, Mirror>>(
    stage: &mut Stage<R>,
    scene: &'static str,
    len: usize,
    room: usize,
) {
    stage.begin(scene);
    let posted = ticket(stage.irecv("receive", wanted(Some(PEER.0), Some(1)), room));
    let sent = ticket(stage.isend("send", 1, len));
    assert!(stage.poll("poll"));
    assert!(stage.claim("claim of the send", sent));
    assert!(stage.claim("claim of the receive", posted));
}

/// Measures a message that arrives before the receive.
fn unexpected<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("unexpected");
    ticket(stage.isend("", 1, 8));
    assert!(stage.poll("poll"));
    assert!(stage.probe("probe", any()));
    let posted = ticket(stage.irecv("receive", any(), 8));
    assert!(stage.claim("claim", posted));
    assert!(!stage.probe("probe in vain", any()));
}

/// Measures searches that pass entries that do not match.
fn behind<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("behind 8 receives");
    for tag in 10..18 {
        ticket(stage.irecv("", wanted(None, Some(tag)), 8));
    }
    let last = ticket(stage.irecv("receive", wanted(None, Some(1)), 8));
    ticket(stage.isend("", 1, 8));
    assert!(stage.poll("poll"));
    assert!(stage.claim("", last));
    stage.begin("behind 2 messages");
    for tag in [4, 5, 6] {
        let sent = ticket(stage.isend("", tag, 8));
        assert!(stage.claim("", sent) && stage.poll(""));
    }
    let posted = ticket(stage.irecv("receive", wanted(None, Some(6)), 8));
    assert!(stage.claim("", posted));
}

fn credit<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.scene = "credit";
    stage.rank = rank(Some(1));
    let sent = ticket(stage.isend("", 1, 8));
    let refused = stage.isend("send without", 1, 8);
    assert_eq!(error(refused), Error::NoCredit(PEER));
    assert!(stage.claim("", sent) && stage.poll(""));
    ticket(stage.irecv("receive that gives back", any(), 8));
    assert!(stage.poll("poll that gets"));
    ticket(stage.irecv("", any(), 8));
    ticket(stage.isend("", 1, 8));
    assert!(stage.poll("poll that gives back"));
}

fn bounds<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("bounds");
    let refused = stage.isend("send of too much", 1, CELL + 1);
    assert_eq!(error(refused), Error::TooLong { limit: CELL });
    for _ in 0..OPERATIONS {
        ticket(stage.irecv("", any(), 8));
    }
    let refused = stage.isend("send into a full table", 1, 8);
    assert_eq!(error(refused), Error::Full);
    let refused = stage.irecv("receive into a full table", any(), 8);
    assert_eq!(error(refused), Error::Full);
}

/// Measures blocking calls, which lend by a scope. The message is under way, or has arrived.
fn blocking<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("blocking");
    let (bytes, mut room) = ([7; 8], [0; 8]);
    for name in ["receive of what comes", "receive of what is here"] {
        let isend = if name.ends_with("comes") { "send" } else { "" };
        let sent = stage.count(isend, |rank| send(rank, tagged(1), &bytes));
        assert_eq!(sent, Ok(()));
        if isend.is_empty() {
            assert!(stage.poll(""));
        }
        let got = stage.count(name, |rank| recv(rank, any(), &mut room));
        assert!(got.is_ok() && room == bytes);
    }
}

fn short<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("now");
    let bytes = [7; 8];
    let sent = stage.count("send", |rank| try_inject(rank, tagged(1), &bytes));
    assert_eq!(sent, Ok(true));
    let sent = stage.count("send of too much", |rank| {
        try_inject(rank, tagged(1), &[0; CELL + 1])
    });
    assert_eq!(sent, Ok(false));
}

fn matched<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("matched");
    ticket(stage.isend("", 1, 8));
    assert!(stage.poll(""));
    let matched = stage.count("probe", |rank| matched_probe(rank, any()));
    let (ticket, _) = matched.expect("no error").expect("it is here");
    let room = vec![0; 8].leak();
    let taken = stage.count("receive", |rank| irecv_matched(rank, ticket, room));
    assert!(taken.is_ok() && stage.claim("claim", ticket));
}

fn others<R: Face<'static, Mirror>>(stage: &mut Stage<R>) {
    stage.begin("others");
    assert!(!stage.poll("poll of nothing"));
    let posted = ticket(stage.irecv("", any(), 8));
    assert!(!stage.claim("claim too early", posted));
    let cancelled = stage.count("cancel", |rank| cancel(rank, posted));
    assert_eq!(cancelled, Ok(()));
    assert!(stage.claim("claim of what is cancelled", posted));
    let unknown = stage.count("claim with an old ticket", |rank| claim(rank, posted));
    assert!(unknown.is_err());
}
