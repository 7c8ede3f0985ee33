//! Interprets the bytes of an input.

use super::feed::Feed;
use super::protocol::Want;
use super::rank::Rank;
use super::script::{LinkState, PEERS};
use pombo_kernel::{Config, Mode, Peer};

/// Reads raw frames: peer, length, bytes.
pub(crate) fn frames<C: Config>(feed: &mut Feed<'_>) {
    let mut rank = Rank::<C>::new(feed.below(8));
    // Operations that frames can name: slots 0 to 5, generations 1 to 6.
    rank.receive(want(1, 1), 12);
    rank.receive(want(255, 2), 3);
    for (to, len) in [(1, 4), (1, 12), (2, 16), (0, 9)] {
        rank.send(Mode::Standard, Peer(to), 1, &vec![7; len]);
    }
    while !feed.is_empty() {
        let from = peer(feed);
        let len = feed.below(129);
        let frame = feed.bytes(len).to_vec();
        rank.channel().arrive(from, frame);
        rank.poll();
        rank.check();
    }
    rank.finish();
}

/// Performs any acts until the bytes are used up.
pub(crate) fn acts<C: Config>(feed: &mut Feed<'_>) {
    let mut rank = Rank::<C>::new(feed.below(8));
    while !feed.is_empty() {
        act(feed, &mut rank);
        rank.check();
    }
    rank.finish();
}

fn act<C: Config>(feed: &mut Feed<'_>, rank: &mut Rank<C>) {
    match feed.byte() % 16 {
        0..4 => {
            let from = peer(feed);
            let frame = frame(feed, rank);
            rank.channel().arrive(from, frame);
        }
        4 => {
            let mode = match feed.below(4) {
                0 => Mode::Synchronous,
                _ => Mode::Standard,
            };
            rank.send(mode, any_peer(feed), feed.byte() % 3, &payload(feed));
        }
        5 => rank.receive(wish(feed), feed.below(20)),
        6 => rank.claim(feed.below(8)),
        7 => rank.cancel(feed.below(8)),
        8 => match feed.below(3) {
            0 => rank.probe(wish(feed)),
            1 => rank.matched_probe(wish(feed)),
            _ => rank.irecv_matched(feed.below(4), feed.below(20)),
        },
        9 => {
            let state = [
                LinkState::Open,
                LinkState::Late,
                LinkState::Full,
                LinkState::Deaf,
            ][feed.below(4)];
            let of = Peer(feed.below(PEERS.into()) as u16);
            // A rank cannot close the channel to itself.
            if of != Peer(0) || state != LinkState::Deaf {
                rank.channel().set(of, state);
            }
        }
        10 => rank.channel().land(feed.below(8)),
        11 => {
            if feed.below(4) == 0 {
                let of = peer(feed);
                rank.channel().lose(of);
            }
        }
        12 => {
            let (want, to) = (wish(feed), any_peer(feed));
            rank.scope(want, to, feed.byte() % 3, feed.below(20), feed.below(4));
        }
        13 => rank.try_inject(any_peer(feed), feed.byte() % 3, &payload(feed)),
        14 => rank.send_buffered(any_peer(feed), feed.byte() % 3, &payload(feed)),
        _ => drop(rank.poll()),
    }
}

/// Builds a frame of valid form, with contents that may be valid.
fn frame<C: Config>(feed: &mut Feed<'_>, rank: &mut Rank<C>) -> Vec<u8> {
    let kind = feed.byte() % 20;
    let mut frame = vec![kind, feed.byte() % 4];
    // H: handle, M: header, W: pattern, L: length, B: one bit, P: payload; S: handle in compositions with hints.
    let fields = match kind {
        1 => "MP",
        2 => "MLH",
        3 => "HHL",
        4 => "HSLP",
        5 => "HS",
        7 => "B",
        8 => "HW",
        9 => "HHLM",
        10 | 11 | 12 | 14 | 17 => "H",
        13 => "HB",
        15 => "HLW",
        16 => "MLHH",
        _ => "",
    };
    for field in fields.chars() {
        match field {
            'H' => frame.extend(handle(feed, rank)),
            'S' if Rank::<C>::hints() => frame.extend(handle(feed, rank)),
            'M' => frame.push(feed.byte() % 3),
            'W' => {
                let want = wish(feed);
                frame.extend([want.source, want.tag]);
            }
            'L' => {
                let len = match feed.byte() {
                    255 => u32::MAX,
                    len => u32::from(len % 32),
                };
                frame.extend(len.to_le_bytes());
            }
            'B' => frame.push(feed.byte() % 2),
            'P' => frame.extend(payload(feed)),
            _ => {}
        }
    }
    frame
}

/// Returns the handle of an operation: a small slot and generation, or a handle from a frame of ours.
fn handle<C: Config>(feed: &mut Feed<'_>, rank: &mut Rank<C>) -> [u8; 8] {
    match feed.byte() {
        255 => [255; 8],
        byte @ 128.. => {
            let (nth, offset) = (usize::from(byte), feed.below(24));
            rank.channel().quote(nth, 2 + offset)
        }
        slot => [slot % 8, 0, 0, 0, feed.byte(), 0, 0, 0],
    }
}

fn want(source: u8, tag: u8) -> Want {
    Want { source, tag }
}

fn wish(feed: &mut Feed<'_>) -> Want {
    let source = [0, 1, 2, 255, 255, 3][feed.below(6)];
    let tag = [0, 1, 2, 255][feed.below(4)];
    want(source, tag)
}

fn peer(feed: &mut Feed<'_>) -> Peer {
    Peer(1 + feed.below(usize::from(PEERS) - 1) as u16)
}

/// Returns any peer, or one that does not exist.
fn any_peer(feed: &mut Feed<'_>) -> Peer {
    Peer(feed.below(usize::from(PEERS) + 1) as u16)
}

fn payload(feed: &mut Feed<'_>) -> Vec<u8> {
    vec![feed.byte(); feed.below(24)]
}
