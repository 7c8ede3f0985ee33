//! What a leaf does in a way of its own is not lost behind channels made of it: the short way of a frame, and waits that
//! end in time.

use pombo_kernel::channel::{
    Arrival, Channel, ChannelError, Cookie, Event, FrameHandler, Sent, WaitSet, WithWaitPolicy,
};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::Loopback;
use pombo_transport::{Composite, LocalChannel};
use std::sync::atomic::{AtomicU32, Ordering};

/// A leaf whose frames have a short way, and which says how it was waited for.
struct Leaf(Loopback, Vec<&'static str>);

impl Channel for Leaf {
    type Arrival<'a> = <Loopback as Channel>::Arrival<'a>;

    pombo_kernel::forward_channel! { 0: me, peers, limit, supports_single_copy, try_send, set_corked, poll, now }

    /// By its own numbers, it does for the first peer.
    fn favours_early_data(&self, to: Peer) -> bool {
        to == Peer(0)
    }

    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError> {
        self.0.poll(|event| match event {
            Event::Arrival(frame) => {
                let bytes = frame.head(frame.len()).expect("in one piece");
                if !handler.take(frame.from(), bytes) {
                    handler.handle(Event::Arrival(frame));
                }
            }
            event => handler.handle(event),
        })
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        self.1.push("wait");
        Ok(())
    }

    fn wait_timeout(&mut self, _idle: u32, _nanoseconds: u64) -> Result<(), ChannelError> {
        self.1.push("wait_timeout");
        Ok(())
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        Some(WaitSet::readable([5]))
    }

    fn wait_with(&mut self, _idle: u32, _other: WaitSet) -> Result<(), ChannelError> {
        self.1.push("wait_with");
        Ok(())
    }
}

impl LocalChannel for Leaf {
    fn set_names(&mut self, names: &[Peer]) {
        self.0.set_names(names);
    }
}

/// Takes frames that say so by the short way, and notes which way each went.
#[derive(Default)]
struct Notes(Vec<(u16, &'static str)>);

impl FrameHandler for Notes {
    fn handle<A: Arrival>(&mut self, event: Event<A>) {
        if let Event::Arrival(frame) = event {
            self.0.push((frame.from().0, "long"));
        }
    }

    fn take(&mut self, from: Peer, frame: &[u8]) -> bool {
        let takes = frame == b"short";
        if takes {
            self.0.push((from.0, "short"));
        }
        takes
    }
}

/// Polls until two frames have come.
fn notes(channel: &mut impl Channel) -> Vec<(u16, &'static str)> {
    let mut notes = Notes::default();
    while notes.0.len() < 2 {
        channel.poll_with(&mut notes).expect("it is up");
    }
    notes.0
}

fn send(from: &mut impl Channel, to: Peer) {
    for text in [&b"short"[..], b"something long"] {
        let sent = from.try_send(to, Cookie::COPY, &[Part::Bytes(text)]);
        assert_eq!(sent, Ok(Sent::Done));
    }
}

/// Peer 3 of four: peer 1 shares its host.
fn peer_3() -> (Composite<Leaf, Leaf>, Loopback, Vec<Loopback>) {
    let (mut host, mut all) = (Loopback::world(2), Loopback::world(4));
    let (near, far) = (
        Leaf(host.remove(1), Vec::new()),
        Leaf(all.remove(3), Vec::new()),
    );
    let pair = Composite::new(near, far, &[Peer(1), Peer(3)]).expect("they fit");
    (pair, host.remove(0), all)
}

#[test]
fn near_frames_keep_their_short_way_beside_far_ones() {
    let (mut pair, mut near, mut far) = peer_3();
    send(&mut near, Peer(1));
    // By the number that all know.
    assert_eq!(notes(&mut pair), [(1, "short"), (1, "long")]);
    send(&mut far[2], Peer(3));
    let came = notes(&mut pair);
    assert!(came.iter().all(|(from, _)| *from == 2), "{came:?}");
}

#[test]
fn each_channel_says_whether_early_data_pay_by_its_own_numbers() {
    let (pair, _near, _far) = peer_3();
    let favours = [1, 2, 0].map(|peer| pair.favours_early_data(Peer(peer)));
    assert_eq!(favours, [true, false, true]);
}

#[test]
fn a_policy_costs_no_short_way() {
    let mut world = Loopback::world(2);
    let leaf = Leaf(world.remove(1), Vec::new());
    let mut channel = WithWaitPolicy::new(leaf, |_, _, _| Ok(()));
    send(&mut world[0], Peer(1));
    assert_eq!(notes(&mut channel), [(0, "short"), (0, "long")]);
    assert_eq!(channel.wait_sources(), Some(WaitSet::readable([5])));
}

/// A policy that sleeps only after many polls in vain has its turn when somebody waits for a certain time too.
#[test]
fn a_policy_hears_how_long_it_may_sleep() {
    static LONGEST_IDLE: AtomicU32 = AtomicU32::new(0);
    let leaf = Leaf(Loopback::world(1).remove(0), Vec::new());
    let mut asked = Vec::new();
    let mut channel = WithWaitPolicy::new(leaf, move |_, idle, within| {
        asked.push(within);
        assert_eq!(within, [5000, u64::MAX, 70][asked.len() - 1]);
        LONGEST_IDLE.fetch_max(idle, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(channel.wait_timeout(1000, 5000), Ok(()));
    assert_eq!(channel.wait(3), Ok(()));
    assert_eq!(channel.wait_with(2000, WaitSet::timeout(70)), Ok(()));
    assert_eq!(LONGEST_IDLE.load(Ordering::Relaxed), 2000);
}

#[test]
fn waits_reach_the_channel_that_can_sleep() {
    let mut alone: Composite<Leaf, Leaf> =
        Composite::local_only(Leaf(Loopback::world(1).remove(0), Vec::new()));
    assert_eq!(alone.wait_sources(), Some(WaitSet::readable([5])));
    assert_eq!(alone.wait_timeout(9, 1), Ok(()));
    assert_eq!(alone.wait_with(9, WaitSet::timeout(1)), Ok(()));
    assert_eq!(alone.local().1, ["wait_timeout", "wait_with"]);
    // On a host of its own there is nobody near.
    let (near, far) = (Loopback::world(1).remove(0), Loopback::world(2).remove(0));
    let pair = Composite::new(Leaf(near, Vec::new()), Leaf(far, Vec::new()), &[Peer(0)]);
    let mut pair: Composite<Leaf, Leaf> = pair.expect("they fit");
    assert_eq!(pair.wait_timeout(9, 1), Ok(()));
    assert_eq!(pair.wait_with(9, WaitSet::timeout(1)), Ok(()));
    assert_eq!(pair.wait_sources(), Some(WaitSet::readable([5])));
    assert_eq!(
        pair.remote().expect("it is there").1,
        ["wait_timeout", "wait_with"]
    );
}
