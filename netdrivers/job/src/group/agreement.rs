//! How the processes agree on the entries of the log, without input or output of its own: the caller hands in
//! messages, verdicts and the time, and sends what comes out. Only [`Groups`](super::Groups) and simulators use it.
//!
//! The lowest living process leads. It proposes the entry after its view, and the entry is decided when every process
//! of the view that is not dead has accepted it; so as long as one process lives, nothing that was decided is lost. A
//! leader that takes over first asks all others what they have accepted, and proposes that again (Paxos for each entry).
//! One that is a minority, unless what it has accepted is decided, leaves the lead to the next.
//!
//! A process that is out of reach may be alive, so it counts: while one is, a decision needs a majority of the *view*,
//! of which the dead are part too. (Had the dead not counted there, a side that lost the majority could regain it when
//! members of the other side end, while the rest of that side goes on.) Any two sets that decide have a member in
//! common, or all of one set are dead. Source: Lamport, "Paxos made simple"; the processes of the next entry are those
//! of the view before.
//!
//! A process that joins the running job asks all others until it has a directory. The leader proposes an entry that
//! admits it, on which the processes of the view before decide without it. Whoever has the entry then gives the newcomer
//! its copy of the directory, piece by piece; no further entry is decided before the newcomer can accept it, unless it
//! ends, so the copy does not change meanwhile. A place in the directory is given once: a process that has been removed
//! is not admitted again.
//!
//! Where a process that is out of reach may be alive, admissions need majorities for *every* entry, whoever is dead: see
//! [`Agreement::require_majorities`]. Otherwise a process could decide alone when a majority of its view has died that had
//! held it for unreachable, while a newcomer lives whom that majority had admitted.

use super::directory::{Completion, Directory, Outcome};
use super::entry::{Entry, Operation, Request};
use super::message::{Ballot, Body, Message};
use super::processes::Processes;
use super::snapshot;
use super::{BACK_OFF, BATCH, GroupError, HISTORY, RESEND, SNAPSHOT_PIECE};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pombo_kernel::Peer;

/// What is known of a process that the channel has lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Its process has ended.
    Dead,
    /// Its process has ended in good order: it has told this one so, by a connection that never failed.
    Left,
    /// It does not answer; it may be alive.
    Unreachable,
}

/// Takes the messages that a call sends.
pub type Outbox<'a> = &'a mut dyn FnMut(Peer, Message);

/// What a leader does.
#[derive(Clone, Debug)]
enum Lead {
    /// Nothing, or this process does not lead.
    Idle,
    /// It asks the others what they have accepted, of which the highest counts.
    Preparing(Processes, Option<(Ballot, Entry)>),
    /// It may propose.
    Ready,
    /// It has proposed an entry, which these have accepted.
    Proposing(Processes),
}

/// The operation of this process that is under way.
#[derive(Clone, Debug)]
struct Call {
    number: u32,
    operation: Operation,
    /// The result, if it is complete.
    result: Option<Result<Outcome, GroupError>>,
}

/// One process' part in the agreement, and its copy of the directory.
#[derive(Clone, Debug)]
pub struct Agreement {
    me: Peer,
    directory: Directory,
    /// The last entries, up to the present view.
    history: VecDeque<Entry>,
    dead: Processes,
    /// Those of the dead that have left in good order.
    left: Processes,
    unreachable: Processes,
    /// Those that can be reached, and cannot lead as long as this view lasts: who is a minority stays one, as no verdict
    /// is taken back.
    cannot_lead: Processes,
    removed: bool,
    /// What has come of the directory, and its view, while this process has none.
    newcomer: Option<(u64, Vec<u8>)>,
    /// Processes that have asked to be admitted.
    candidates: Processes,
    /// The bytes of this view's directory, if a newcomer has needed them.
    snapshot: Vec<u8>,
    promised: Ballot,
    /// What this process has accepted for the next view.
    accepted: Option<(Ballot, Entry)>,
    lead: Lead,
    /// The ballot of `lead`.
    ballot: Ballot,
    /// The last request of each process, until it is handled.
    requests: Vec<Option<Request>>,
    call: Option<Call>,
    calls: u32,
    /// When to send again what has no answer.
    resend_at: u64,
    /// When this process may try to lead again.
    lead_at: u64,
}

