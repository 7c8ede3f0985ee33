//! One mailbox: its tokens. Each is a receive that is posted for one size class, or a message that a user holds. Only
//! `system` uses it.
//!
//! An idle mailbox has one receive, for the first message of any class. A class is opened by its first message: then as
//! many receives as it has buffers are posted with the pattern of the mailbox and the class. The kernel matches them in
//! post order, so the ring of a class has its messages in their order, and no queue of messages is needed.

use super::buffers::{Buffers, Use};
use super::class::{CLASSES, FIRST_CLASS, MAX_BUFFERS, SizeClasses, room};
use super::header::{Address, LARGE, LETTERS, Mail, Wanted};
use super::name::Name;
use crate::communicator::{Awaited, Completed, Inspect, PointToPointExt};
use crate::config::Config;
use crate::error::Error;
use crate::header::Peer;
use crate::memory::{Loan, Ticket};

/// A port of a mailbox system, whose memory has buffers.
pub(super) trait Port<B: Buffers, C: Config>:
    PointToPointExt<Header = Mail, Memory = B, Config = C> + Inspect
{
}

impl<B: Buffers, C: Config, P> Port<B, C> for P where
    P: PointToPointExt<Header = Mail, Memory = B, Config = C> + Inspect
{
}

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

/// The tokens of a size class: together as many as it has buffers, once it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    /// Number of receives that are posted or have a message that nobody has retrieved.
    pub posted: usize,
    /// Number of messages that users hold.
    pub held: usize,
}

/// The receives of a size class, in post order.
#[derive(Clone, Copy)]
struct Ring {
    tickets: [Ticket; MAX_BUFFERS],
    first: u8,
    posted: u8,
    held: u8,
}

impl Ring {
    const EMPTY: Self = Ring {
        tickets: [Ticket::from_bits(0); MAX_BUFFERS],
        first: 0,
        posted: 0,
        held: 0,
    };

    fn at(&self, place: u8) -> usize {
        (usize::from(self.first) + usize::from(place)) % MAX_BUFFERS
    }

    fn ticket(&self, place: u8) -> Ticket {
        self.tickets[self.at(place)]
    }

    fn push(&mut self, ticket: Ticket) {
        self.tickets[self.at(self.posted)] = ticket;
        self.posted += 1;
    }

    /// Removes a receive; those before it move up.
    fn remove(&mut self, place: u8) -> Ticket {
        let ticket = self.ticket(place);
        for place in (0..place).rev() {
            self.tickets[self.at(place + 1)] = self.ticket(place);
        }
        self.first = (self.first + 1) % MAX_BUFFERS as u8;
        self.posted -= 1;
        ticket
    }
}

/// The place of a message.
#[derive(Clone, Copy)]
pub(super) struct Found {
    class: u8,
    place: u8,
}

/// The state of a receive, with the sender and the number of its message.
enum State {
    Posted,
    Arriving(Peer, u32),
    Here(Peer, u32),
    /// Without a message.
    Ended,
}

impl State {
    #[inline]
    fn of<B: Buffers, C: Config>(port: &mut impl Port<B, C>, ticket: Ticket) -> Self {
        let has_message = port.header(ticket).is_some();
        match port.peek(ticket) {
            Ok(None) if !has_message => State::Posted,
            Ok(Some(peeked)) => match (peeked.envelope, peeked.outcome) {
                (Some(message), Ok(_)) => {
                    State::Here(message.peer(), message.header().number.get())
                }
                _ => State::Ended,
            },
            Ok(None) => match port.awaited(ticket) {
                Some(Awaited::Data(from, mail)) => State::Arriving(from, mail.number.get()),
                _ => State::Posted,
            },
            Err(_) => State::Ended,
        }
    }
}

/// Returns the numbers of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as u8);
        set &= set.wrapping_sub(1);
        bit
    })
}

/// The large message that a mailbox takes at present.
enum Large {
    None,
    /// A matched probe has taken it; there was no memory for it yet.
    Announced(Ticket, usize),
    Arriving(Ticket),
}

/// The life of a mailbox.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// The number may be used, with the next generation.
    Free,
    /// The keeper of the name has been asked.
    Asked,
    Live,
}

