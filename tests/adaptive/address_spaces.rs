//! Every process in an address space of its own: the test program again, one operating system process each. They meet
//! through sockets at a relay, which sees messages and no graph.

use crate::graph::{Graph, Pair, Random, pair};
use pombo_collective::adaptive::{EdgeState, Link, Message, Process};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use zerocopy::{FromBytes, IntoBytes};

const RELAY: &str = "POMBO_TEST_RELAY";
const HANG: Duration = Duration::from_secs(60);

/// What the relay asks of a process: a word, the neighbour that it is about, and a weight or a message.
const START: u32 = 0;
const SET_WEIGHT: u32 = 1;
const ADAPT: u32 = 2;
const LOST: u32 = 3;
const RECEIVE: u32 = 4;
/// What a process answers: messages for neighbours, its branches, then whether it is settled.
const SEND: u32 = 5;
const BRANCH: u32 = 6;
const DONE: u32 = 7;

const BODY: usize = size_of::<Message>();

/// A word, a number and a body.
struct Frame(u32, u32, [u8; BODY]);

impl Frame {
    fn with_number(word: u32, about: u32, number: u64) -> Frame {
        let mut body = [0; BODY];
        body[..8].copy_from_slice(&number.to_le_bytes());
        Frame(word, about, body)
    }

    fn number(&self) -> u64 {
        u64::from_le_bytes(self.2[..8].try_into().unwrap())
    }

    fn write(&self, stream: &mut TcpStream) {
        let words = [self.0.to_le_bytes(), self.1.to_le_bytes()].concat();
        stream
            .write_all(&[words, self.2.to_vec()].concat())
            .unwrap();
    }

    fn read(stream: &mut TcpStream) -> Option<Frame> {
        let mut bytes = [0; 8 + BODY];
        stream.read_exact(&mut bytes).ok()?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        Some(Frame(word(0), word(4), bytes[8..].try_into().unwrap()))
    }
}

/// One process: it hears its number, the number of processes and its links, then serves the relay.
fn serve(relay: &str) {
    let mut stream = TcpStream::connect(relay).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut next = || Frame::read(&mut stream);
    let Some(Frame(links, me, _)) = next() else {
        return;
    };
    let links: Vec<Link> = (0..links)
        .map(|_| {
            let link = next().unwrap();
            Link::new(link.1, link.number())
        })
        .collect();
    let processes = next().unwrap().number() as u32;
    let mut process = Process::new(me, processes, links).unwrap();
    while let Some(frame) = Frame::read(&mut stream) {
        let Frame(word, neighbour, body) = &frame;
        let link = process.link_to(*neighbour).unwrap_or(usize::MAX);
        match *word {
            START => process.start(),
            SET_WEIGHT => process.set_weight(link, frame.number()).unwrap(),
            ADAPT => assert!(process.adapt() > 0),
            LOST => process.link_lost(link).unwrap(),
            _ => process
                .receive(link, &Message::read_from_bytes(body).unwrap())
                .unwrap(),
        }
        while let Some((link, message)) = process.next_outgoing() {
            let to = process.links()[link].neighbour();
            Frame(SEND, to, message.as_bytes().try_into().unwrap()).write(&mut stream);
        }
        for link in process.links() {
            if link.state() == EdgeState::Branch {
                Frame::with_number(BRANCH, link.neighbour(), link.weight()).write(&mut stream);
            }
        }
        Frame::with_number(DONE, 0, process.is_settled().into()).write(&mut stream);
    }
}