impl Agreement {
    /// Creates the part of process `me` of a job that began with so many processes, in view 0 without groups. The other
    /// of its `places` are for processes that join while it runs; one of these has no directory at first.
    ///
    /// # Errors
    /// [`GroupError::TooManyProcesses`].
    pub fn new(me: Peer, processes: usize, places: usize) -> Result<Self, GroupError> {
        if places > super::MAX_PROCESSES {
            return Err(GroupError::TooManyProcesses);
        }
        Ok(Agreement {
            me,
            directory: Directory::new(processes, places),
            history: VecDeque::new(),
            dead: Processes::NONE,
            left: Processes::NONE,
            unreachable: Processes::NONE,
            cannot_lead: Processes::NONE,
            removed: false,
            newcomer: (me.index() >= processes).then_some((0, Vec::new())),
            candidates: Processes::NONE,
            snapshot: Vec::new(),
            promised: Ballot::default(),
            accepted: None,
            lead: Lead::Idle,
            ballot: Ballot::default(),
            requests: alloc::vec![None; places],
            call: None,
            calls: 0,
            resend_at: 0,
            lead_at: 0,
        })
    }

    /// Makes every decision need a majority of the view, or all but those that have left in good order: who holds a process
    /// for unreachable does not tell it that it leaves. When so many die at once that no majority is left, the others are a
    /// minority. All processes that the job begins with call this, or none; newcomers learn it with the directory.
    pub fn require_majorities(&mut self) {
        self.directory.by_majority = true;
    }

    /// Returns this process' copy of the directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns the number of this process.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Returns whether this process is cut off from the majority: nothing that it begins will complete.
    pub fn is_minority(&self) -> bool {
        if self.newcomer.is_some() {
            return self.removed || self.watched().is_empty();
        }
        let all = self.directory.processes();
        let lost = self.unreachable.and(all).without(self.dead);
        let own = all.without(self.dead).without(self.unreachable);
        let is_enough = match self.directory.by_majority {
            true => all
                .without(own)
                .is_subset(self.left.without(self.unreachable)),
            false => lost.is_empty(),
        };
        self.removed || !is_enough && !own.is_majority_of(all)
    }

    /// Returns the processes of the view that are neither dead nor out of reach.
    pub fn reach(&self) -> Processes {
        self.directory
            .processes()
            .without(self.dead)
            .without(self.unreachable)
    }

    /// Returns whether this process has a copy of the directory; one that joined the running job gets it later.
    pub fn is_admitted(&self) -> bool {
        self.newcomer.is_none()
    }

    /// Returns the other processes of whose end this one has to learn, as far as they are not lost.
    pub fn watched(&self) -> Processes {
        let all = match self.newcomer {
            Some(_) => Processes::first(self.requests.len()),
            None => self.directory.processes().or(self.candidates),
        };
        let own = [self.me].into_iter().collect();
        all.without(own)
            .without(self.dead)
            .without(self.unreachable)
    }

    /// Returns the entry that led to that view, if it is one of the last [`HISTORY`](super::HISTORY).
    pub fn entry(&self, view: u64) -> Option<&Entry> {
        let behind = usize::try_from(self.directory.view().checked_sub(view)?).ok()?;
        self.history
            .get(self.history.len().checked_sub(behind + 1)?)
    }

    /// Returns how much this process has to do for the others: what would be lost with it if nobody else had it.
    pub fn load(&self) -> usize {
        let leads = !matches!(self.lead, Lead::Idle);
        let requests = self.requests.iter().flatten().count();
        usize::from(leads) * 1000 + usize::from(self.accepted.is_some()) * 100 + requests
    }

    /// Returns whether an operation of this process is under way.
    pub fn is_busy(&self) -> bool {
        self.call.is_some()
    }

    /// Returns whether this process leads the others, in its own opinion.
    pub fn is_leader(&self) -> bool {
        self.is_admitted() && self.leader() == Some(self.me)
    }

    /// Returns the lowest process that can be reached and can lead.
    fn leader(&self) -> Option<Peer> {
        self.reach().without(self.cannot_lead).lowest()
    }

    /// Begins an operation; one that is under way is forgotten. [`Agreement::outcome`] returns the result.
    pub fn begin(&mut self, now: u64, operation: Operation, out: Outbox<'_>) {
        self.calls += 1;
        let number = self.calls;
        self.call = Some(Call {
            number,
            operation,
            result: None,
        });
        self.send_request(now, out);
        self.drive(now, out);
    }

    /// Gives up the operation that is under way: it waits in the directory no longer.
    pub fn give_up(&mut self, now: u64, out: Outbox<'_>) {
        self.begin(now, Operation::Withdraw, out);
    }

