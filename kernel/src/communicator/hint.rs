//! Receiver-first: a receiver says which message it waits for, and the sender's data may follow its announce unasked.
//!
//! A hint claims nothing. Only the receive that any message of that peer would meet first is hinted, one per peer at a
//! time. The announce is matched as any other; if it meets another receive than the hinted one, or none, the data is
//! dropped where it arrives and the message stays announced: its sender keeps the buffer until the receiver says that
//! the data is whole, or asks for it. Source: the EPOS communication system, section 3.3 (the requested queue).

use super::lane::Outlet;
use super::operation::{Step, length};
use super::peer::{Hints, Ours};
use super::state::State;
use super::transmit::Stop;
use crate::aspect::{Length, Maybe, Transfer};
use crate::config::Config;
use crate::envelope::Envelope;
use crate::frame::{Handle, Kind, Writer};
use crate::header::{Header, Node, Pattern};
use crate::matching::Expected;
use crate::memory::Ticket;

impl<H: Header, C: Config> State<H, C> {
    fn hints(&mut self, node: Node) -> Option<&mut Hints<H>> {
        if !<C::Transfer as Transfer>::HINTS {
            return None;
        }
        self.peer(node)?.hints.get_mut()
    }

    /// A receive of that node's messages was posted.
    #[inline]
    pub(super) fn want_hint(&mut self, node: Node) {
        if let Some(hints) = self.hints(node) {
            hints.due = true;
            self.wake(node);
        }
    }

    /// Tells the peer of the first receive that could take a message of its, if it is for the peer's alone, and for
    /// long ones.
    pub(super) fn flush_hint<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        let free = match self.hints(node).map(|hints| (hints.due, hints.ours)) {
            Some((true, Ours::No)) => true,
            // It has found another message, or was cancelled: the hint is void.
            Some((true, Ours::Out(ticket))) => self
                .operation(ticket)
                .is_none_or(|operation| !matches!(operation.step, Step::Posted { .. })),
            _ => false,
        };
        if !free {
            return Ok(());
        }
        let eager = self.eager_limit(channel, node);
        let first = self.expected.following(0, node);
        let first = first.filter(|posted| posted.pattern.source() == Some(node));
        if let Some(posted) = first
            && let Some(operation) = self.operations.get(posted.slot)
            && let Step::Posted { room, .. } = operation.step
            && room > eager
        {
            let (slot, generation) = (posted.slot, operation.generation);
            let me = Ticket::new(slot, generation);
            let room = C::Length::new(room).unwrap_or_else(|| length::<C>(u32::MAX as usize));
            let fields = |w: Writer| w.put(&me.handle()).put(&room).put(&posted.pattern);
            self.put(channel, node, Kind::Hint, fields, None)?;
            *moved = true;
            if let Some(hints) = self.hints(node) {
                hints.ours = Ours::Out(me);
            }
        }
        if let Some(hints) = self.hints(node) {
            hints.due = false;
        }
        Ok(())
    }

    /// The peer waits for such a message.
    pub(super) fn hinted(
        &mut self,
        from: Node,
        receiver: Handle,
        room: usize,
        pattern: H::Pattern,
    ) -> Option<()> {
        self.hints(from)?.wanted = Some((receiver, pattern, room)).filter(|_| room > 0);
        Some(())
    }

    /// Announces the first held message with its data behind it, if the peer waits for it.
    pub(super) fn flush_ahead<L: Outlet>(
        &mut self,
        node: Node,
        me: Ticket,
        envelope: Envelope<H, C>,
        channel: &mut L,
    ) -> Result<bool, Stop> {
        let from = self.node;
        let wanted = self.hints(node).and_then(|hints| hints.wanted);
        let Some((to, _, room)) =
            wanted.filter(|(_, pattern, _)| pattern.matches(from, &envelope.header()))
        else {
            return Ok(false);
        };
        let want = envelope.len().min(room);
        if want == 0 {
            return Ok(false);
        }
        let fields = |w: Writer| {
            w.put(&envelope.header())
                .put(&length::<C>(envelope.len()))
                .put(&me.handle())
                .put(&to)
        };
        self.put(channel, node, Kind::Ahead, fields, None)?;
        if let Some(hints) = self.hints(node) {
            hints.wanted = None;
        }
        self.left_held(node, me.slot());
        if let Some(operation) = self.operations.get_mut(me.slot()) {
            operation.step = Step::Ahead {
                to,
                want: length::<C>(want),
                next: length::<C>(0),
                cancel: false,
            };
        }
        self.activate(node, me.slot());
        Ok(true)
    }

    /// A message is announced, and its data comes for that receive.
    pub(super) fn ahead(&mut self, envelope: Envelope<H, C>, receiver: Ticket) -> Option<()> {
        let from = envelope.node();
        self.hints(from)?;
        let found = self.expected.find(from, &envelope.header());
        let first = found.filter(|(_, posted)| posted.slot == receiver.slot());
        let Some((place, _)) = first else {
            return self.announce(envelope);
        };
        let Some(operation) = self.operation(receiver) else {
            return self.announce(envelope);
        };
        let Step::Posted { room, .. } = operation.step else {
            return None;
        };
        operation.peer = from;
        operation.envelope = Some(envelope);
        operation.step = Step::Receiving {
            want: length::<C>(envelope.len().min(room)),
            got: length::<C>(0),
        };
        self.expected.remove(place);
        self.owe_place(from);
        self.hints(from)?.ours = Ours::Streaming(receiver);
        Some(())
    }

    /// A receive has all of its data, or will get no more: the sender is told, unless it was asked for the data.
    pub(super) fn came_whole(&mut self, from: Node, ticket: Ticket, sender: Option<Handle>) {
        let deaf = self.peer(from).is_none_or(|peer| peer.deaf);
        if let (Some(hints), Some(sender)) = (self.hints(from), sender)
            && matches!(hints.ours, Ours::Streaming(streaming) if streaming == ticket)
        {
            hints.ours = if deaf { Ours::No } else { Ours::Whole(sender) };
            hints.due = true;
            self.wake(from);
        }
    }

    /// Tells the sender so.
    pub(super) fn flush_whole<L: Outlet>(
        &mut self,
        node: Node,
        channel: &mut L,
        moved: &mut bool,
    ) -> Result<(), Stop> {
        if let Some(Ours::Whole(sender)) = self.hints(node).map(|hints| hints.ours) {
            self.put(channel, node, Kind::Whole, |w| w.put(&sender), None)?;
            *moved = true;
            if let Some(hints) = self.hints(node) {
                hints.ours = Ours::No;
            }
        }
        Ok(())
    }

    /// The peer has what was sent unasked.
    pub(super) fn whole(&mut self, from: Node, ticket: Ticket) -> Option<()> {
        let operation = self
            .operation(ticket)
            .filter(|operation| operation.peer == from)?;
        let len = operation.envelope.as_ref()?.len();
        match operation.step {
            Step::Announced | Step::Revoking { asked: true } => {}
            Step::Revoking { asked: false } => self.deactivate(from, ticket.slot()),
            _ => return None,
        }
        self.complete(ticket.slot(), Ok(len));
        Some(())
    }
}