/// A process as the relay knows it.
struct Member {
    child: Child,
    stream: TcpStream,
    branches: Vec<u32>,
    is_settled: bool,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Carries messages between processes, in order between two of them, else at random.
struct Relay {
    members: BTreeMap<u32, Member>,
    under_way: BTreeMap<(u32, u32), VecDeque<Message>>,
}

impl Relay {
    fn new(graph: &Graph) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let members = graph.processes.iter().map(|&me| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([
                "--exact",
                "address_spaces::processes_share_nothing",
                "--nocapture",
            ]);
            command
                .env(RELAY, &address)
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let child = command.spawn().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(HANG)).unwrap();
            let links: Vec<u32> = graph.neighbours(me).collect();
            Frame::with_number(links.len() as u32, me, 0).write(&mut stream);
            for other in links {
                Frame::with_number(0, other, graph.measured(me, other)).write(&mut stream);
            }
            Frame::with_number(0, 0, graph.processes.len() as u64).write(&mut stream);
            (
                me,
                Member {
                    child,
                    stream,
                    branches: Vec::new(),
                    is_settled: false,
                },
            )
        });
        let members = members.collect();
        Relay {
            members,
            under_way: BTreeMap::new(),
        }
    }

    /// Asks something of a process and takes what it answers.
    fn call(&mut self, number: u32, frame: &Frame) {
        let Some(member) = self.members.get_mut(&number) else {
            return;
        };
        frame.write(&mut member.stream);
        member.branches.clear();
        loop {
            let answer = Frame::read(&mut member.stream).expect("an answer");
            match answer.0 {
                SEND => {
                    let message = Message::read_from_bytes(&answer.2).unwrap();
                    self.under_way
                        .entry((number, answer.1))
                        .or_default()
                        .push_back(message);
                }
                BRANCH => member.branches.push(answer.1),
                _ => {
                    member.is_settled = answer.number() > 0;
                    return;
                }
            }
        }
    }

    fn step(&mut self, random: &mut Random) -> bool {
        self.under_way.retain(|_, messages| !messages.is_empty());
        let number = self.under_way.len();
        let chosen = random.below(number.max(1));
        let Some((&(from, to), messages)) = self.under_way.iter_mut().nth(chosen) else {
            return false;
        };
        let message = messages.pop_front().unwrap();
        // What a dead process has sent is not delivered after its death was noticed.
        if self.members.contains_key(&from) {
            self.call(
                to,
                &Frame(RECEIVE, from, message.as_bytes().try_into().unwrap()),
            );
        }
        true
    }

    fn call_all(&mut self, word: u32, random: &mut Random) {
        for number in self.members.keys().copied().collect::<Vec<_>>() {
            self.call(number, &Frame::with_number(word, 0, 0));
            for _ in 0..random.below(5) {
                self.step(random);
            }
        }
    }

    fn expect_tree(&mut self, graph: &Graph, random: &mut Random) {
        while self.step(random) {}
        let mut ends: BTreeMap<Pair, usize> = BTreeMap::new();
        for (&number, member) in &self.members {
            assert!(member.is_settled, "process {number}");
            member
                .branches
                .iter()
                .for_each(|&other| *ends.entry(pair(number, other)).or_default() += 1);
        }
        assert!(ends.values().all(|&ends| ends == 2), "{ends:?}");
        let tree: BTreeSet<Pair> = ends.into_keys().collect();
        assert_eq!(tree, graph.minimum_spanning_tree());
    }
}

#[test]
fn processes_share_nothing() {
    if let Ok(relay) = std::env::var(RELAY) {
        return serve(&relay);
    }
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut graph = Graph::random(&mut random, 9);
        let mut relay = Relay::new(&graph);
        relay.call_all(START, &mut random);
        relay.expect_tree(&graph, &mut random);
        for _ in 0..3 {
            for (&(low, high), weights) in graph.links.iter_mut() {
                if random.chance(30) {
                    weights.0 = random.below(50) as u64;
                    relay.call(low, &Frame::with_number(SET_WEIGHT, high, weights.0));
                }
            }
            relay.call_all(ADAPT, &mut random);
            relay.expect_tree(&graph, &mut random);
        }
        // One is killed in the middle of a round.
        relay.call_all(ADAPT, &mut random);
        let victim = graph.processes[random.below(graph.processes.len())];
        relay.members.remove(&victim);
        let neighbours: Vec<u32> = graph.neighbours(victim).collect();
        graph.remove(victim);
        for neighbour in neighbours {
            relay.call(neighbour, &Frame::with_number(LOST, victim, 0));
            for _ in 0..random.below(9) {
                relay.step(&mut random);
            }
        }
        relay.expect_tree(&graph, &mut random);
    }
}