    /// Returns the result of the operation that was begun last, once.
    pub fn outcome(&mut self) -> Option<Result<Outcome, GroupError>> {
        if self.call.as_ref()?.result.is_none() && self.is_minority() {
            self.call = None;
            return Some(Err(GroupError::Minority));
        }
        let result = self.call.as_mut()?.result.take();
        if result.is_some() {
            self.call = None;
        }
        result
    }

    /// Takes a verdict on a process, which is final.
    pub fn on_lost(&mut self, now: u64, peer: Peer, verdict: Verdict, out: Outbox<'_>) {
        let set = match verdict {
            Verdict::Left => {
                self.left.insert(peer);
                &mut self.dead
            }
            Verdict::Dead => &mut self.dead,
            Verdict::Unreachable => &mut self.unreachable,
        };
        if set.insert(peer) {
            self.send_request(now, out);
            self.drive(now, out);
        }
    }

    /// Counts a process as out of reach that can be reached, and tells it.
    fn give_up_on(&mut self, now: u64, peer: Peer, why: Body, out: Outbox<'_>) {
        if !self.unreachable.contains(peer) {
            self.send(peer, why, out);
            self.on_lost(now, peer, Verdict::Unreachable, out);
        }
    }

    /// Sends again what has had no answer for too long. To be called at least every [`RESEND`](super::RESEND) ns while
    /// an operation is under way, and now and then otherwise.
    pub fn on_time(&mut self, now: u64, out: Outbox<'_>) {
        if now >= self.resend_at {
            self.resend_at = now + RESEND;
            self.send_request(now, out);
            match &self.lead {
                Lead::Preparing(promises, _) => {
                    let silent = self.reach().without(*promises);
                    self.send_all(silent, Body::Prepare(self.ballot), out);
                }
                Lead::Proposing(acks) => {
                    let silent = self.reach().without(*acks);
                    self.send_proposal(silent, out);
                }
                Lead::Idle | Lead::Ready => {}
            }
        }
        self.drive(now, out);
    }

