//! The rank under attack, with the invariants after each step and at the end.

use super::protocol::{ANY, Bytes, Mark, Owned, Want};
use super::script::{LinkState, PEERS, Script};
use pombo_kernel::aspect::{Capacity, Transfer};
use pombo_kernel::facade::PointToPointExt;
use pombo_kernel::{Communicator, Config, Error, Loan, Mode, Peer, Sizes, Ticket};

/// Value of buffer bytes that were not written.
const UNTOUCHED: u8 = 0xA5;
/// Number of polls after which a rank must have come to rest.
const TURNS: usize = 1000;

pub(crate) struct Rank<C: Config> {
    comm: Communicator<Mark, Script, Owned, C>,
    tickets: Vec<Ticket>,
    /// Messages that a matched probe has taken and that are not yet received.
    matched: Vec<Ticket>,
    rejected: u64,
    /// Number of messages to itself that have left, minus those that it has received.
    own: i64,
    /// Whether a scope may have discarded one of them at its end.
    scoped: bool,
}

impl<C: Config> Rank<C> {
    pub(crate) fn new(fragment: usize) -> Self {
        Rank {
            comm: Communicator::new(Script::new(fragment)).expect("it fits"),
            tickets: Vec::new(),
            matched: Vec::new(),
            rejected: 0,
            own: 0,
            scoped: false,
        }
    }

    pub(crate) fn channel(&mut self) -> &mut Script {
        self.comm.channel_mut()
    }

    pub(crate) fn hints() -> bool {
        <C::Transfer as Transfer>::HINTS
    }

    pub(crate) fn send(&mut self, mode: Mode, to: Peer, tag: u8, bytes: &[u8]) {
        let out = Bytes(bytes.to_vec());
        match self.comm.isend_as(mode, to, Mark { tag }, out) {
            Ok(ticket) => self.tickets.push(ticket),
            Err(refused) => assert_eq!(refused.loan.0, bytes, "{}", refused.error),
        }
    }

    pub(crate) fn try_inject(&mut self, to: Peer, tag: u8, bytes: &[u8]) {
        let sent = self.comm.try_inject(to, Mark { tag }, &bytes);
        self.own += i64::from(to == Peer(0) && sent == Ok(true));
    }

    pub(crate) fn send_buffered(&mut self, to: Peer, tag: u8, bytes: &[u8]) {
        // Matched messages cannot be cancelled, and a table full of them accepts no receive.
        if self.comm.lengths().operations >= 4 {
            return;
        }
        let sent = self.comm.send_buffered(to, Mark { tag }, &bytes);
        self.own += i64::from(to == Peer(0) && sent == Ok(()));
    }

    pub(crate) fn receive(&mut self, want: Want, room: usize) {
        let room = vec![UNTOUCHED; room];
        match self.comm.irecv(want, Bytes(room.clone())) {
            Ok(ticket) => self.tickets.push(ticket),
            Err(refused) => assert_eq!(refused.loan.0, room, "{}", refused.error),
        }
    }

    pub(crate) fn probe(&mut self, want: Want) {
        if let Ok(Some(envelope)) = self.comm.probe(want) {
            assert!(envelope.peer().0 < PEERS);
        }
    }

    pub(crate) fn matched_probe(&mut self, want: Want) {
        if let Ok(Some((ticket, _))) = self.comm.matched_probe(want) {
            self.matched.push(ticket);
        }
    }

    pub(crate) fn irecv_matched(&mut self, nth: usize, room: usize) {
        if self.matched.is_empty() {
            return;
        }
        let ticket = self.matched.swap_remove(nth % self.matched.len());
        let taken = self
            .comm
            .irecv_matched(ticket, Bytes(vec![UNTOUCHED; room]));
        assert!(taken.is_ok(), "it was taken by a probe");
        self.tickets.push(ticket);
    }

    pub(crate) fn cancel(&mut self, nth: usize) {
        if let Some(ticket) = self.tickets.get(nth % self.tickets.len().max(1)) {
            let cancelled = self.comm.cancel(*ticket);
            assert_ne!(cancelled, Err(Error::UnknownTicket));
        }
    }

    pub(crate) fn claim(&mut self, nth: usize) {
        if self.tickets.is_empty() {
            return;
        }
        let at = nth % self.tickets.len();
        if self.is_over(self.tickets[at]) {
            let ticket = self.tickets.swap_remove(at);
            assert_eq!(self.comm.claim(ticket).err(), Some(Error::UnknownTicket));
        }
    }

