//! The end of a world, derived from its histories: messages, receives, the state of every rank, and credit.

use crate::explore::{Explorer, World};
use crate::header::number;
use crate::machine::{Machine, RANKS};
use crate::rank::{Act, END, End, Kind, Peeked, Stimulus, Wish};
use pombo_kernel::Config;
use std::rc::Rc;

pub(crate) struct Ending {
    pub(crate) credit: usize,
    pub(crate) ranks: Vec<State>,
    /// By sender in the order of its program.
    pub(crate) messages: Vec<Message>,
    /// By rank in the order of its program.
    pub(crate) receives: Vec<Receive>,
    /// Matched probes without success: their rank and pattern.
    pub(crate) vain: Vec<(u8, Wish)>,
    /// Messages that are held back for matched probes: the holder and the message.
    pub(crate) open: Vec<(u8, u8)>,
    dead: u8,
    /// Cells left, by sender and receiver.
    left: [[i64; RANKS]; RANKS],
}

pub(crate) struct State {
    pub(crate) seen: Rc<Peeked>,
    /// The act that the rank did not perform.
    pub(crate) next: Option<Act>,
}

pub(crate) struct Message {
    pub(crate) number: u8,
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) tag: u8,
    pub(crate) kind: Kind,
    pub(crate) end: End,
    /// Whether the message went out whole.
    pub(crate) left: bool,
    /// Whether a cancel was requested.
    pub(crate) cancelled: bool,
}

pub(crate) struct Receive {
    pub(crate) at: u8,
    pub(crate) operation: usize,
    pub(crate) wish: Wish,
    pub(crate) end: End,
    pub(crate) cancelled: bool,
    pub(crate) is_take: bool,
    /// The message that a matched probe took; the receive stands for the probe.
    pub(crate) taken: Option<u8>,
}

/// Kinds of frames, and the offset of a message's number in the first kind.
const WHOLE: u8 = 1;
const ANNOUNCE: u8 = 2;
const REQUEST: u8 = 3;
const OFFER: u8 = 9;
/// Bytes of the sender's operation in an offer; the length follows, then the tag, then the number.
const OFFERED: std::ops::Range<usize> = 10..18;
const DECLINE: u8 = 11;
const CLAIM: u8 = 14;
const AHEAD: u8 = 16;
const NUMBER: usize = 4;

impl Ending {
    pub(crate) fn read<C: Config>(explorer: &Explorer<'_, C>, world: World) -> Self {
        let machine = &*explorer.machine;
        let ranks = explorer.program.len();
        let state = |rank: usize| {
            let vertex = machine.vertex(world.vertices[rank]);
            State {
                seen: vertex.seen.clone(),
                next: explorer.program[rank].get(vertex.acts).copied(),
            }
        };
        let mut ending = Ending {
            credit: machine.setup.credit as usize,
            ranks: (0..ranks).map(state).collect(),
            messages: Vec::new(),
            receives: Vec::new(),
            vain: Vec::new(),
            open: Vec::new(),
            dead: world.dead,
            left: [[0; RANKS]; RANKS],
        };
        for rank in 0..ranks {
            ending.read_rank(machine, world, rank);
            let open = open_offers(machine, world, rank).into_iter();
            ending.open.extend(open.map(|number| (rank as u8, number)));
            for to in 0..ranks {
                ending.left[rank][to] = credit_left(machine, world, rank, to);
            }
        }
        ending
    }