    /// Takes a message.
    pub fn on_message(&mut self, now: u64, from: Peer, message: Message, out: Outbox<'_>) {
        let Message { view, body } = message;
        if from == self.me || from.index() >= self.requests.len() {
            return;
        }
        // The view of a member that is a minority may lack an entry that makes it none: a newcomer asks it again.
        if body == Body::Gone && self.is_admitted() {
            return self.give_up_on(now, from, Body::Gone, out);
        }
        if self.removed {
            // Two that have been removed need not tell each other for ever.
            if !matches!(body, Body::Removed | Body::Gone) {
                self.send(from, Body::Gone, out);
            }
            return;
        }
        if self.newcomer.is_some() {
            return self.on_message_of_member(now, from, view, body, out);
        }
        if let Body::Admit(offset) = body {
            return self.on_newcomer(now, from, (view, offset), out);
        }
        if body == Body::Removed {
            // It knows of entries that are missing here; one of them removed this process.
            self.removed |= view > self.directory.view();
            return;
        }
        if let Body::Decided(number, entry) = body {
            if number == self.directory.view() + 1 {
                // Whoever decided it may have another opinion of who lives: a leader asks again before it proposes.
                if !matches!(self.lead, Lead::Preparing(..)) {
                    self.lead = Lead::Idle;
                }
                self.apply(now, entry, out);
            }
            return self.drive(now, out);
        }
        if !self.directory.processes().contains(from) {
            // An entry that is missing here has admitted it, or one that it lacks has removed it.
            let is_newer = view > self.directory.view();
            let body = if is_newer {
                Body::Behind
            } else {
                Body::Removed
            };
            return self.send(from, body, out);
        }
        if view < self.directory.view() && !self.catch_up(from, view, out) {
            // It lacks more entries than there are: it is of no use, and counts as out of reach.
            return self.give_up_on(now, from, Body::Removed, out);
        }
        if matches!(body, Body::Request(_) | Body::Behind) && !self.is_leader() {
            // The sender cannot reach whom this process follows; that one is always a lower one.
            self.ask_leader(body.clone(), out);
        }
        if matches!(body, Body::Request(_) | Body::Behind) && self.is_minority() {
            return match &self.accepted {
                // An entry that is missing here, or may be decided, can have admitted enough to make a majority.
                _ if view > self.directory.view() => self.send(from, Body::Behind, out),
                Some((_, entry)) if !entry.admitted.is_empty() => {
                    self.send(from, Body::CannotLead, out);
                }
                _ => self.send(from, Body::Gone, out),
            };
        }
        match body {
            Body::Request(request) => {
                let Request { origin, number, .. } = request;
                if let Some(waiting) = self.requests.get_mut(origin.index())
                    && waiting.as_ref().is_none_or(|its| its.number < number)
                    && !self.directory.has_handled(origin, number)
                {
                    *waiting = Some(request);
                }
            }
            Body::Prepare(ballot) | Body::Accept(ballot, _) if ballot < self.promised => {
                self.send(from, Body::Rejected(self.promised), out);
            }
            Body::Prepare(ballot) => {
                self.follow(ballot);
                self.send(from, Body::Promise(ballot, self.accepted.clone()), out);
            }
            Body::Accept(ballot, entry) => {
                self.follow(ballot);
                if view == self.directory.view() {
                    self.accepted = Some((ballot, entry));
                    self.send(from, Body::Accepted(ballot, view + 1), out);
                } else if view > self.directory.view() {
                    self.send(from, Body::Behind, out);
                }
            }
            Body::Promise(ballot, accepted) if ballot == self.ballot => {
                let fits = view == self.directory.view();
                if let Lead::Preparing(promises, best) = &mut self.lead
                    && view <= self.directory.view()
                {
                    promises.insert(from);
                    if let Some(its) = accepted.filter(|_| fits)
                        && best.as_ref().is_none_or(|(highest, _)| *highest < its.0)
                    {
                        *best = Some(its);
                    }
                }
            }
            Body::Accepted(ballot, number)
                if ballot == self.ballot && number == self.directory.view() + 1 =>
            {
                if let Lead::Proposing(acks) = &mut self.lead {
                    acks.insert(from);
                }
            }
            Body::Rejected(ballot) if ballot > self.ballot => {
                self.follow(ballot);
                let place = self
                    .reach()
                    .iter()
                    .take_while(|peer| *peer != self.me)
                    .count();
                self.lead_at = now + BACK_OFF * (place as u64 + 1);
            }
            Body::CannotLead => {
                let is_news = view == self.directory.view() && self.cannot_lead.insert(from);
                if is_news {
                    self.send_request(now, out);
                }
            }
            Body::Behind => match self.lead {
                Lead::Proposing(_) => self.send_proposal([from].into_iter().collect(), out),
                Lead::Preparing(..) => self.send(from, Body::Prepare(self.ballot), out),
                Lead::Idle | Lead::Ready => {}
            },
            _ => {}
        }
        self.drive(now, out);
    }

    /// Takes a message while this process has no directory.
    fn on_message_of_member(
        &mut self,
        now: u64,
        from: Peer,
        view: u64,
        body: Body,
        out: Outbox<'_>,
    ) {
        let Some((its, bytes)) = &mut self.newcomer else {
            return;
        };
        match body {
            Body::Removed => self.removed = true,
            // It has none either, or none that it can give.
            Body::Admit(_) | Body::Gone => {}
            Body::Snapshot(len, offset, piece) => {
                if *its != view {
                    (*its, *bytes) = (view, Vec::new());
                }
                let len = len as usize;
                let fits = len <= snapshot::MAX_SNAPSHOT && bytes.len() + piece.len() <= len;
                if !fits || offset as usize != bytes.len() || piece.is_empty() {
                    return;
                }
                bytes.extend_from_slice(&piece);
                if bytes.len() < len {
                    return self.send_admit(from, out);
                }
                let whole = core::mem::take(bytes);
                match snapshot::from_bytes(&whole, self.requests.len()) {
                    Some((directory, last)) if directory.processes().contains(self.me) => {
                        self.newcomer = None;
                        self.directory = directory;
                        self.history.push_back(last);
                        self.send_request(now, out);
                        // What the leader has sent meanwhile was not taken.
                        self.ask_leader(Body::Behind, out);
                        self.drive(now, out);
                    }
                    // It is read again from its beginning.
                    _ => {}
                }
            }
            // The sender takes this process for a member.
            _ => self.send_admit(from, out),
        }
    }

    /// Answers a process that has no directory, of which it has a view up to an offset.
    fn on_newcomer(&mut self, now: u64, from: Peer, (view, offset): (u64, u32), out: Outbox<'_>) {
        if self.directory.processes().contains(from) {
            let offset = if view == self.directory.view() {
                offset
            } else {
                0
            };
            return self.send_snapshot(from, offset, out);
        }
        if self.directory.is_known(from) {
            return self.send(from, Body::Removed, out);
        }
        if self.candidates.insert(from) {
            self.drive(now, out);
        }
    }

