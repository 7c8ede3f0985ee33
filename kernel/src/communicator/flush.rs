//! What leaves after a poll or a call: replies, requested data, held sends, notices. Per peer in that order, until
//! nothing is due or the channel is full.

use super::hold::Question;
use super::lane::Outlet;
use super::loans::{piece, swaps};
use super::operation::{Operation, Step, length};
use super::peer::Pulling;
use super::state::State;
use super::transmit::Stop;
use crate::aspect::{Counters, Length, Maybe, Note, Transfer};
use crate::channel::{ChannelError, Cookie, Sent};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::error::Error;
use crate::frame::{EagerHead, Handle, Kind, LEAD, Writer};
use crate::header::{Header, Node};
use crate::memory::{Bank, Part, Source, Ticket};
use zerocopy::IntoBytes;

impl<H: Header, C: Config> State<H, C> {
    /// Sends what is due; true if anything left.
    #[inline]
    pub(crate) fn flush<L: Outlet>(
        &mut self,
        channel: &mut L,
        bank: &mut impl Bank,
    ) -> Result<bool, Error> {
        if !self.due {
            return Ok(false);
        }
        channel.gather(true);
        let moved = self.flush_due(channel, bank);
        channel.gather(false);
        moved
    }

    /// Lets go of the copies of sends that are over.
    #[inline]
    fn forget_copies(&mut self, bank: &mut impl Bank) {
        while let Some(ended) = self.ended.get_mut()
            && let Some(slot) = ended.first()
        {
            ended.unlink(&mut self.operations, slot);
            let Some(operation) = self.operations.remove(slot) else {
                continue;
            };
            let peer = self.peer(operation.peer);
            if bank.drop_copy(Ticket::new(slot, operation.generation))
                && let Some(copies) = peer.and_then(|peer| peer.copies.get_mut())
            {
                *copies -= 1;
            }
        }
    }

    /// The short way of a message that nothing holds up: no operation, no loan.
    #[inline(always)]
    pub(crate) fn send_now<L: Outlet>(
        &mut self,
        channel: &mut L,
        to: Node,
        header: H,
        message: &impl Source,
    ) -> Result<bool, Error> {
        let len = message.len();
        let eager = self.eager_limit(channel, to);
        let peer = self.peer(to).ok_or(Error::NoSuchNode(to))?;
        if peer.deaf {
            return Err(Error::PeerLost(to));
        }
        // Nothing that is due may be overtaken: it could tell of a cancel.
        if len > eager || peer.credit == 0 || !peer.held.is_empty() || peer.due {
            return Ok(false);
        }
        let Some(part) = piece(message, 0, len, swaps::<C>()) else {
            return Ok(false);
        };
        let lead = peer.lead(Kind::Eager);
        let head = EagerHead { lead, header };
        let parts = [Part::Bytes(head.as_bytes()), part];
        if let Err(error) = channel.try_send_here(to, Cookie::COPY, &parts) {
            return self.not_now(error);
        }
        peer.owed -= u32::from(lead[1]);
        peer.credit -= 1;
        self.counters.note(Note::Sent(len));
        Ok(true)
    }

    #[cold]
    fn not_now(&mut self, error: ChannelError) -> Result<bool, Error> {
        match error {
            ChannelError::Full => return Ok(false),
            ChannelError::PeerLost(node) => self.lose_sends(node),
            _ => {}
        }
        Err(error.into())
    }

    // Out of the way of all who have nothing to send.
    #[inline(never)]
    fn flush_due<L: Outlet>(
        &mut self,
        channel: &mut L,
        bank: &mut impl Bank,
    ) -> Result<bool, Error> {
        self.due = false;
        self.forget_copies(bank);
        let mut moved = false;
        let mut next = 0;
        while let Some(rest) = self.peers.as_mut().get_mut(next..)
            && let Some((index, peer)) = (next..).zip(rest).find(|(_, peer)| peer.due)
        {
            peer.due = false;
            next = index + 1;
            let node = Node(index as u16);
            match self.flush_peer(node, channel, bank, &mut moved) {
                Ok(()) => self.forget_copies(bank),
                Err(Stop::Full) => self.wake(node),
                Err(Stop::Lost) => {
                    self.lose_sends(node);
                    moved = true;
                }
                Err(Stop::Broken(error)) => {
                    self.wake(node);
                    return Err(error.into());
                }
            }
        }
        Ok(moved)
    }

