//! Runs a schedule: random calls on random ranks, with a record of every operation and its outcome.

use crate::numbered::Select;
use crate::plan::{Habits, Plan, Step};
use crate::rank::Rank;
use pombo_kernel::{Error, Ticket};
use pombo_netdrivers::fault::SeededRng;
use pombo_testing::Profile;

pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) port: usize,
    pub(crate) tag: i32,
    pub(crate) len: usize,
    pub(crate) synchronous: bool,
    pub(crate) cancelling: bool,
    /// Whether a blocking send timed out: the message may arrive or not, and a receive that it matched may be revoked.
    pub(crate) withdrawn: bool,
    /// The ticket; `None` for a send that is not claimed.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) outcome: Option<Result<usize, Error>>,
}

pub(crate) struct Receive {
    pub(crate) at: usize,
    pub(crate) port: usize,
    pub(crate) pattern: Select,
    pub(crate) room: usize,
    pub(crate) ticket: Ticket,
    pub(crate) end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Open,
    Got(usize),
    Cancelled,
    /// A rank was lost, and which of its messages had matched.
    Lost(usize, Option<usize>),
    /// The sender of this message withdrew it.
    Revoked,
}

/// A successful probe.
pub(crate) struct Found {
    pub(crate) at: usize,
    pub(crate) pattern: Select,
    pub(crate) id: usize,
    /// Number of receives posted before it, over all ranks.
    pub(crate) receives: usize,
}

pub(crate) struct World {
    /// The ranks; `None` for one that has crashed.
    pub(crate) ranks: Vec<Option<Box<dyn Rank>>>,
    pub(crate) messages: Vec<Message>,
    pub(crate) receives: Vec<Receive>,
    pub(crate) found: Vec<Found>,
    pub(crate) ports: usize,
    pub(crate) habits: Habits,
    pub(crate) profile: Profile,
    pub(crate) rng: SeededRng,
    /// Whether every step is printed.
    pub(crate) loud: bool,
}

impl Message {
    pub(crate) fn was_cancelled(&self) -> bool {
        self.outcome == Some(Err(Error::Cancelled))
    }

    pub(crate) fn was_lost(&self) -> bool {
        matches!(self.outcome, Some(Err(Error::PeerLost(_))))
    }
}

impl World {
    pub(crate) fn new(plan: Plan, loud: bool) -> Self {
        World {
            ports: plan.ranks[0].ports(),
            ranks: plan.ranks.into_iter().map(Some).collect(),
            messages: Vec::new(),
            receives: Vec::new(),
            found: Vec::new(),
            habits: plan.habits,
            profile: plan.profile,
            rng: plan.rng,
            loud,
        }
    }

    /// Prints a step if asked to.
    pub(crate) fn tell(&self, step: impl FnOnce() -> String) {
        if self.loud {
            eprintln!("{}", step());
        }
    }

    pub(crate) fn is_up(&self, rank: usize) -> bool {
        self.ranks[rank].is_some()
    }

    /// Returns a random live rank and one of its ports.
    pub(crate) fn somebody(&mut self) -> (usize, usize) {
        let up: Vec<_> = (0..self.ranks.len())
            .filter(|&rank| self.is_up(rank))
            .collect();
        match up.as_slice() {
            [] => (0, 0),
            up => (up[self.rng.index(up.len())], self.rng.index(self.ports)),
        }
    }

    /// Calls a rank unless it has crashed. A rank that crashes in the call is dropped, whatever the call returns.
    pub(crate) fn call<R>(&mut self, rank: usize, f: impl FnOnce(&mut dyn Rank) -> R) -> Option<R> {
        let called = self.ranks[rank].as_mut()?;
        let answer = f(called.as_mut());
        if called.channel().has_crashed() {
            self.tell(|| format!("rank {rank} has crashed"));
            self.ranks[rank] = None;
        }
        Some(answer)
    }

    /// Performs one random step.
    pub(crate) fn act(&mut self) {
        let (at, port) = self.somebody();
        match self.habits.step(&mut self.rng) {
            Step::Send => self.send_somehow(at, port),
            Step::SendBlocking => self.send_blocking(at, port),
            Step::Receive => self.receive_somehow(at, port),
            Step::CancelSend => self.cancel_send(),
            Step::CancelReceive => {
                let which = self.rng.index(self.receives.len());
                self.cancel_receive(which);
            }
            Step::Probe => {
                let pattern = self.pattern();
                self.probe(at, port, pattern);
            }
            Step::Claim => self.claim(),
            Step::Wait => self.wait_for_receive(),
            Step::Poll => {
                self.tell(|| format!("{at} polls"));
                self.poll(at, port);
            }
        }
    }

    /// Returns the time-out of a blocking call in nanoseconds: a channel's clock counts calls, 1000 ns each.
    pub(crate) fn patience(&mut self) -> u64 {
        self.rng.below(30_000)
    }

    /// Returns whether anything moved.
    fn poll(&mut self, rank: usize, port: usize) -> bool {
        match self.call(rank, |rank| rank.progress(port)) {
            None => false,
            Some(Ok(moved)) => moved,
            Some(Err(error)) => {
                assert!(!self.is_up(rank), "{error}");
                true
            }
        }
    }

    fn round(&mut self) -> bool {
        let ports = self.ports;
        (0..self.ranks.len()).fold(false, |moved, rank| {
            let port = self.rng.index(ports);
            self.poll(rank, port) || moved
        })
    }

    /// Polls every rank until nothing is under way or due, first with all adverse events and then with none.
    pub(crate) fn settle(&mut self) {
        let mut idle = 0;
        for _ in 0..100_000 {
            idle = if self.round() { 0 } else { idle + 1 };
            match idle {
                0 => self.set_benign(false),
                8 => self.set_benign(true),
                // The first benign round takes what was held back, the second finds nothing, and then nothing is left.
                11 => return self.set_benign(false),
                _ => {}
            }
        }
        panic!("the ranks never come to rest");
    }

    fn set_benign(&mut self, benign: bool) {
        for rank in self.ranks.iter_mut().flatten() {
            let channel = rank.channel();
            let profile = if benign {
                Profile::BENIGN
            } else {
                self.profile
            };
            let crash = channel.profile().crash;
            channel.set_profile(Profile { crash, ..profile });
        }
    }

    /// Makes the remaining ranks immune to crashes.
    pub(crate) fn end_crashes(&mut self) {
        for rank in self.ranks.iter_mut().flatten() {
            let channel = rank.channel();
            let profile = channel.profile();
            channel.set_profile(Profile {
                crash: None,
                ..profile
            });
        }
    }

    /// Claims every complete operation, checks it, and records which message a receive got.
    pub(crate) fn claim(&mut self) {
        for index in 0..self.receives.len() {
            self.claim_receive(index);
        }
        for index in 0..self.messages.len() {
            self.claim_send(index);
        }
    }
}