    fn send_snapshot(&mut self, to: Peer, offset: u32, out: Outbox<'_>) {
        if let Some(last) = self.history.back().filter(|_| self.snapshot.is_empty()) {
            self.snapshot = snapshot::to_bytes(&self.directory, last);
        }
        let rest = self.snapshot.get(offset as usize..).unwrap_or_default();
        let piece = &rest[..rest.len().min(SNAPSHOT_PIECE)];
        let body = Body::Snapshot(self.snapshot.len() as u32, offset, piece.to_vec());
        self.send(to, body, out);
    }

    /// Asks for a directory, or for more of it.
    fn send_admit(&self, to: Peer, out: Outbox<'_>) {
        if let Some((view, bytes)) = &self.newcomer {
            let body = Body::Admit(bytes.len() as u32);
            out(to, Message { view: *view, body });
        }
    }

    /// Returns the processes that are to be admitted.
    fn admissible(&self) -> Processes {
        self.candidates
            .without(self.directory.known)
            .without(self.dead)
            .without(self.unreachable)
    }

    /// Sends the entries after `view` to a process; returns false if they are not kept any more.
    fn catch_up(&self, to: Peer, view: u64, out: Outbox<'_>) -> bool {
        let missing = (self.directory.view() - view) as usize;
        let Some(first) = self.history.len().checked_sub(missing) else {
            return false;
        };
        for (number, entry) in (view + 1..).zip(self.history.iter().skip(first)) {
            self.send(to, Body::Decided(number, entry.clone()), out);
        }
        true
    }

    /// Follows a ballot: this process no longer leads by a lower one.
    fn follow(&mut self, ballot: Ballot) {
        if ballot > self.promised {
            self.promised = ballot;
        }
        if self.promised > self.ballot {
            self.lead = Lead::Idle;
        }
    }

    fn send(&self, to: Peer, body: Body, out: Outbox<'_>) {
        out(
            to,
            Message {
                view: self.directory.view(),
                body,
            },
        );
    }

    fn send_all(&self, to: Processes, body: Body, out: Outbox<'_>) {
        for peer in to.iter().filter(|peer| *peer != self.me) {
            self.send(peer, body.clone(), out);
        }
    }

    fn send_proposal(&self, to: Processes, out: Outbox<'_>) {
        if let Some((_, entry)) = &self.accepted {
            self.send_all(to, Body::Accept(self.ballot, entry.clone()), out);
        }
    }

    /// Brings the request of this process to the leader, if it is not handled; else asks it for missing entries, if
    /// there should be some.
    fn send_request(&mut self, now: u64, out: Outbox<'_>) {
        if self.newcomer.is_some() {
            self.resend_at = now + RESEND;
            if self.removed {
                return;
            }
            return self
                .watched()
                .iter()
                .for_each(|peer| self.send_admit(peer, out));
        }
        let mut body = (!self.reach_is_whole() || self.accepted.is_some()).then_some(Body::Behind);
        if let Some(Call {
            number,
            operation,
            result: None,
        }) = self.call
        {
            // A request that is handled waits for others in the directory.
            body = Some(Body::Behind);
            if !self.directory.has_handled(self.me, number) {
                let request = Request {
                    origin: self.me,
                    number,
                    operation,
                };
                self.requests[self.me.index()] = Some(request);
                body = Some(Body::Request(request));
            }
        }
        if let Some(body) = body {
            self.resend_at = now + RESEND;
            self.ask_leader(body, out);
        }
    }

    fn ask_leader(&self, body: Body, out: Outbox<'_>) {
        if let Some(leader) = self.leader().filter(|leader| *leader != self.me) {
            self.send(leader, body, out);
        }
    }

    /// Returns whether every process of the view can be reached.
    fn reach_is_whole(&self) -> bool {
        self.directory.processes().is_subset(self.reach())
    }