/// One mailbox.
pub(super) struct Slot<B: Buffers> {
    pub(super) life: Life,
    pub(super) address: Address,
    pub(super) name: Name,
    /// The receive for the first message of any class in `unopened`.
    first: Option<Ticket>,
    unopened: u64,
    /// The classes that have receives.
    open: u64,
    rings: [Ring; CLASSES],
    large: Large,
    /// The memory of the last large message.
    spare: Option<B::In>,
    /// The receives, one on each port, of messages to destroyed mailboxes of this number: the last of these.
    pub(super) buried: Option<Address>,
    stale: [Option<Ticket>; 2],
}

impl<B: Buffers> Slot<B> {
    /// Creates a mailbox that is not live.
    pub(super) fn new(address: Address, name: Name) -> Self {
        Slot {
            life: Life::Asked,
            address,
            name,
            first: None,
            unopened: 0,
            open: 0,
            rings: [Ring::EMPTY; CLASSES],
            large: Large::None,
            spare: None,
            buried: None,
            stale: [None; 2],
        }
    }

    /// Begins to receive.
    pub(super) fn start<C: Config>(&mut self, port: &mut impl Port<B, C>, classes: SizeClasses) {
        self.life = Life::Live;
        let all = classes.limit() - FIRST_CLASS + 1;
        self.unopened = LETTERS & (((1 << all) - 1) << FIRST_CLASS);
        self.post_first(port, classes);
    }

    /// Posts the receive for the first message of any class that is not open.
    fn post_first<C: Config>(&mut self, port: &mut impl Port<B, C>, classes: SizeClasses) {
        if self.first.is_some() || self.unopened == 0 {
            return;
        }
        let pattern = match self.unopened.is_power_of_two() {
            true => Wanted::class_of(self.unopened.trailing_zeros() as u8, self.address),
            false => Wanted::classes_of(self.unopened, self.address),
        };
        if let Some(buffer) = B::provide(None, classes.longest(), Use::AnyClass) {
            // Without a free operation the next call posts it.
            self.first = port.irecv(pattern, buffer).ok();
        }
    }

    /// Opens the classes whose first message has come.
    fn open_classes<C: Config>(&mut self, port: &mut impl Port<B, C>, classes: SizeClasses) {
        while let Some(first) = self.first
            && let Some(mail) = port.header(first)
        {
            self.first = None;
            self.rings[ring_of(mail.class)].push(first);
            self.open_class(port, mail.class, classes);
            self.post_first(port, classes);
        }
        self.post_first(port, classes);
    }

    fn open_class<C: Config>(&mut self, port: &mut impl Port<B, C>, class: u8, of: SizeClasses) {
        self.unopened &= !(1 << class);
        self.open |= 1 << class;
        self.fill_up(port, class, of);
    }

