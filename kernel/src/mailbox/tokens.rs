//! One mailbox: its tokens. Each is a receive that is posted for one size class, or a message that a user holds. It
//! is a part of `system`.
//!
//! A class of an idle mailbox has one receive; its first message brings as many as the class has buffers. The kernel
//! matches them in post order, so no queue of messages is needed.

use super::class::{CLASSES, FIRST_CLASS, room};
use super::error::Error;
use super::header::{Address, LARGE, Mail, SERVICE, Wanted};
use super::names::Name;
use super::state::{Buffers, CONTROL, Class, LETTERS, Large, Life, Receive, Slot, System};
use crate::channel::Channel;
use crate::communicator::{Completed, Inspect, PointToPointExt};
use crate::config::Config;
use crate::header::Peer;
use crate::memory::{Loan, Memory, Ticket};

/// A message in the buffer that the driver has filled, which belongs to a mailbox.
#[derive(Debug)]
pub struct Letter<I> {
    /// The buffer; [`System::give_back`](super::System::give_back) posts it again.
    pub buffer: I,
    /// The process that posted the message.
    pub from: Peer,
    pub(super) to: Address,
    /// The size class; [`LARGE`] if it has none.
    pub(super) class: u8,
}

/// The tokens of a size class: together as many as it has buffers, once its first message has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    /// Number of receives that are posted or have a message that nobody has retrieved.
    pub posted: usize,
    /// Number of messages that users hold.
    pub held: usize,
}

impl<B: Buffers> Slot<B> {
    /// Creates a mailbox that is not live.
    pub(super) fn new(address: Address, name: Name) -> Self {
        Slot {
            life: Life::Free,
            address,
            name,
            classes: Default::default(),
            arrived: 0,
            looked: None,
            large: Large::None,
            spare: None,
        }
    }

    /// Returns a receive of that class, if no message has come that nobody has retrieved.
    #[inline]
    pub(super) fn idle_receive(&self, class: u8) -> Option<Ticket> {
        let is_idle = self.arrived == 0 && matches!(self.large, Large::None);
        let receive = self.classes[at(class)].receives.first()?;
        is_idle.then_some(receive.ticket)
    }

    /// Returns the tokens of a class.
    pub(super) fn tokens(&self, class: u8) -> Tokens {
        let Class { receives, held, .. } = &self.classes[at(class)];
        Tokens {
            posted: receives.len(),
            held: *held,
        }
    }
}