    fn flush_peer<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        bank: &impl Bank,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        if <C::Transfer as Transfer>::RENDEZVOUS {
            // Before anything that could tell the peer of a cancel.
            if self.hold(node).is_some_and(|hold| hold.withdrawn) {
                self.flush_holding(node, channel, moved)?;
            }
            self.flush_replies(node, channel, moved)?;
            self.flush_active(node, channel, bank, moved)?;
        }
        self.flush_held(node, channel, bank, moved)?;
        if <C::Transfer as Transfer>::HINTS {
            // What has just been announced with its data.
            self.flush_active(node, channel, bank, moved)?;
            self.flush_hint(node, channel, moved)?;
        }
        self.flush_notices(node, channel, moved)
    }

    /// Answers to the peer's questions.
    fn flush_replies<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        if <C::Transfer as Transfer>::HINTS {
            self.flush_whole(node, channel, moved)?;
        }
        if let Some((sender, yes)) = self.hold(node).and_then(|hold| hold.revoked) {
            let fields = |w: Writer| w.put(&sender).put(&u8::from(yes));
            self.put(channel, node, Kind::Revoked, fields, None)?;
            *moved = true;
            if let Some(hold) = self.hold(node) {
                hold.revoked = None;
            }
        }
        // A claim before the decline of an offer that crossed it.
        while let Some(probes) = self.probes.get()
            && let Some((generation, sender, claimed)) = probes.verdict(node)
        {
            let kind = if claimed { Kind::Claim } else { Kind::Decline };
            self.put(channel, node, kind, |w| w.put(&sender), None)?;
            *moved = true;
            if let Some(probes) = self.probes.get_mut() {
                probes.drop_question(generation);
            }
        }
        if let Some(sender) = self.hold(node).and_then(|hold| hold.decline) {
            self.put(channel, node, Kind::Decline, |w| w.put(&sender), None)?;
            *moved = true;
            if let Some(hold) = self.hold(node) {
                hold.decline = None;
            }
        }
        self.flush_recall(node, channel, moved)?;
        self.flush_answer(node, channel, moved)
    }

    /// The answer to its question. What a matched probe keeps may be offered to another one.
    fn flush_answer<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        let Some((asker, pattern)) = self.hold(node).and_then(|hold| hold.asked) else {
            return Ok(());
        };
        let found = self.first_held(node, &pattern);
        match found.and_then(|slot| Some((slot, self.held_envelope(slot)?))) {
            Some((slot, (sender, envelope))) => {
                let fields = |w: Writer| {
                    w.put(&asker)
                        .put(&sender)
                        .put(&length::<C>(envelope.len()))
                        .put(&envelope.header())
                };
                self.put(channel, node, Kind::Offer, fields, None)?;
                self.offered(node, slot);
            }
            None => {
                self.put(channel, node, Kind::None, |w| w.put(&asker), None)?;
                if let Some(hold) = self.hold(node) {
                    hold.silent = true;
                }
            }
        }
        *moved = true;
        if let Some(hold) = self.hold(node) {
            hold.asked = None;
        }
        Ok(())
    }

    /// An offered message was cancelled, and the peer may be keeping the offer open.
    fn flush_recall<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        if self
            .hold(node)
            .is_none_or(|hold| !hold.recall || hold.revoking)
        {
            return Ok(());
        }
        let recalled = self.recalled(node);
        if let Some(me) = recalled {
            self.put(channel, node, Kind::Revoke, |w| w.put(&me.handle()), None)?;
            *moved = true;
            if let Some(operation) = self.operations.get_mut(me.slot())
                && let Step::Offered { asked, .. } = &mut operation.step
            {
                *asked = true;
            }
        }
        if let Some(hold) = self.hold(node) {
            hold.recall = recalled.is_some();
            hold.revoking = recalled.is_some();
        }
        Ok(())
    }

    /// `None` for what was cancelled after it was offered.
    fn held_envelope(&self, slot: u32) -> Option<(Handle, Envelope<H, C>)> {
        let operation = self.operations.get(slot)?;
        if matches!(operation.step, Step::Offered { cancel: true, .. }) {
            return None;
        }
        let generation = operation.generation;
        Some((Ticket::new(slot, generation).handle(), operation.envelope?))
    }

    /// Requests, requested data, withdrawals.
    fn flush_active<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        bank: &impl Bank,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        let mut at = self.hold(node).and_then(|hold| hold.active.first());
        while let Some(slot) = at {
            let active = self.hold(node).map(|hold| hold.active);
            at = active.and_then(|active| active.after(&self.operations, slot));
            let Some(operation) = self.operations.get(slot) else {
                continue;
            };
            let generation = operation.generation;
            let me = Ticket::new(slot, generation);
            match operation.step {
                Step::Requesting { sender, room } => {
                    let len = operation.envelope.as_ref().map_or(0, Envelope::len);
                    let want = len.min(room);
                    let fields =
                        |w: Writer| w.put(&sender).put(&me.handle()).put(&length::<C>(want));
                    self.put(channel, node, Kind::Request, fields, None)?;
                    self.asked_for(node, slot, want);
                }
                Step::Requested { .. } | Step::Ahead { .. } => {
                    self.stream(node, me, channel, bank, moved)?;
                }
                Step::Aborting { to } => {
                    self.put(
                        channel,
                        node,
                        Kind::Abort,
                        |w| self::to::<C>(w, to, me),
                        None,
                    )?;
                    self.deactivate(node, slot);
                    self.complete(slot, Err(Error::Revoked));
                }
                Step::Quitting { to } => {
                    self.put(
                        channel,
                        node,
                        Kind::Abort,
                        |w| self::to::<C>(w, to, me),
                        None,
                    )?;
                    if let Some(operation) = self.operations.get_mut(slot) {
                        operation.step = Step::Revoking { asked: false };
                    }
                    self.wake(node);
                }
                Step::Revoking { asked: false } => {
                    if self.hold(node).is_none_or(|hold| hold.revoking) {
                        continue;
                    }
                    self.put(channel, node, Kind::Revoke, |w| w.put(&me.handle()), None)?;
                    self.deactivate(node, slot);
                    if let Some(hold) = self.hold(node) {
                        hold.revoking = true;
                    }
                    if let Some(operation) = self.operations.get_mut(slot) {
                        operation.step = Step::Revoking { asked: true };
                    }
                }
                _ => self.deactivate(node, slot),
            }
            *moved = true;
        }
        Ok(())
    }

    /// The request has left: data will come.
    fn asked_for(&mut self, node: Node, slot: u32, want: usize) {
        self.deactivate(node, slot);
        let Some(operation) = self.operations.get_mut(slot) else {
            return;
        };
        operation.step = Step::Receiving {
            want: length::<C>(want),
            got: length::<C>(0),
        };
        if want == 0
            && let Some(envelope) = operation.envelope
        {
            self.deliver(slot, envelope, 0);
        }
    }

    /// Sends as much of a requested message as the channel takes.
    fn stream<L: Outlet>(
        &mut self,
        node: Node,
        me: Ticket,
        channel: &mut L,
        bank: &impl Bank,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        let names = 1 + usize::from(<C::Transfer as Transfer>::HINTS);
        let head = LEAD + names * size_of::<Handle>() + size_of::<C::Length>();
        let most = channel.limit(node) - head;
        loop {
            let Some(operation) = self.operations.get_mut(me.slot()) else {
                return Ok(());
            };
            let (to, want, next) = match operation.step {
                Step::Requested { to, want, next } | Step::Ahead { to, want, next, .. } => {
                    (to, want.get(), next.get())
                }
                _ => return Ok(()),
            };
            // What goes ahead may not be wanted.
            let whole = next == 0
                && !<C::Transfer as Transfer>::HINTS
                && channel.offers(node, want)
                && fixed(bank.part(me, 0, want));
            let len = if whole { want } else { most.min(want - next) };
            let Some(part) = bank.part(me, next, len) else {
                // The loan is dead; the active queue comes back to it.
                operation.step = match operation.step {
                    Step::Ahead { .. } => Step::Quitting { to },
                    _ => Step::Aborting { to },
                };
                self.wake(node);
                return Ok(());
            };
            let fields = |w: Writer| self::to::<C>(w, to, me).put(&length::<C>(next));
            let payload = Some((Cookie(me.to_bits()), part));
            let sent = self.put(channel, node, Kind::Data, fields, payload)?;
            *moved = true;
            self.note_streamed(me.slot(), sent, len);
            if next + len == want {
                self.streamed(node, me.slot());
                return Ok(());
            }
        }
    }

    fn note_streamed(&mut self, slot: u32, sent: Sent, len: usize) {
        if let Some(operation) = self.operations.get_mut(slot) {
            if let Step::Requested { next, .. } | Step::Ahead { next, .. } = &mut operation.step {
                *next = length::<C>(next.get() + len);
            }
            operation.note_flight(sent);
        }
    }

    /// All that was wanted has left.
    fn streamed(&mut self, node: Node, slot: u32) {
        let Some(operation) = self.operations.get_mut(slot) else {
            return;
        };
        let len = operation.envelope.as_ref().map_or(0, Envelope::len);
        match operation.step {
            Step::Ahead { cancel: true, .. } => {
                operation.step = Step::Revoking { asked: false };
                self.wake(node);
            }
            Step::Ahead { .. } => {
                operation.step = Step::Announced;
                self.deactivate(node, slot);
            }
            _ => {
                self.deactivate(node, slot);
                self.leave(slot, Sent::Done, len);
            }
        }
    }

    /// Every byte of a message of that length has left, the last ones as `sent` says.
    #[inline]
    fn leave(&mut self, slot: u32, sent: Sent, len: usize) {
        if let Some(operation) = self.operations.get_mut(slot) {
            operation.note_flight(sent);
            if sent == Sent::Later || operation.is_in_flight() {
                let again = match operation.step {
                    Step::Requested { to, want, .. } => Some((to, want)),
                    _ => None,
                };
                operation.step = Step::Leaving { again };
            } else if operation.finish(Ok(len)) {
                self.discard(slot);
            }
        }
    }

    /// Held sends, in order, while there is credit.
    #[inline]
    fn flush_held<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        bank: &impl Bank,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        loop {
            let Some(peer) = self.peers.as_ref().get(node.index()) else {
                return Ok(());
            };
            if peer.credit == 0 {
                return Ok(());
            }
            let Some(slot) = peer.held.first() else {
                return Ok(());
            };
            let Some(operation) = self.operations.get(slot) else {
                return Ok(());
            };
            let Some(envelope) = operation.envelope else {
                return Ok(());
            };
            // Without rendezvous nothing is offered and nothing announced.
            let announce = match operation.step {
                _ if !<C::Transfer as Transfer>::RENDEZVOUS => false,
                Step::Held { announce } => announce,
                _ => return Ok(()),
            };
            let generation = operation.generation;
            let me = Ticket::new(slot, generation);
            if announce && self.flush_ahead(node, me, envelope, channel)? {
                // Its payload follows.
            } else if announce {
                let fields = |w: Writer| {
                    w.put(&envelope.header())
                        .put(&length::<C>(envelope.len()))
                        .put(&me.handle())
                };
                self.put(channel, node, Kind::Announce, fields, None)?;
                self.left_held(node, slot);
                if let Some(operation) = self.operations.get_mut(slot) {
                    operation.step = Step::Announced;
                }
            } else {
                let Some(part) = bank.part(me, 0, envelope.len()) else {
                    return Ok(());
                };
                let Some(peer) = self.peers.as_mut().get_mut(node.index()) else {
                    return Ok(());
                };
                let (lead, header) = (peer.lead(Kind::Eager), envelope.header());
                let head = EagerHead { lead, header };
                let parts = [Part::Bytes(head.as_bytes()), part];
                let sent = channel.try_send_here(node, Cookie(me.to_bits()), &parts)?;
                peer.owed -= u32::from(lead[1]);
                self.left_held(node, slot);
                self.leave(slot, sent, envelope.len());
            }
            *moved = true;
        }
    }

    /// "I hold messages", or none any more.
    fn flush_holding<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        // After "none any more" there may be "some" again, and then there is nothing more to say.
        while let Some(holds) = self.peer(node).and_then(|peer| peer.hold_notice()) {
            self.put(channel, node, Kind::Hold, |w| w.put(&u8::from(holds)), None)?;
            *moved = true;
            if holds {
                self.counters.note(Note::Held);
            }
            if let Some(hold) = self.hold(node) {
                hold.told = holds;
                hold.silent = false;
                hold.fresh = false;
                hold.withdrawn = false;
            }
        }
        Ok(())
    }

    /// What it holds, questions to holders, credit that no other frame has carried.
    fn flush_notices<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        self.flush_holding(node, channel, moved)?;
        if let Some(question) = self.question(node) {
            let (handle, pattern) = match question {
                Question::Receive(handle, pattern, _) | Question::Probe(handle, pattern, _) => {
                    (handle, pattern)
                }
            };
            let fields = |w: Writer| w.put(&handle).put(&pattern);
            self.put(channel, node, Kind::Pull, fields, None)?;
            *moved = true;
            self.counters.note(Note::Pulled);
            if let Some(hold) = self.hold(node) {
                match question {
                    Question::Receive(_, _, sequence) => {
                        hold.pulling = Pulling::Receive;
                        hold.pulled = sequence;
                    }
                    Question::Probe(_, _, generation) => {
                        hold.pulling = Pulling::Probe(generation);
                        hold.probed = generation;
                    }
                }
            }
        }
        let credit = self.credit;
        if self.peer(node).is_some_and(|peer| peer.owes_credit(credit)) {
            self.put(channel, node, Kind::Credit, |w| w, None)?;
            *moved = true;
        }
        Ok(())
    }
}

/// Names the receiver's operation, and the sender's where that is needed.
fn to<C: Config>(writer: Writer, to: Handle, me: Ticket) -> Writer {
    let writer = writer.put(&to);
    if <C::Transfer as Transfer>::HINTS {
        writer.put(&me.handle())
    } else {
        writer
    }
}

impl<H: Header, C: Config> Operation<H, C> {
    #[inline]
    fn note_flight(&mut self, sent: Sent) {
        if let Some(frames) = self.in_flight.get_mut() {
            *frames += u32::from(sent == Sent::Later);
        }
    }
}

/// May a peer read it where it lies?
fn fixed(part: Option<Part<'_>>) -> bool {
    part.and_then(|part| part.fixed()).is_some()
}
