//! One rank's channel: [`Shm`]. Programs attach it to a segment; `bootstrap` does so for ranks without a launcher.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use pombo_kernel::channel::{Channel, ChannelError, Cookie, Event, FrameHandler, Sent, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_transport::LocalChannel;

use super::collective::Groups;
use super::connection::Connection;
use super::error::ShmError;
use super::event_count::{Park, WaitFor};
use super::futex::Futex;
use super::layout::{FRAME_LIMIT, MAX_RANKS};
use super::long_frames::FreeCells;
use super::membership::Membership;
use super::pid_monitor;
use super::questions::Question;
use super::received_frame::{ClosureHandler, EventHandler, Frame, FrameHandlerAdapter};
use super::ring::RingError;
use super::segment::{RankState, Segment};
use super::single_copy::PendingReads;
use super::sync::Ordering;
use super::wait_policy;
use super::wake_socket::{PollPark, WakeSocket};
use crate::deaths::DeathSource;
use crate::tuning::{
    BACKOFF_SLEEP, BURST_FRAME, FAST_PATHS, LONG_FRAME, LONG_FRAMES_ROOM, LOOKS_PER_POLL,
    MAX_SOCKET_SLEEP, POLLS_PER_PROCESS_CHECK, SHORT_SLEEP,
};
use crate::wait::clock::LookTiming;
use crate::wait::yield_policy::YieldPolicy;
use crate::wait::{self, WaitPolicy, WaitStep};

/// One rank's channel. If it is dropped without [`Shm::finish`], the rank counts as dead.
pub struct Shm {
    pub(super) park: Futex,
    pub(super) wait_policy: WaitPolicy,
    yield_policy: YieldPolicy,
    pub(super) connections: Vec<Connection>,
    /// Peers to poll: those that ever sent, and those whose loss is to be reported.
    active: Vec<u16>,
    /// The index in `active` at which the next poll starts.
    next_active: usize,
    /// The peer whose mail a wait has found since the last poll, which the next poll takes first.
    pub(super) answered_by: Option<u16>,
    /// The peers that ever sent, as bits.
    senders: [u64; MAX_RANKS / 64],
    /// Peers that had no room since this rank last slept.
    blocked: Vec<u16>,
    /// Idle polls since the last check of the others' processes.
    idle_polls: u32,
    /// Number of peers of which this rank may still look for mails.
    pub(super) invitations: u32,
    /// The longest frame in bytes.
    limit: u32,
    pub(super) timing: LookTiming,
    pub(super) groups: Groups,
    pub(super) pending_reads: PendingReads,
    /// Medium frames that follow each other lie in cells.
    burst_cells: bool,
    /// Whether the first data of long messages may follow their announcements.
    early_data: bool,
    /// Room for this rank's next long frames, with the fast paths alone.
    pub(super) free_cells: Option<FreeCells>,
    /// The socket at which this rank sleeps if it waits for a network too.
    pub(super) wake_socket: Option<WakeSocket>,
    /// The last question for which this rank has woken, and the last one that it has answered.
    seen_question: Question,
    answered: Question,
    /// The last field, as the connections and the groups point into its segment.
    pub(super) members: Membership,
}

/// Number of mail lines that a rank looks at: polls of a rank with more peers stay short.
const MAIL_LINES: u32 = 4;
/// Most frames that one poll takes from one peer before it polls the next.
pub const FRAMES_PER_PEER: usize = 32;
/// Most frames that one poll takes in all.
pub const FRAMES_PER_POLL: usize = 64;

impl Shm {
    /// Attaches to the segment as this rank. All ranks must pass the same fingerprint of their composition.
    ///
    /// # Errors
    /// [`ShmError::NoSuchRank`], [`ShmError::RankTaken`], [`ShmError::Fingerprint`], or [`ShmError::System`].
    pub fn attach(segment: Segment, rank: usize, fingerprint: u64) -> Result<Self, ShmError> {
        Ok(*Self::attach_boxed(segment, rank, fingerprint)?)
    }