    fn read_rank<C: Config>(&mut self, machine: &Machine<C>, world: World, rank: usize) {
        let from = rank as u8;
        let ends = machine.vertex(world.vertices[rank]).seen.ends.clone();
        let mut operation = 0;
        let mut last = None;
        let mut found = 0;
        for id in machine.path(world.vertices[rank]) {
            let vertex = machine.vertex(id);
            let Stimulus::Act(act) = vertex.input.stimulus else {
                continue;
            };
            let is_new = vertex.seen.ends.len() > operation;
            let end = match is_new {
                true => ends[operation],
                false => End::Skipped,
            };
            let mut receive = |wish, is_take, taken| {
                self.receives.push(Receive {
                    at: from,
                    operation,
                    wish,
                    end,
                    cancelled: false,
                    is_take,
                    taken,
                });
            };
            match act {
                Act::Send { to, tag, kind } if end != End::Skipped => {
                    let number = number(from, operation);
                    self.messages.push(Message {
                        number,
                        from,
                        to,
                        tag,
                        kind,
                        end,
                        left: has_left(machine, world, (rank, to), number),
                        cancelled: false,
                    });
                }
                Act::Receive { wish, .. } => receive(wish, false, None),
                Act::Take => {
                    if let Some(wish) = last {
                        receive(wish, true, None);
                    }
                }
                Act::Cancel(which) => self.cancelled(from, which.into()),
                Act::Matched(wish) | Act::AwaitMatched(wish) => {
                    if let Some(End::Taken { number, .. }) = vertex.seen.ends.get(operation) {
                        receive(wish, false, Some(*number));
                    } else {
                        self.vain.push((from, wish));
                    }
                }
                Act::Probe(_) | Act::Await(_) => {
                    last = vertex.seen.found.get(found).map(|found| Wish {
                        source: Some(found.number / 32),
                        tag: Some(found.tag),
                    });
                    found = vertex.seen.found.len();
                }
                _ => {}
            }
            operation += usize::from(is_new);
        }
    }

    fn cancelled(&mut self, from: u8, operation: usize) {
        let number = number(from, operation);
        for message in &mut self.messages {
            message.cancelled |= message.number == number;
        }
        for receive in &mut self.receives {
            receive.cancelled |= (receive.at, receive.operation) == (from, operation);
        }
    }

    pub(crate) fn is_dead(&self, rank: u8) -> bool {
        self.dead & 1 << rank != 0
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = u8> + '_ {
        (0..self.ranks.len() as u8).filter(|rank| !self.is_dead(*rank))
    }

    /// Returns the message of that number, and its index in the list.
    pub(crate) fn message(&self, number: u8) -> Option<(usize, &Message)> {
        let mut messages = self.messages.iter().enumerate();
        messages.find(|(_, message)| message.number == number)
    }

    /// Returns the number of cells in the pool of `to` that `from` may still use.
    pub(crate) fn credit_left(&self, from: u8, to: u8) -> i64 {
        self.left[usize::from(from)][usize::from(to)]
    }
}

fn frames<C: Config>(
    machine: &Machine<C>,
    world: World,
    from: usize,
    to: usize,
) -> impl Iterator<Item = &[u8]> {
    let sent = &machine.vertex(world.vertices[from]).sent[to];
    sent.iter().map(|frame| machine.frame(*frame))
}

fn has_left<C: Config>(
    machine: &Machine<C>,
    world: World,
    (from, to): (usize, u8),
    number: u8,
) -> bool {
    let whole = |frame: &[u8]| frame[0] == WHOLE && frame[NUMBER] == number;
    frames(machine, world, from, to.into()).any(whole)
}

/// Returns messages that were offered to a rank, and that it has not requested, accepted or rejected since.
fn open_offers<C: Config>(machine: &Machine<C>, world: World, rank: usize) -> Vec<u8> {
    let mut open: Vec<(usize, &[u8], u8)> = Vec::new();
    let mut sent = [0; RANKS];
    for id in machine.path(world.vertices[rank]) {
        let vertex = machine.vertex(id);
        if let Stimulus::Poll(frames) = vertex.input.stimulus {
            for (from, frame) in frames.into_iter().filter(|frame| frame.1 < END) {
                let frame = machine.frame(frame);
                if frame[0] == OFFER {
                    open.push((from.into(), &frame[OFFERED], frame[OFFERED.end + 6]));
                }
            }
        }
        for (to, sent) in sent.iter_mut().enumerate() {
            for frame in &vertex.sent[to][*sent..] {
                let frame = machine.frame(*frame);
                if [REQUEST, DECLINE, CLAIM].contains(&frame[0]) {
                    open.retain(|(from, sender, _)| (*from, *sender) != (to, &frame[2..10]));
                }
            }
            *sent = vertex.sent[to].len();
        }
    }
    open.into_iter().map(|(.., number)| number).collect()
}

/// Returns the cells that one rank has in another's pool, according to the frames.
fn credit_left<C: Config>(machine: &Machine<C>, world: World, from: usize, to: usize) -> i64 {
    let taken = frames(machine, world, from, to)
        .filter(|frame| [WHOLE, ANNOUNCE, AHEAD].contains(&frame[0]));
    let given = frames(machine, world, to, from).map(|frame| i64::from(frame[1]));
    i64::from(machine.setup.credit) + given.sum::<i64>() - taken.count() as i64
}
