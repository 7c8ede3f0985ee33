//! What a leaf does in a way of its own is not lost behind channels made of it: the short way of a frame, and waits that
//! end in time.

use pombo_kernel::channel::{
    Arrival, Channel, ChannelError, Cookie, Event, Sent, Taker, Waiting, Wake,
};
use pombo_kernel::{Node, Part};
use pombo_netdrivers::Loopback;
use pombo_transport::Composite;
use std::sync::atomic::{AtomicU32, Ordering};

/// A leaf whose frames have a short way, and which says how it was waited for.
struct Leaf(Loopback, Vec<&'static str>);

impl Channel for Leaf {
    type Arrival<'a> = <Loopback as Channel>::Arrival<'a>;

    fn node(&self) -> Node {
        self.0.node()
    }

    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn limit(&self, to: Node) -> usize {
        self.0.limit(to)
    }

    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        self.0.try_send(to, cookie, parts)
    }

    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        self.0.poll(f)
    }

    fn poll_for(&mut self, taker: &mut impl Taker) -> Result<bool, ChannelError> {
        self.0.poll(|event| match event {
            Event::Arrival(frame) => {
                let bytes = frame.head(frame.len()).expect("in one piece");
                if !taker.take(frame.from(), bytes) {
                    taker.event(Event::Arrival(frame));
                }
            }
            event => taker.event(event),
        })
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        self.1.push("wait");
        Ok(())
    }

    fn wait_within(&mut self, _idle: u32, _nanoseconds: u64) -> Result<(), ChannelError> {
        self.1.push("wait_within");
        Ok(())
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        Some(Wake::by([5]))
    }

    fn wait_beside(&mut self, _idle: u32, _other: Wake) -> Result<(), ChannelError> {
        self.1.push("wait_beside");
        Ok(())
    }

    fn now(&self) -> u64 {
        self.0.now()
    }
}

/// Takes frames that say so by the short way, and notes which way each went.
#[derive(Default)]
struct Notes(Vec<(u16, &'static str)>);

impl Taker for Notes {
    fn event<A: Arrival>(&mut self, event: Event<A>) {
        if let Event::Arrival(frame) = event {
            self.0.push((frame.from().0, "long"));
        }
    }

    fn take(&mut self, from: Node, frame: &[u8]) -> bool {
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
        channel.poll_for(&mut notes).expect("it is up");
    }
    notes.0
}

fn send(from: &mut impl Channel, to: Node) {
    for text in [&b"short"[..], b"something long"] {
        let sent = from.try_send(to, Cookie::COPY, &[Part::Bytes(text)]);
        assert_eq!(sent, Ok(Sent::Done));
    }
}

/// Node 3 of four: node 1 shares its host.
fn node_3() -> (Composite<Leaf, Leaf>, Loopback, Vec<Loopback>) {
    let (mut host, mut all) = (Loopback::world(2), Loopback::world(4));
    let (near, far) = (
        Leaf(host.remove(1), Vec::new()),
        Leaf(all.remove(3), Vec::new()),
    );
    let pair = Composite::new(near, far, &[Node(1), Node(3)]).expect("they fit");
    (pair, host.remove(0), all)
}

#[test]
fn near_frames_keep_their_short_way_beside_far_ones() {
    let (mut pair, mut near, mut far) = node_3();
    send(&mut near, Node(1));
    // By the number that all know.
    assert_eq!(notes(&mut pair), [(1, "short"), (1, "long")]);
    send(&mut far[2], Node(3));
    let came = notes(&mut pair);
    assert!(came.iter().all(|(from, _)| *from == 2), "{came:?}");
}

#[test]
fn a_policy_costs_no_short_way() {
    let mut world = Loopback::world(2);
    let leaf = Leaf(world.remove(1), Vec::new());
    let mut channel = Waiting::new(leaf, |_, _, _| Ok(()));
    send(&mut world[0], Node(1));
    assert_eq!(notes(&mut channel), [(0, "short"), (0, "long")]);
    assert_eq!(channel.wakes_by(), Some(Wake::by([5])));
}

/// A policy that sleeps only after many polls in vain has its turn when somebody waits for a certain time too.
#[test]
fn a_policy_hears_how_long_it_may_sleep() {
    static LONGEST_IDLE: AtomicU32 = AtomicU32::new(0);
    let leaf = Leaf(Loopback::world(1).remove(0), Vec::new());
    let mut asked = Vec::new();
    let mut channel = Waiting::new(leaf, move |_, idle, within| {
        asked.push(within);
        assert_eq!(within, [5000, u64::MAX, 70][asked.len() - 1]);
        LONGEST_IDLE.fetch_max(idle, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(channel.wait_within(1000, 5000), Ok(()));
    assert_eq!(channel.wait(3), Ok(()));
    assert_eq!(channel.wait_beside(2000, Wake::within(70)), Ok(()));
    assert_eq!(LONGEST_IDLE.load(Ordering::Relaxed), 2000);
}

#[test]
fn waits_reach_the_channel_that_can_sleep() {
    let mut alone: Composite<Leaf, Leaf> =
        Composite::alone(Leaf(Loopback::world(1).remove(0), Vec::new()));
    assert_eq!(alone.wakes_by(), Some(Wake::by([5])));
    assert_eq!(alone.wait_within(9, 1), Ok(()));
    assert_eq!(alone.wait_beside(9, Wake::within(1)), Ok(()));
    assert_eq!(alone.near().1, ["wait_within", "wait_beside"]);
    // On a host of its own there is nobody near.
    let (near, far) = (Loopback::world(1).remove(0), Loopback::world(2).remove(0));
    let pair = Composite::new(Leaf(near, Vec::new()), Leaf(far, Vec::new()), &[Node(0)]);
    let mut pair: Composite<Leaf, Leaf> = pair.expect("they fit");
    assert_eq!(pair.wait_within(9, 1), Ok(()));
    assert_eq!(pair.wait_beside(9, Wake::within(1)), Ok(()));
    assert_eq!(pair.wakes_by(), Some(Wake::by([5])));
    assert_eq!(
        pair.far().expect("it is there").1,
        ["wait_within", "wait_beside"]
    );
}