    /// Attaches as [`attach`](Self::attach) does, with the channel in its own memory.
    ///
    /// # Errors
    /// As [`attach`](Self::attach).
    pub fn attach_boxed(
        segment: Segment,
        rank: usize,
        fingerprint: u64,
    ) -> Result<Box<Self>, ShmError> {
        let ranks = segment.ranks();
        let asymmetric = segment.header().asymmetric.load(Ordering::Relaxed) != 0;
        let park = Futex::new(asymmetric)?;
        wait_policy::publish_cpus(&segment);
        segment.claim(rank, fingerprint)?;
        segment.set_pid(rank, pid_monitor::pid());
        let connections = (0..ranks).map(|connection| {
            // SAFETY: the connections are dropped before the segment; this rank was claimed, so nobody else has them.
            unsafe { Connection::new(&segment, rank, connection) }
        });
        let free_cells = FAST_PATHS.then(|| {
            // SAFETY: `FreeCells` is dropped before the segment; this rank was claimed, so nobody else has its cells but who has
            // got them from it.
            let cells = unsafe { segment.long_cells(rank) };
            let bytes = segment.second_level().saturating_mul(LONG_FRAMES_ROOM);
            FreeCells::new(cells, bytes, ranks - 1)
        });
        let mut shm = Box::new(Self {
            park,
            wait_policy: wait_policy::of(&segment),
            yield_policy: YieldPolicy::default(),
            connections: connections.collect(),
            active: Vec::with_capacity(ranks),
            next_active: 0,
            answered_by: None,
            senders: [0; MAX_RANKS / 64],
            blocked: Vec::with_capacity(ranks),
            idle_polls: 0,
            invitations: MAIL_LINES,
            limit: segment.frame_limit() as u32,
            timing: match FAST_PATHS {
                true => LookTiming::measure(),
                false => LookTiming::default(),
            },
            groups: Groups::default(),
            pending_reads: PendingReads::default(),
            burst_cells: FAST_PATHS,
            early_data: FAST_PATHS,
            free_cells,
            wake_socket: None,
            seen_question: 0,
            answered: 0,
            members: Membership::new(segment, Peer(rank as u16)),
        });
        shm.refresh_membership();
        Ok(shm)
    }

    /// Creates a world of one, without a launcher.
    ///
    /// # Errors
    /// [`ShmError::System`].
    pub fn alone() -> Result<Box<Self>, ShmError> {
        Self::attach_boxed(Segment::create(1, 0)?, 0, 0)
    }

    /// Detaches in good order: the peers still get what was sent, and sends fail from now on.
    pub fn finish(&mut self) {
        self.members.leave(RankState::Finished);
        self.connections
            .iter_mut()
            .for_each(|connection| connection.closed = true);
        self.pending_reads.disable();
    }

    /// Keeps this rank from going back to the beginning of a ring while the receiver is close behind, by which the lines
    /// in use stay few.
    pub fn disable_ring_restart(&mut self) {
        for connection in &mut self.connections {
            connection.outbound.disable_restarts();
        }
    }

    /// Sets whether short messages to a peer that answers each go through a line of their own instead of the ring, which
    /// is quicker. It is for a caller that has not sent yet.
    pub fn set_mail(&mut self, on: bool) {
        self.invitations = if on { MAIL_LINES } else { 0 };
    }

    /// Sets whether this rank, once it has caught up with a burst of messages, lets the peer write on for a moment before it
    /// looks for the next one: see [`BURST_PAUSE`](crate::tuning::BURST_PAUSE).
    pub fn set_burst_pause(&mut self, on: bool) {
        if !on {
            self.timing.burst = 0;
        }
    }

    /// Sets whether medium frames that follow each other lie in cells, as long ones do: see
    /// [`BURST_FRAME`](crate::tuning::BURST_FRAME).
    pub fn set_burst_cells(&mut self, on: bool) {
        self.burst_cells = FAST_PATHS && on;
    }