    /// Makes the step to the next view.
    fn apply(&mut self, now: u64, entry: Entry, out: Outbox<'_>) {
        let (me, leader) = (self.me, self.leader());
        let before = self.directory.processes();
        let mut is_given_up = false;
        let Agreement {
            directory, call, ..
        } = self;
        directory.apply(&entry, &mut |Completion {
                                          origin,
                                          number,
                                          result,
                                      }| {
            if let Some(call) = call
                && (origin, number) == (me, call.number)
            {
                call.result = Some(result);
                is_given_up = call.operation == Operation::Withdraw;
            }
        });
        if is_given_up {
            self.call = None;
        }
        self.accepted = None;
        self.cannot_lead = Processes::NONE;
        self.snapshot = Vec::new();
        self.history.push_back(entry);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        for (origin, request) in (0..).map(Peer).zip(&mut self.requests) {
            let handled = |request: &Request| self.directory.has_handled(origin, request.number);
            if request.as_ref().is_some_and(handled) || !self.directory.processes().contains(origin)
            {
                *request = None;
            }
        }
        match &mut self.lead {
            Lead::Preparing(_, best) => *best = None,
            Lead::Idle | Lead::Ready | Lead::Proposing(_) => {}
        }
        self.removed = !self.directory.processes().contains(me);
        let admitted = self.directory.processes().without(before);
        self.candidates = self.candidates.without(self.directory.known);
        if self.is_leader() {
            for peer in admitted.and(self.reach()).iter() {
                self.send_snapshot(peer, 0, out);
            }
        }
        if self.leader() != leader {
            self.send_request(now, out);
        }
    }

    /// Returns whether enough processes have answered.
    fn is_quorum(&self, answers: Processes) -> bool {
        let all = self.directory.processes();
        let living = all.without(self.dead);
        let others = all.without(answers);
        living.is_subset(answers)
            && (!self.directory.by_majority
                || others.is_subset(self.left.without(self.unreachable)))
            || living.without(self.unreachable).is_subset(answers) && answers.is_majority_of(all)
    }

    fn has_work(&self) -> bool {
        self.accepted.is_some()
            || self.requests.iter().any(Option::is_some)
            || !self.reach_is_whole()
            || !self.admissible().is_empty()
    }

    /// Does what a leader can do now.
    fn drive(&mut self, now: u64, out: Outbox<'_>) {
        if self.removed || self.newcomer.is_some() {
            return;
        }
        if !self.is_leader() {
            self.lead = Lead::Idle;
            return;
        }
        loop {
            match &mut self.lead {
                Lead::Idle => {
                    if !self.has_work() || now < self.lead_at || self.is_minority() {
                        return;
                    }
                    let round = self.promised.round.saturating_add(1);
                    self.ballot = Ballot {
                        round,
                        leader: self.me.0,
                    };
                    self.promised = self.ballot;
                    self.lead =
                        Lead::Preparing([self.me].into_iter().collect(), self.accepted.clone());
                    self.resend_at = now + RESEND;
                    self.send_all(self.reach(), Body::Prepare(self.ballot), out);
                }
                Lead::Preparing(promises, best) => {
                    let (promises, best) = (*promises, best.clone());
                    if !self.is_quorum(promises) {
                        return;
                    }
                    self.lead = Lead::Ready;
                    if let Some((_, entry)) = best {
                        self.propose(now, entry, out);
                    }
                }
                Lead::Ready => {
                    if !self.has_work() {
                        return;
                    }
                    let entry = self.next_entry();
                    self.propose(now, entry, out);
                }
                Lead::Proposing(acks) => {
                    let acks = *acks;
                    if !self.is_quorum(acks) {
                        return;
                    }
                    let Some((_, entry)) = self.accepted.take() else {
                        return;
                    };
                    let others = self.reach();
                    self.apply(now, entry.clone(), out);
                    self.send_all(others, Body::Decided(self.directory.view(), entry), out);
                    // Those who accepted follow this ballot; it serves for the next entry if they are enough there.
                    self.lead = if self.is_quorum(acks) {
                        Lead::Ready
                    } else {
                        Lead::Idle
                    };
                    if self.removed {
                        return;
                    }
                }
            }
        }
    }

    fn propose(&mut self, now: u64, entry: Entry, out: Outbox<'_>) {
        self.accepted = Some((self.ballot, entry));
        self.lead = Lead::Proposing([self.me].into_iter().collect());
        self.resend_at = now + RESEND;
        self.send_proposal(self.reach(), out);
    }

    /// Returns the entry that removes whom this process has lost, admits who has asked, and handles the waiting requests.
    fn next_entry(&self) -> Entry {
        let removed = self.directory.processes().without(self.reach());
        let requests = self.requests.iter().flatten();
        let requests = requests.filter(|request| !removed.contains(request.origin));
        Entry {
            removed,
            admitted: self.admissible(),
            requests: requests.take(BATCH).copied().collect(),
        }
    }
}