    /// Provides the buffers of a class before its first message. Returns false if it is open, or there is no such class.
    pub(super) fn provide<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        class: u8,
        of: SizeClasses,
    ) -> bool {
        self.open_classes(port, of);
        let closed = class < 64 && self.unopened >> class & 1 != 0;
        if closed {
            // Its receive may not take a message of this class any more, which would then be behind the others.
            if let Some(first) = self.first.take() {
                let _ = port.release(first);
            }
            self.open_class(port, class, of);
            self.post_first(port, of);
        }
        closed
    }

    /// Posts the receives that a class lacks.
    fn fill_up<C: Config>(&mut self, port: &mut impl Port<B, C>, class: u8, of: SizeClasses) {
        let pattern = Wanted::class_of(class, self.address);
        let ring = &mut self.rings[ring_of(class)];
        while usize::from(ring.posted + ring.held) < of.buffers()
            && let Some(buffer) = B::provide(None, room(class), Use::Class)
            && let Ok(ticket) = port.irecv(pattern, buffer)
        {
            ring.push(ticket);
        }
    }

    /// Returns the class of the message to retrieve next, and its place in the class. No message passes an earlier one of
    /// its sender that a buffer has taken.
    pub(super) fn find<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        classes: SizeClasses,
    ) -> Option<Found> {
        self.open_classes(port, classes);
        for class in bits(self.open) {
            if self.rings[ring_of(class)].posted == 0 {
                self.fill_up(port, class, classes);
            }
            let ring = &self.rings[ring_of(class)];
            for place in 0..ring.posted {
                match State::of(port, ring.ticket(place)) {
                    State::Posted => break,
                    State::Arriving(..) => {}
                    State::Here(from, number) if self.is_passing(port, from, number) => {}
                    State::Here(..) | State::Ended => return Some(Found { class, place }),
                }
            }
        }
        None
    }

    /// Returns a receive of that class, if no message has come that nobody has retrieved.
    pub(super) fn idle_receive<C: Config>(
        &self,
        port: &mut impl Port<B, C>,
        class: u8,
    ) -> Option<Ticket> {
        let oldest = |class| {
            let ring = &self.rings[ring_of(class)];
            (ring.posted > 0).then(|| ring.ticket(0))
        };
        let mut receives = self
            .first
            .into_iter()
            .chain(bits(self.open).filter_map(oldest));
        let is_idle = matches!(self.large, Large::None)
            && receives.all(|ticket| port.header(ticket).is_none());
        oldest(class).filter(|_| is_idle)
    }

    /// Returns whether an earlier message of that process is in a buffer, or on its way there.
    fn is_passing<C: Config>(&self, port: &mut impl Port<B, C>, sender: Peer, number: u32) -> bool {
        for class in bits(self.open) {
            let ring = &self.rings[ring_of(class)];
            for place in 0..ring.posted {
                match State::of(port, ring.ticket(place)) {
                    State::Posted => break,
                    State::Ended => {}
                    State::Arriving(from, its) | State::Here(from, its) => {
                        if from == sender && number.wrapping_sub(its).cast_signed() > 0 {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }

    /// Takes the message that [`Slot::find`] has found; `None` if its receive has ended without one.
    pub(super) fn take<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        Found { class, place }: Found,
        classes: SizeClasses,
    ) -> Result<Option<Letter<B::In>>, Error> {
        let ring = &mut self.rings[ring_of(class)];
        let Some(completed) = port.claim(ring.remove(place))? else {
            return Ok(None);
        };
        ring.held += 1;
        match self.letter(class, completed) {
            Some((letter, true)) => Ok(Some(letter)),
            // Its sender was lost, or is of another kind and sends what is too long.
            Some((letter, false)) => {
                self.give_back(port, letter, classes);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    fn letter<C: Config>(
        &self,
        class: u8,
        completed: Completed<Mail, B, C>,
    ) -> Option<(Letter<B::In>, bool)> {
        let Loan::Received(buffer) = completed.loan else {
            return None;
        };
        let letter = Letter {
            buffer,
            from: completed.envelope.map_or(self.address.peer, |it| it.peer()),
            to: self.address,
            class,
        };
        Some((letter, completed.outcome.is_ok()))
    }

    /// Posts the buffer of a letter again, or keeps the memory of a large one.
    pub(super) fn give_back<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        letter: Letter<B::In>,
        classes: SizeClasses,
    ) {
        let Letter { buffer, class, .. } = letter;
        if class == LARGE {
            self.spare = Some(buffer);
            return;
        }
        let buffer = B::provide(Some(buffer), room(class), Use::Class);
        self.post_again(port, class, buffer, classes);
    }

    /// Posts an empty buffer of a letter again.
    pub(super) fn post_again<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        class: u8,
        buffer: Option<B::In>,
        classes: SizeClasses,
    ) {
        let ring = &mut self.rings[ring_of(class)];
        ring.held = ring.held.saturating_sub(1);
        let pattern = Wanted::class_of(class, self.address);
        if let Some(buffer) = buffer
            && let Ok(ticket) = port.irecv(pattern, buffer)
        {
            ring.push(ticket);
        }
        // What could not be posted, for want of an operation or of memory, is made up for.
        self.fill_up(port, class, classes);
    }

    /// Makes progress with a large message. `control` is the port of announcements. Returns it when it is complete.
    ///
    /// CTR1, "provide a buffer of this size", is the kernel's announcement; a matched probe reads it. CTR2, "ready", is
    /// the kernel's request, and goes to the operation of the sender that the announcement names.
    pub(super) fn large<C: Config>(
        &mut self,
        control: &mut impl Port<B, C>,
    ) -> Result<Option<Letter<B::In>>, super::Error> {
        loop {
            if let Large::None = self.large {
                let pattern = Wanted::class_of(LARGE, self.address);
                let Some((ticket, announced)) = control.matched_probe(pattern)? else {
                    return Ok(None);
                };
                self.large = Large::Announced(ticket, announced.len());
            }
            if let Large::Announced(ticket, bytes) = self.large {
                let buffer = B::provide(self.spare.take(), bytes, Use::Large);
                let buffer = buffer.ok_or(super::Error::NoMemory { bytes })?;
                let posted = control.irecv_matched(ticket, buffer);
                posted.map_err(|refused| refused.error)?;
                self.large = Large::Arriving(ticket);
            }
            let Large::Arriving(ticket) = self.large else {
                return Ok(None);
            };
            let Some(completed) = control.claim(ticket)? else {
                return Ok(None);
            };
            self.large = Large::None;
            match self.letter(LARGE, completed) {
                Some((letter, true)) => return Ok(Some(letter)),
                // Its sender is lost, or has taken it back: another one may be announced.
                Some((letter, false)) => self.spare = Some(letter.buffer),
                None => return Ok(None),
            }
        }
    }

    /// Returns whether [`Slot::large`] would return a message, or make progress.
    pub(super) fn has_large<C: Config>(&mut self, control: &mut impl Port<B, C>) -> bool {
        match self.large {
            Large::None => match control.matched_probe(Wanted::class_of(LARGE, self.address)) {
                Ok(Some((ticket, announced))) => {
                    self.large = Large::Announced(ticket, announced.len());
                    true
                }
                Ok(None) => false,
                Err(_) => true,
            },
            Large::Announced(..) => true,
            Large::Arriving(ticket) => !matches!(control.peek(ticket), Ok(None)),
        }
    }

    /// Returns the tokens of a class.
    pub(super) fn tokens(&self, class: u8) -> Tokens {
        let ring = class
            .checked_sub(FIRST_CLASS)
            .and_then(|at| self.rings.get(usize::from(at)));
        ring.map_or(Tokens::default(), |ring| Tokens {
            posted: ring.posted.into(),
            held: ring.held.into(),
        })
    }

    /// Withdraws every receive of the letters' port; messages that nobody has retrieved are dropped.
    pub(super) fn stop<C: Config>(&mut self, port: &mut impl Port<B, C>) {
        if let Some(first) = self.first.take() {
            let _ = port.release(first);
        }
        for ring in &mut self.rings {
            while ring.posted > 0 {
                let _ = port.release(ring.remove(0));
            }
            ring.held = 0;
        }
        (self.open, self.unopened, self.spare) = (0, 0, None);
    }

    /// Withdraws the receive of the control port.
    pub(super) fn stop_large<C: Config>(&mut self, control: &mut impl Port<B, C>) {
        match core::mem::replace(&mut self.large, Large::None) {
            Large::None => {}
            Large::Arriving(ticket) => drop(control.release(ticket)),
            Large::Announced(ticket, _) => {
                // A receive without room tells the sender that nothing more is expected.
                if let Some(nothing) = B::provide(None, 0, Use::Class)
                    && control.irecv_matched(ticket, nothing).is_ok()
                {
                    let _ = control.release(ticket);
                }
            }
        }
    }

    /// Posts the receive of messages to destroyed mailboxes anew. Returns the one that it has taken, if any.
    pub(super) fn drop_stale<C: Config>(
        &mut self,
        port: &mut impl Port<B, C>,
        number: usize,
    ) -> Option<(Peer, Address)> {
        let buried = self.buried?;
        let mut dropped = None;
        if let Some(ticket) = self.stale[number] {
            let completed = port.claim(ticket).ok()??;
            self.stale[number] = None;
            dropped = completed.envelope.map(|message| {
                let gone = message.header().address(buried.peer);
                (message.peer(), gone)
            });
        }
        let nothing = B::provide(None, 0, Use::Class)?;
        self.stale[number] = port.irecv(Wanted::stale(buried), nothing).ok();
        dropped
    }

    /// Withdraws the receive of messages to destroyed mailboxes.
    pub(super) fn stop_stale<C: Config>(&mut self, port: &mut impl Port<B, C>, number: usize) {
        if let Some(ticket) = self.stale[number].take() {
            let _ = port.release(ticket);
        }
    }
}

/// Returns the index of the ring of a size class.
fn ring_of(class: u8) -> usize {
    usize::from(class.saturating_sub(FIRST_CLASS)).min(CLASSES - 1)
}