    /// Sets whether this rank gives cells of its own to ranks that answer its long frames, who write there then, as ranks that
    /// exchange blocks on boards do. It is for a caller that has not sent yet, and is in no group.
    pub fn set_passed_cells(&mut self, on: bool) {
        if let Some(free) = self.free_cells.as_mut().filter(|_| !on) {
            free.give_none();
        }
    }

    /// Sets whether the first data of a long message may follow its announcement at once.
    pub fn set_early_data(&mut self, on: bool) {
        self.early_data = on;
    }

    /// Returns the number of idle polls in a row after which a wait sleeps.
    #[inline]
    pub fn polls_before_sleep(&self) -> u32 {
        self.wait_policy.polls_before_sleep()
    }

    /// Returns the segment, for the states of the other ranks.
    pub fn segment(&self) -> &Segment {
        &self.members.segment
    }

    /// Returns the question that this rank has not answered, if there is one.
    #[inline]
    pub fn open_question(&self) -> Option<Question> {
        let question = self.segment().question();
        (question != self.answered).then_some(question)
    }

    /// Answers a question, with at most [`MAX_ANSWER`](super::MAX_ANSWER) bytes of text.
    pub fn answer(&mut self, question: Question, text: &[u8]) {
        let rank = self.me().index();
        self.segment().set_answer(rank, question, text);
        self.answered = question;
    }

    /// Returns the source of the deaths of other ranks.
    pub fn deaths(&self) -> &dyn DeathSource {
        &self.members
    }

    /// Detects new peers and lost ones.
    #[cold]
    fn refresh_membership(&mut self) {
        let Self {
            members,
            connections,
            active,
            ..
        } = self;
        let epoch = members.epoch;
        members.poll_deaths(wait::now(), &mut |peer| {
            if connections[peer.index()].end() {
                activate(active, peer);
            }
        });
        if members.epoch != epoch {
            self.wait_policy = wait_policy::of(&members.segment);
        }
    }

    /// Returns the peers of this word that have sent for the first time, as bits.
    #[inline]
    fn new_senders(&self, word: usize) -> u64 {
        let control = self.members.segment.control(self.members.me.index());
        control.senders.0[word].load(Ordering::Acquire) & !self.senders[word]
    }

    #[inline]
    fn words(&self) -> core::ops::Range<usize> {
        0..self.connections.len().div_ceil(64)
    }

