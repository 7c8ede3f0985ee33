//! Broadcasts in the middle of which something happens to a receiver or to an interface. Receivers are processes.

use crate::cast::{NAME, Sizes, TIMING, message};
use crate::inside::inside;
use crate::segment::{frame_address, ip, opened, segment};
use pombo_kernel::Peer;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::network::Network;
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::ethernet::{Address, Traffic};
use pombo_transport::multicast::{Receiver, Sender, SenderConfig};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

const RECEIVERS: u16 = 3;
const LEN: usize = 16 << 20;
/// Packets of which some thousand make the message.
const MIDDLE: u64 = 1000;
/// Questions that somebody who listens would have answered long ago.
const UNANSWERED: u64 = 6;
const WINDOW: u64 = 256;

const PEER: &str = "POMBO_TEST_NODE";
const TABLE: &str = "POMBO_TEST_TABLE";

type TestSender = Sender<Sizes, HeapStorage>;

/// A receiver that is a process of its own: it ends well if it got the right bytes, some time after its input ends.
struct TestReceiver(Child);

impl TestReceiver {
    fn start(peer: u16, table: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut receiver = Command::new(program);
        receiver.args(["--exact", "troubles::is_a_receiver_when_it_is_told"]);
        receiver.env(PEER, peer.to_string()).env(TABLE, table);
        receiver.stdin(Stdio::piped()).stdout(Stdio::null());
        TestReceiver(receiver.spawn().expect("it started before"))
    }

    fn signal(&self, number: i32) {
        // SAFETY: passes no memory; the child is not waited for yet, so its number is its own.
        let sent = unsafe { libc::kill(self.0.id() as i32, number) };
        assert_eq!(sent, 0);
    }

    /// Stops it. The system does so a little later than it is told, on a busy machine many frames later.
    fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let stat = format!("/proc/{}/stat", self.0.id());
        let is_stopped = || {
            let stat = std::fs::read_to_string(&stat).expect("it is there");
            stat.contains(") T ")
        };
        let start = std::time::Instant::now();
        while !is_stopped() {
            assert!(start.elapsed().as_secs() < 60, "it does not stop");
            std::thread::yield_now();
        }
    }

    fn ends_well(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("a child").success());
    }
}

impl Drop for TestReceiver {
    fn drop(&mut self) {
        // It has ended, or is to; it may be stopped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn is_a_receiver_when_it_is_told() {
    let Ok(peer) = std::env::var(PEER) else {
        return;
    };
    let table = std::env::var(TABLE).expect("with the peer");
    let table: Vec<Address> = table.split(' ').map(|a| a.parse().expect("it")).collect();
    let peer: u16 = peer.parse().expect("a number");
    let opened = Ethernet::open(
        &format!("host{peer}"),
        frame_address(peer, Traffic::Multicast),
    );
    let mut network = opened.expect("inside").join(&table).expect("the table");
    static OVER: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        OVER.store(true, Ordering::Release);
    });
    let mut sink = Receiver::<Sizes, HeapStorage>::new(NAME, Peer(0), TIMING, None);
    let (mut buffer, mut received) = (vec![0; LEN], None);
    loop {
        // The source may end this as soon as it has heard that all is here: what is here then is still taken.
        let over = OVER.load(Ordering::Acquire);
        if received.is_none() {
            received = sink.receive(&mut buffer[..]).expect("it fits");
        }
        if over {
            break;
        }
        let (me, now) = (network.me(), network.now());
        let heard = network.poll(|frame| sink.on_frame(&frame, &mut buffer[..], now, Some(me)));
        sink.send_due(&mut network).expect("it is up");
        if !heard.expect("it is up") {
            let until = sink.deadline().min(now + 20_000_000);
            network.wait(u32::MAX, until).expect("it is up");
        }
    }
    assert_eq!(received, Some(LEN));
    assert!(buffer == message(0, LEN), "other bytes than were sent");
}

/// A source and its receivers, which is told at every turn.
fn broadcast(
    meanwhile: impl FnMut(&mut TestSender, &Ethernet, &mut [Option<TestReceiver>]),
) -> Result<Vec<Option<TestReceiver>>, (ChannelError, String)> {
    segment(RECEIVERS + 1, 1500);
    let (mut peers, table) = opened(RECEIVERS + 1, 1, Traffic::Multicast);
    let mut network = peers.remove(0).join(&table).expect("the table");
    drop(peers);
    let table: Vec<String> = table.iter().map(Address::to_string).collect();
    let start = |peer| Some(TestReceiver::start(peer, &table.join(" ")));
    let mut receivers: Vec<_> = (1..=RECEIVERS).map(start).collect();
    let sent = send(&mut network, &mut receivers, meanwhile);
    sent.map(|()| receivers)
        .map_err(|error| (error, network.interface().into()))
}