    /// Claims a ticket and checks what comes back.
    fn is_over(&mut self, ticket: Ticket) -> bool {
        let Some(over) = self.comm.claim(ticket).expect("it is known") else {
            return false;
        };
        let own = over
            .envelope
            .is_some_and(|envelope| envelope.peer() == Peer(0));
        if own && matches!(over.outcome, Ok(_) | Err(Error::Truncated { .. })) {
            self.own += match over.loan {
                Loan::Sent(_) => 1,
                Loan::Received(_) => -1,
            };
        }
        match (over.loan, over.outcome) {
            (Loan::Sent(bytes), Ok(len)) => assert_eq!(bytes.0.len(), len),
            (Loan::Received(bytes), Ok(len)) => {
                let envelope = over.envelope.expect("a message came");
                assert!(envelope.len() == len && envelope.peer().0 < PEERS);
                assert!(bytes.0[len..].iter().all(|byte| *byte == UNTOUCHED));
            }
            (Loan::Received(bytes), Err(Error::Truncated { sent, room })) => {
                assert!(bytes.0.len() == room && sent > room);
            }
            (Loan::Received(bytes), Err(Error::Cancelled)) => {
                assert!(bytes.0.iter().all(|byte| *byte == UNTOUCHED));
            }
            _ => {}
        }
        true
    }

    /// Opens a scope with a receive and a send that ends after `polls` polls.
    pub(crate) fn scope(&mut self, want: Want, to: Peer, tag: u8, len: usize, polls: usize) {
        self.scoped = true;
        let out = vec![tag; len];
        let mut into = vec![UNTOUCHED; len];
        self.comm.scope(|scope| {
            // At the bound they are refused.
            let _ = scope.irecv(want, &mut into);
            let sent = scope.isend(to, Mark { tag }, &out).map_err(drop);
            for _ in 0..polls {
                scope.check_messages().expect("the channel does not break");
            }
            if let Ok(ticket) = sent {
                scope.claim(ticket).map(drop).expect("it is known");
            }
        });
    }

    pub(crate) fn poll(&mut self) -> bool {
        self.comm
            .check_messages()
            .expect("the channel does not break")
    }

    /// Checks the invariants.
    pub(crate) fn check(&mut self) {
        let lengths = self.comm.lengths();
        let operations = <C::Sizes as Sizes>::Operations::N;
        let pool = <C::Sizes as Sizes>::Pool::N;
        assert!(lengths.operations <= operations && lengths.expected <= operations);
        assert!(lengths.unexpected <= pool, "{lengths:?}");
        assert!(self.tickets.len() + self.matched.len() <= lengths.operations);
        assert!(self.comm.rejected() >= self.rejected);
        self.rejected = self.comm.rejected();
        if let Some(statistics) = self.comm.statistics() {
            assert_eq!(statistics.rejected, self.rejected);
        }
    }

    fn settle(&mut self) {
        for _ in 0..TURNS {
            if !self.poll() && self.channel().is_quiet() {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// Checks that all operations end when the peers are gone, and that messages to itself arrive.
    pub(crate) fn finish(mut self) {
        self.channel().set(Peer(0), LinkState::Open);
        self.channel().land_all();
        for peer in 1..PEERS {
            self.channel().lose(Peer(peer));
        }
        self.settle();
        while !self.matched.is_empty() {
            self.irecv_matched(0, 16);
        }
        self.settle();
        for nth in 0..self.tickets.len() {
            self.cancel(nth);
        }
        self.settle();
        for ticket in core::mem::take(&mut self.tickets) {
            assert!(self.is_over(ticket), "{ticket:?} is parked for ever");
        }
        self.drain();
        let lengths = self.comm.lengths();
        assert_eq!(
            (lengths.operations, lengths.expected, lengths.unexpected),
            (0, 0, 0)
        );
        assert!(self.comm.is_flushed());
        // Whatever the peers did, no message to itself is lost or duplicated.
        assert!(self.own == 0 || self.scoped, "{} messages", self.own);
        for round in 0..20 {
            self.talk(round);
        }
    }

    /// Receives everything that has arrived or is held.
    fn drain(&mut self) {
        let mut idle = 0;
        for _ in 0..TURNS {
            self.poll();
            let known = self.comm.probe(ANY).expect("wildcards name nobody");
            if known.is_none() {
                // A query may have to wait for many probes, until the unused answer to another one expires.
                idle += 1;
                if idle == 200 {
                    return;
                }
                continue;
            }
            idle = 0;
            let taken = self.comm.irecv(ANY, Bytes(vec![UNTOUCHED; 16]));
            let ticket = taken.map_err(Error::from).expect("there is room");
            self.settle();
            assert!(self.is_over(ticket), "it was probed");
        }
        panic!("it is never empty");
    }

    /// Sends a message to itself, eager or announced, and receives it.
    fn talk(&mut self, round: u8) {
        let len = 4 + 4 * usize::from(<C::Transfer as Transfer>::RENDEZVOUS);
        let out = vec![round; len];
        let sent = self
            .comm
            .isend(Peer(0), Mark { tag: round }, Bytes(out.clone()));
        let sent = sent.map_err(Error::from).expect("nothing is in the way");
        self.settle();
        let want = Want {
            source: 0,
            tag: round,
        };
        let posted = self.comm.irecv(want, Bytes(vec![UNTOUCHED; 16]));
        let posted = posted.map_err(Error::from).expect("it is here");
        self.settle();
        assert!(self.is_over(posted) && self.is_over(sent));
    }
}