    #[cold]
    fn add_senders(&mut self, word: usize, mut bits: u64) {
        self.senders[word] |= bits;
        while bits != 0 {
            let rank = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // Bits beyond the last rank are invalid.
            if rank < self.connections.len() && !self.connections[rank].is_reported() {
                activate(&mut self.active, Peer(rank as u16));
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sleep(&mut self, park: &impl Park, limit: u64) {
        let limit = limit.min(self.members.max_sleep());
        let limit = (limit < u64::MAX).then_some(Duration::from_nanos(limit));
        let until = if self.blocked.is_empty() && self.pending_reads.are_acknowledged() {
            WaitFor::Frame
        } else {
            WaitFor::Room
        };
        let control = self.members.segment.control(self.members.me.index());
        control
            .event_count
            .0
            .sleep(until, self.groups.awaited_board(), limit, park, || {
                self.has_pending()
            });
        self.blocked.clear();
        self.seen_question = self.members.segment.question();
        self.monitor_peers();
    }

    #[cold]
    fn sleep_with(&mut self, other: WaitSet) {
        let futex = self.park;
        let Some(wake_socket) = self.wake_socket.take().or_else(WakeSocket::open) else {
            let nap = other.timeout.min(SHORT_SLEEP);
            return self.sleep(&futex, nap);
        };
        let park = PollPark {
            futex,
            wake_socket: &wake_socket,
            sources: other,
            max_sleep: MAX_SOCKET_SLEEP,
        };
        self.sleep(&park, u64::MAX);
        self.wake_socket = Some(wake_socket);
    }

    fn monitor_peers(&mut self) {
        self.idle_polls = 0;
        if self.members.is_monitoring() {
            self.refresh_membership();
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        let of = |rank: &u16| &self.connections[usize::from(*rank)];
        self.members.has_changed()
            || self.seen_question != self.members.segment.question()
            || self.words().any(|word| self.new_senders(word) != 0)
            || self.active.iter().any(|rank| of(rank).has_pending())
            || self
                .blocked
                .iter()
                .any(|rank| of(rank).outbound.has_more_room())
            || self.groups.have_pending()
            || FAST_PATHS && self.has_acks()
    }
}

impl Channel for Shm {
    type Arrival<'a> = Frame<'a>;

    pombo_kernel::channel_defaults! { set_corked, wait_sources }

    #[inline]
    fn me(&self) -> Peer {
        self.members.me
    }

    #[inline]
    fn peers(&self) -> usize {
        self.connections.len()
    }

    #[inline]
    fn limit(&self, _to: Peer) -> usize {
        self.limit as usize
    }

    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        self.favours_single_copy(to, len, both_ways) && self.can_single_copy(to, len)
    }

    fn favours_early_data(&self, to: Peer) -> bool {
        self.early_data && self.wait_policy.spins() && to != self.members.me
    }

    #[cfg_attr(feature = "fast-paths", inline(always))]
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        if self.members.has_changed() {
            self.refresh_membership();
        }
        let index = to.index();
        let connection = self.connections.get_mut(index);
        let connection = connection.ok_or(ChannelError::NoSuchPeer(to))?;
        let len = Part::total(parts);
        if len >= BURST_FRAME
            && (len >= LONG_FRAME
                || self.burst_cells
                    && self.wait_policy.spins()
                    && connection.suits_cell(len, self.timing))
        {
            return self.send_long(to, cookie, parts);
        }
        if connection.closed {
            return Err(ChannelError::PeerLost(to));
        }
        if connection.mail.suits(len) && self.invitations > 0 && self.wait_policy.spins() {
            self.invitations -= 1;
            connection.push_mail(len, parts, self.timing);
            announce(connection, &self.members, to, &self.park);
            return Ok(Sent::Done);
        }
        if connection.mail.can_open() && self.invitations > 0 && self.wait_policy.spins() {
            self.invitations -= 1;
            connection.mail.open();
        }
        if let Err(error) = connection.push(len, parts) {
            return Err(self.ring_failed(to, error));
        }
        announce(connection, &self.members, to, &self.park);
        Ok(Sent::Done)
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(Event<Frame<'_>>)) -> Result<bool, ChannelError> {
        self.poll_connections(&mut ClosureHandler(f))
    }

    #[inline(always)]
    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError> {
        self.poll_connections(&mut FrameHandlerAdapter(handler))
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.wait_step(idle, u64::MAX);
        Ok(())
    }

    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        self.wait_step(idle, nanoseconds);
        Ok(())
    }

    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        match self.step(idle) {
            WaitStep::ShortSleep | WaitStep::Sleep if other.timeout == 0 => {}
            WaitStep::ShortSleep => self.sleep_with(other.at_most(BACKOFF_SLEEP)),
            WaitStep::Sleep => self.sleep_with(other),
            _ => self.wait_step(idle, u64::MAX),
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        wait::now()
    }
}

impl Shm {
    #[inline(always)]
    fn poll_connections(&mut self, handler: &mut impl EventHandler) -> Result<bool, ChannelError> {
        let mut any = false;
        if FAST_PATHS
            && let Some(rank) = self.answered_by.take()
            && self.connections[usize::from(rank)].take_mail(handler)
        {
            self.invitations += 1;
            // The poll before the wait has looked at all else.
            if handler.is_satisfied() {
                return Ok(true);
            }
            any = true;
        }
        if self.members.has_changed() {
            self.refresh_membership();
        }
        for word in self.words() {
            let bits = self.new_senders(word);
            if bits != 0 {
                self.add_senders(word, bits);
            }
        }
        let mut timing = self.timing;
        if !self.wait_policy.spins() {
            // Whoever shares a processor with the peer keeps it from writing by waiting.
            timing.burst = 0;
        }
        let mut frames = 0;
        if !self.pending_reads.are_acknowledged() {
            any |= self.report_acks(handler);
        }
        for _ in 0..self.active.len() {
            if self.next_active >= self.active.len() {
                self.next_active = 0;
            }
            let rank = self.active[self.next_active];
            let most = FRAMES_PER_PEER.min(FRAMES_PER_POLL - frames);
            let connection = &mut self.connections[usize::from(rank)];
            let was_open = connection.mail.is_open();
            let served = connection.serve(most, timing, handler);
            if was_open && !connection.mail.is_open() {
                self.invitations += 1;
            }
            if served.frames > 0 {
                connection.event_count().notify(WaitFor::Room, &self.park);
            }
            frames += served.frames;
            any |= served.frames > 0 || served.lost;
            if served.lost {
                self.pending_reads.forget_peer(Peer(rank));
                self.active.swap_remove(self.next_active);
            } else {
                self.next_active += 1;
            }
            if frames == FRAMES_PER_POLL || handler.is_satisfied() {
                break;
            }
        }
        if !any && self.members.is_monitoring() {
            self.idle_polls += 1;
            if self.idle_polls == POLLS_PER_PROCESS_CHECK {
                self.monitor_peers();
            }
        }
        Ok(any)
    }

    /// Polls the rings and mail lines of known peers several times.
    fn poll_active(&mut self) {
        for _ in 0..LOOKS_PER_POLL {
            for rank in &self.active {
                let connection = &mut self.connections[usize::from(*rank)];
                if connection.has_mail_now(self.timing) {
                    self.answered_by = Some(*rank);
                    return;
                }
                if connection.has_pending_now(self.timing) {
                    return;
                }
            }
        }
    }

    /// Returns the next step of waiting: a short sleep replaces yields while they do not pay.
    #[inline]
    fn step(&self, idle: u32) -> WaitStep {
        let yields_pay = || self.members.segment.header().backoff.0.is_over();
        self.wait_policy.step_if(idle, yields_pay)
    }

    /// Executes one step of waiting. Never inlined, so that calls that wait stay short.
    #[inline(never)]
    fn wait_step(&mut self, idle: u32, limit: u64) {
        if !FAST_PATHS {
            return match self.yield_policy.briefly(idle) {
                true => {}
                false => self.sleep(&{ self.park }, limit),
            };
        }
        match self.step(idle) {
            WaitStep::Poll => self.poll_active(),
            WaitStep::Spin => core::hint::spin_loop(),
            WaitStep::Yield => self
                .yield_policy
                .yield_cpu(&self.members.segment.header().backoff.0),
            WaitStep::ShortSleep => self.sleep(&{ self.park }, limit.min(BACKOFF_SLEEP)),
            WaitStep::Sleep => self.sleep(&{ self.park }, limit),
        }
    }

    /// Sends a frame to one of the peers as [`Channel::try_send`] does, for a caller to whom time does not matter: by the
    /// function for long frames, which is not inlined.
    ///
    /// # Errors
    /// As [`Channel::try_send`].
    pub fn send_slowly(&mut self, to: Peer, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        match to.index() < self.connections.len() {
            true => self.send_long(to, Cookie::COPY, parts).map(drop),
            false => Err(ChannelError::NoSuchPeer(to)),
        }
    }

    /// Sends a frame of [`LONG_FRAME`] bytes or more, or one of a burst.
    #[cold]
    #[inline(never)]
    fn send_long(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let len = Part::total(parts);
        if len > FRAME_LIMIT {
            return match FAST_PATHS {
                true => self.expose(to, cookie, parts),
                false => Err(ChannelError::TooLong { limit: FRAME_LIMIT }),
            };
        }
        let connection = &self.connections[to.index()];
        if connection.closed {
            return Err(ChannelError::PeerLost(to));
        }
        // A reader on the same processor finds what the ring holds in its caches.
        let mut pushed = match FAST_PATHS && self.wait_policy.spins() {
            true => self.push_long(to, len, parts),
            false => Ok(false),
        };
        let connection = &mut self.connections[to.index()];
        if pushed == Ok(false) {
            pushed = connection.push(len, parts).map(|()| true);
        }
        if let Err(error) = pushed {
            return Err(self.ring_failed(to, error));
        }
        announce(connection, &self.members, to, &self.park);
        Ok(Sent::Done)
    }

    /// Sends a long frame in a cell; returns false if all cells hold frames that their receivers have not read.
    fn push_long(&mut self, to: Peer, len: usize, parts: &[Part<'_>]) -> Result<bool, RingError> {
        let Some(free) = &mut self.free_cells else {
            return Ok(false);
        };
        if self.connections[to.index()].push_long(free, len, parts)? {
            return Ok(true);
        }
        for connection in &mut self.connections {
            connection.reclaim(free);
        }
        let connection = &mut self.connections[to.index()];
        let pushed = connection.push_long(free, len, parts)?;
        if !pushed {
            connection.outbound_burst.end();
        }
        Ok(pushed)
    }

    #[cold]
    pub(super) fn ring_failed(&mut self, to: Peer, error: RingError) -> ChannelError {
        if error == RingError::Full {
            if !self.blocked.contains(&to.0) {
                self.blocked.push(to.0);
            }
            return ChannelError::Full;
        }
        // The consumer's position is invalid: the connection is closed, whatever the peer still reads.
        if self.connections[to.index()].close() {
            activate(&mut self.active, to);
        }
        ChannelError::PeerLost(to)
    }
}

/// Adds a peer to those that are polled.
fn activate(active: &mut Vec<u16>, peer: Peer) {
    if !active.contains(&peer.0) {
        active.push(peer.0);
    }
}

/// Tells a peer of the frame that this rank has just written for it.
#[cfg_attr(feature = "fast-paths", inline(always))]
pub(super) fn announce(connection: &mut Connection, members: &Membership, to: Peer, park: &Futex) {
    if !connection.announced {
        let me = members.me.index();
        let senders = &members.segment.control(to.index()).senders.0[me / 64];
        senders.fetch_or(1 << (me % 64), Ordering::Release);
        connection.announced = true;
    }
    connection.event_count().notify(WaitFor::Frame, park);
}

impl LocalChannel for Shm {
    fn set_names(&mut self, names: &[Peer]) {
        for (connection, &name) in self.connections.iter_mut().zip(names) {
            connection.name = name;
        }
    }
}

/// For builds whose start passes the channel on: each of its functions is that of the channel in the box.
impl Channel for Box<Shm> {
    type Arrival<'a> = Frame<'a>;

    pombo_kernel::channel_defaults! { set_corked, wait_sources }

    #[inline]
    fn me(&self) -> Peer {
        (**self).me()
    }

    #[inline]
    fn peers(&self) -> usize {
        (**self).peers()
    }

    #[inline]
    fn limit(&self, to: Peer) -> usize {
        (**self).limit(to)
    }

    #[inline]
    fn supports_single_copy(&self, to: Peer, len: usize, both_ways: bool) -> bool {
        (**self).supports_single_copy(to, len, both_ways)
    }

    #[inline]
    fn favours_early_data(&self, to: Peer) -> bool {
        (**self).favours_early_data(to)
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        (**self).try_send(to, cookie, parts)
    }

    #[inline]
    fn poll(&mut self, f: impl FnMut(Event<Frame<'_>>)) -> Result<bool, ChannelError> {
        (**self).poll(f)
    }

    #[inline(always)]
    fn poll_with(&mut self, handler: &mut impl FrameHandler) -> Result<bool, ChannelError> {
        (**self).poll_with(handler)
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        (**self).wait(idle)
    }

    #[inline]
    fn wait_timeout(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        (**self).wait_timeout(idle, nanoseconds)
    }

    #[inline]
    fn wait_with(&mut self, idle: u32, other: WaitSet) -> Result<(), ChannelError> {
        (**self).wait_with(idle, other)
    }

    #[inline]
    fn now(&self) -> u64 {
        (**self).now()
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.members.leave(RankState::Dead);
    }
}