fn send(
    network: &mut Ethernet,
    receivers: &mut [Option<TestReceiver>],
    mut meanwhile: impl FnMut(&mut TestSender, &Ethernet, &mut [Option<TestReceiver>]),
) -> Result<(), ChannelError> {
    let message = message(0, LEN);
    let peers = (1..=RECEIVERS).map(Peer);
    let source = TestSender::new(NAME, peers, network.mtu(), SenderConfig::default(), TIMING);
    let mut source = source.expect("places for eight");
    source.send(&&message[..])?;
    while !source.send_due(network, &&message[..])? || !source.is_done() {
        meanwhile(&mut source, network, receivers);
        let (me, now) = (network.me(), network.now());
        if !network.poll(|frame| source.on_frame(&frame, now, Some(me)))? {
            // Whoever looks on wants to be called now and then.
            let until = source.deadline().min(now + 20_000_000);
            network.wait(u32::MAX, until)?;
        }
    }
    Ok(())
}

fn all_end_well(receivers: Vec<Option<TestReceiver>>) {
    receivers
        .into_iter()
        .flatten()
        .for_each(TestReceiver::ends_well);
}

/// Bytes of memory in use by this process.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let used = pages.split(' ').nth(1).expect("the second is in use");
    used.parse::<u64>().expect("a number") * 4096
}

/// One that is stopped holds all others up, and nothing piles up for it.
#[test]
fn a_stopped_receiver_throttles_and_goes_on() {
    inside!(a_stopped_receiver_throttles_and_goes_on, || {
        let (mut stopped, mut awake) = (None, false);
        let receivers = broadcast(|source, _, receivers| {
            let counts = source.counts();
            let three = receivers[2].as_ref().expect("it is there");
            match stopped {
                None if counts.packets >= MIDDLE => {
                    three.stop();
                    stopped = Some((counts, memory()));
                }
                Some((then, used)) if !awake && counts.polls >= then.polls + UNANSWERED => {
                    // Its last reports may not have been read yet.
                    assert!(counts.packets <= then.packets + 2 * WINDOW, "{counts:?}");
                    // The system may join pages to larger ones meanwhile. All of the message is four times this.
                    assert!(
                        memory() <= used + (4 << 20),
                        "it keeps more than the window"
                    );
                    three.signal(libc::SIGCONT);
                    awake = true;
                }
                _ => {}
            }
        });
        all_end_well(receivers.expect("nothing fails"));
        assert!(awake);
    });
}

/// Whoever started it knows that it is dead.
#[test]
fn a_receiver_dies_and_the_others_get_everything() {
    inside!(a_receiver_dies_and_the_others_get_everything, || {
        let (mut killed, mut polls) = (None, 0);
        let receivers = broadcast(|source, _, receivers| {
            let counts = source.counts();
            if counts.packets >= MIDDLE && killed.is_none() {
                polls = counts.polls;
                drop(receivers[1].take());
                killed = Some(false);
            }
            if killed == Some(false) && counts.polls >= polls + UNANSWERED {
                // All wait for it until then.
                assert!(!source.is_done());
                source.declare_lost(Peer(2));
                killed = Some(true);
            }
        });
        all_end_well(receivers.expect("nothing fails"));
        assert_eq!(killed, Some(true));
    });
}

/// Nothing fails: what is lost meanwhile is sent again.
#[test]
fn interfaces_go_down_and_come_up_in_the_middle() {
    inside!(interfaces_go_down_and_come_up_in_the_middle, || {
        let (mut steps, mut polls) = (0, 0);
        let names = ["host0", "port2", "host3"];
        let receivers = broadcast(|source, _, _| {
            let counts = source.counts();
            let name = names.get(steps / 2);
            let Some(name) = name.filter(|_| counts.packets >= MIDDLE * (steps as u64 / 2 + 1))
            else {
                return;
            };
            if steps % 2 == 0 {
                ip(&format!("link set {name} down\n"));
                (polls, steps) = (counts.polls, steps + 1);
            } else if counts.polls >= polls + UNANSWERED {
                ip(&format!("link set {name} up\n"));
                steps += 1;
            }
        });
        all_end_well(receivers.expect("nothing fails"));
        assert_eq!(steps, 2 * names.len());
    });
}

#[test]
fn an_interface_that_is_taken_away_is_named() {
    inside!(an_interface_that_is_taken_away_is_named, || {
        let mut gone = false;
        let failed = broadcast(|source, _, _| {
            if source.counts().packets >= MIDDLE && !gone {
                ip("link del host0\n");
                gone = true;
            }
        });
        let device = ChannelError::Device(libc::ENXIO);
        assert_eq!(failed.err(), Some((device, "host0".into())));
    });
}