/// What happens to the mailbox in one slot.
impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Begins to receive: one message of each class, at first.
    pub(super) fn start(&mut self, slot: usize) {
        let it = &mut self.slots.as_mut()[slot];
        (it.life, it.looked) = (Life::Live, None);
        for class in FIRST_CLASS..=self.classes.limit() {
            self.post_receives(slot, class, 1);
        }
    }

    /// Posts the receives that a class of at least so many tokens lacks; returns whether there were any.
    pub(super) fn post_receives(&mut self, slot: usize, class: u8, tokens: usize) -> bool {
        let it = &mut self.slots.as_mut()[slot].classes[at(class)];
        it.tokens = it.tokens.max(tokens);
        let lacking = it.tokens.saturating_sub(it.receives.len() + it.held);
        // What cannot be posted, for want of an operation or of memory, is made up for by the next look.
        (0..lacking)
            .take_while(|_| self.post_receive(slot, class, None))
            .count()
            > 0
    }

    fn post_receive(&mut self, slot: usize, class: u8, spare: Option<B::In>) -> bool {
        let it = &mut self.slots.as_mut()[slot];
        let mut letters = self.endpoint.port::<LETTERS>();
        let wanted = Wanted::new(class, it.address, None);
        let posted = B::provide(spare, room(class), false)
            .and_then(|buffer| letters.irecv_inline(wanted, buffer).ok());
        let receive = |ticket| Receive {
            ticket,
            message: None,
        };
        let receives = &mut it.classes[at(class)].receives;
        posted.is_some_and(|ticket| receives.push(receive(ticket)).is_ok())
    }

    /// Looks which receives of a class have a message. The first message brings the other receives.
    pub(super) fn look(&mut self, slot: usize, class: u8) {
        let it = &mut self.slots.as_mut()[slot];
        let (before, mut letters) = (it.arrived, self.endpoint.port::<LETTERS>());
        let receives = it.classes[at(class)].receives.iter_mut();
        for receive in receives.filter(|receive| receive.message.is_none()) {
            let Some(message) = letters.envelope(receive.ticket) else {
                break;
            };
            receive.message = Some((message.peer(), message.header().number.get()));
            it.arrived += 1;
        }
        let has_arrived = it.arrived > before;
        let tokens = usize::from(has_arrived) * self.classes.buffers();
        if self.post_receives(slot, class, tokens) {
            self.look(slot, class);
        }
    }

    /// Returns the class of the message to retrieve next, and its place in the class. No message passes an earlier one of
    /// its sender that a buffer has taken.
    #[inline]
    pub(super) fn find(&mut self, slot: usize) -> Option<(u8, usize)> {
        let classes = FIRST_CLASS..=self.classes.limit();
        if self.slots.as_ref()[slot].looked != Some(self.state) {
            classes.clone().for_each(|class| self.look(slot, class));
            self.slots.as_mut()[slot].looked = Some(self.state);
        }
        let (it, mut letters) = (&self.slots.as_ref()[slot], self.endpoint.port::<LETTERS>());
        if it.arrived == 0 {
            return None;
        }
        let arrived = || {
            classes.clone().flat_map(|class| {
                let receives = it.classes[at(class)].receives.iter().enumerate();
                receives.map_while(move |(place, it)| Some((class, place, it.ticket, it.message?)))
            })
        };
        let is_older = |(from, number): (Peer, u32), (other, its): (Peer, u32)| {
            from == other && number.wrapping_sub(its).cast_signed() > 0
        };
        let mut complete = arrived().filter(|it| !matches!(letters.peek(it.2), Ok(None)));
        let found = complete.find(|it| !arrived().any(|other| is_older(it.3, other.3)));
        found.map(|(class, place, ..)| (class, place))
    }

    /// Takes the message that [`System::find`] has found; `None` if its receive has ended without one.
    pub(super) fn take(&mut self, slot: usize, class: u8, place: usize) -> Taken<B> {
        let it = &mut self.slots.as_mut()[slot];
        let receive = it.classes[at(class)].receives.remove(place);
        it.arrived -= 1;
        let completed = self.endpoint.port::<LETTERS>().claim(receive.ticket)?;
        match completed.and_then(|completed| letter(it.address, class, completed)) {
            Some((letter, true)) => {
                it.classes[at(class)].held += 1;
                return Ok(Some(letter));
            }
            // Its sender was lost, or is of another kind and sends what is too long.
            failed => self.post_receive(slot, class, failed.map(|(letter, _)| letter.buffer)),
        };
        // A message that has waited for a receive has matched this one, without an event.
        self.look(slot, class);
        Ok(None)
    }

    /// Posts the buffer of a letter again, or keeps the memory of a large one.
    pub(super) fn post_again(&mut self, slot: usize, class: u8, buffer: Option<B::In>) {
        let it = &mut self.slots.as_mut()[slot];
        if class == LARGE {
            it.spare = buffer;
            return;
        }
        let held = &mut it.classes[at(class)].held;
        *held = held.saturating_sub(1);
        self.post_receive(slot, class, buffer);
        self.look(slot, class);
    }

    /// Makes progress with a large message. Returns it when it is complete.
    ///
    /// CTR1, "provide a buffer of this size", is the kernel's announcement; a matched probe reads it. CTR2, "ready", is
    /// the kernel's request, and goes to the operation of the sender that the announcement names.
    pub(super) fn take_large(&mut self, slot: usize) -> Taken<B> {
        while self.has_large(slot)? {
            let it = &mut self.slots.as_mut()[slot];
            let mut control = self.endpoint.port::<CONTROL>();
            match it.large {
                Large::None => {}
                Large::Announced(ticket, bytes) => {
                    let buffer = B::provide(it.spare.take(), bytes, true);
                    let buffer = buffer.ok_or(Error::NoMemory { bytes })?;
                    let posted = control.irecv_matched(ticket, buffer);
                    posted.map_err(|refused| refused.error)?;
                    it.large = Large::Arriving(ticket);
                }
                Large::Arriving(ticket) => {
                    it.large = Large::None;
                    let completed = control.claim(ticket)?;
                    match completed.and_then(|completed| letter(it.address, LARGE, completed)) {
                        Some((letter, true)) => return Ok(Some(letter)),
                        // Its sender is lost, or has taken it back: another one may be announced.
                        failed => it.spare = failed.map(|(letter, _)| letter.buffer),
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns whether [`System::take_large`] would return a message, or make progress.
    pub(super) fn has_large(&mut self, slot: usize) -> Result<bool, Error> {
        let it = &mut self.slots.as_mut()[slot];
        let mut control = self.endpoint.port::<CONTROL>();
        if let Large::None = it.large
            && let Some((ticket, found)) =
                control.matched_probe(Wanted::new(LARGE, it.address, None))?
        {
            it.large = Large::Announced(ticket, found.len());
        }
        Ok(match it.large {
            Large::None => false,
            Large::Announced(..) => true,
            Large::Arriving(ticket) => !matches!(control.peek(ticket), Ok(None)),
        })
    }

    /// Frees the place: every receive is withdrawn, messages that nobody has retrieved are dropped.
    pub(super) fn stop(&mut self, slot: usize) {
        let it = &mut self.slots.as_mut()[slot];
        let it = core::mem::replace(it, Slot::new(it.address, it.name));
        let mut letters = self.endpoint.port::<LETTERS>();
        for receive in it.classes.into_iter().flat_map(|class| class.receives) {
            letters.release(receive.ticket);
        }
        let mut control = self.endpoint.port::<CONTROL>();
        match it.large {
            Large::None => {}
            Large::Announced(ticket, _) => drop_matched::<B>(&mut control, ticket),
            Large::Arriving(ticket) => drop(control.release(ticket)),
        }
        // What waits for it is dropped at once: a count that differs from that of the ports brings the next look.
        (self.has_destroyed, self.queued, self.has_news) =
            (true, self.queued.wrapping_sub(1), true);
    }

    /// Drops messages to destroyed mailboxes, and tells their senders: if any message has found no receive since.
    pub(super) fn drop_stale(&mut self) {
        let letters = self.endpoint.port::<LETTERS>().queued();
        let queued = letters.wrapping_add(self.endpoint.port::<CONTROL>().queued());
        if !self.has_destroyed || core::mem::replace(&mut self.queued, queued) == queued {
            return;
        }
        let me = self.me();
        loop {
            let slots = self.slots.as_ref();
            let found = stale(&mut self.endpoint.port::<LETTERS>(), slots, me)
                .or_else(|| stale(&mut self.endpoint.port::<CONTROL>(), slots, me));
            match found {
                None => return,
                Some(None) => {
                    self.queued = queued.wrapping_sub(1);
                    return;
                }
                Some(Some((from, gone))) => self.tell_gone(from, gone),
            }
        }
    }
}

type Taken<B> = Result<Option<Letter<<B as Memory>::In>>, Error>;

/// Returns the letter of a completed receive, and whether it is whole.
fn letter<B: Buffers, C: Config>(
    to: Address,
    class: u8,
    completed: Completed<Mail, B, C>,
) -> Option<(Letter<B::In>, bool)> {
    let Loan::Received(buffer) = completed.loan else {
        return None;
    };
    let from = completed.envelope?.peer();
    Some((
        Letter {
            buffer,
            from,
            to,
            class,
        },
        completed.outcome.is_ok(),
    ))
}

/// Drops a message that waits for a mailbox which is gone; returns its sender and the mailbox, or `None` for them where
/// no operation is free, so that it waits for the next attempt.
fn stale<B: Buffers>(
    port: &mut (impl PointToPointExt<Header = Mail, Memory = B> + Inspect),
    slots: &[Slot<B>],
    me: Peer,
) -> Option<Option<(Peer, Address)>> {
    let mut found = None;
    port.for_each_unexpected(|message| {
        let (mail, gone) = (message.header(), message.header().address(me));
        let slot = slots.get(usize::from(gone.index));
        let lives = slot.is_some_and(|slot| slot.life != Life::Free && slot.address == gone);
        if !lives && mail.class < SERVICE {
            found = Some((Wanted::new(mail.class, gone, None), gone));
        }
    });
    let (wanted, gone) = found?;
    let taken = port.matched_probe(wanted).ok().flatten();
    Some(taken.map(|(ticket, message)| {
        drop_matched(port, ticket);
        (message.peer(), gone)
    }))
}

/// Drops a message that a matched probe has taken: a receive without room tells the sender that nothing more is expected.
fn drop_matched<B: Buffers>(port: &mut impl PointToPointExt<Memory = B>, ticket: Ticket) {
    if let Some(nothing) = B::provide(None, 0, false)
        && port.irecv_matched(ticket, nothing).is_ok()
    {
        port.release(ticket);
    }
}

/// Returns the index of a size class.
fn at(class: u8) -> usize {
    usize::from(class.saturating_sub(FIRST_CLASS)).min(CLASSES - 1)
}
