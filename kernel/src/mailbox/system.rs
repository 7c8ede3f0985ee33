//! The mailboxes of one process over one channel. No call here blocks: whoever waits makes [progress](System::progress)
//! and asks again, which `pombo-netdrivers` does for threads.

use super::class::{SizeClasses, room};
use super::error::Error;
use super::header::{Address, LARGE, Mail};
use super::names::{Name, Request};
use super::state::{Buffers, CONTROL, LETTERS, Life, Slot, System, put};
use super::tokens::{Letter, Tokens};
use crate::aspect::Slice;
use crate::channel::{Channel, WaitSet};
use crate::communicator::{Endpoint, Mode, PointToPoint, PointToPointExt};
use crate::config::Config;
use crate::error;
use crate::header::Peer;
use crate::memory::{Loan, Memory, Source, Ticket};

/// A message that has not left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    ticket: Ticket,
    to: Address,
    is_large: bool,
}

/// What a caller waits for.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// A message in this mailbox, or its end.
    Message(Address),
    /// That a message has left.
    Sent(Sent),
    /// The reply to a request.
    Reply(Request),
    /// Nothing that a message brings.
    Nothing,
}

/// Returns a number that all processes must share: see [`fingerprint`](crate::fingerprint).
pub const fn fingerprint<C: Config>(classes: SizeClasses) -> u64 {
    crate::fingerprint::<Mail, C>().rotate_left(1) ^ ((classes.limit() as u64) << 8 | 3)
}

impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Creates the mailboxes of this process. All processes of the channel choose the same largest class.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the composition is too small for the channel, or has no rendezvous or no buffering.
    pub fn new(channel: L, classes: SizeClasses) -> Result<Self, Error> {
        let keepers = channel.peers();
        let mut system = System {
            endpoint: Endpoint::two(channel)?,
            classes,
            slots: Slice::new(),
            posts: 0,
            state: 0,
            has_news: false,
            has_destroyed: false,
            queued: 0,
            abandoned: Slice::new(),
            kept: Slice::new(),
            keepers,
            requests: 0,
            service: None,
            unsent: None,
            gone: heapless::HistoryBuf::new(),
        };
        system.serve()?;
        Ok(system)
    }

    /// Lets the first so many processes alone keep names, one at least. All processes choose the same number, before the
    /// first mailbox.
    pub fn set_keepers(&mut self, keepers: usize) {
        self.keepers = keepers.clamp(1, self.peers());
    }

    /// Returns the number of this process.
    pub fn me(&self) -> Peer {
        self.endpoint.me()
    }

    /// Returns the number of processes.
    pub fn peers(&self) -> usize {
        self.endpoint.peers()
    }

    /// Returns the channel below.
    pub fn channel_mut(&mut self) -> &mut L {
        self.endpoint.channel_mut()
    }

    /// Returns whether the channel has taken everything that was due; all else waits for other processes.
    pub fn is_flushed(&mut self) -> bool {
        self.endpoint.port::<LETTERS>().is_flushed() && self.endpoint.port::<CONTROL>().is_flushed()
    }

    /// Handles what has arrived and sends what is due; returns true if anything progressed.
    ///
    /// # Errors
    /// [`Error::Kernel`] when the channel is broken.
    #[inline]
    pub fn progress(&mut self) -> Result<bool, Error> {
        let arrived = self.endpoint.port::<LETTERS>().check_messages()?;
        let moved = core::mem::take(&mut self.has_news) || arrived;
        if moved {
            self.state = self.state.wrapping_add(1);
            self.serve()?;
            self.drop_stale();
            let mut control = self.endpoint.port::<CONTROL>();
            for place in self.abandoned.as_mut() {
                place.take_if(|ticket| !matches!(control.claim(*ticket), Ok(None)));
            }
        }
        Ok(moved)
    }

    /// Waits after `idle` rounds without progress, as [`Channel::wait_with`] does.
    ///
    /// # Errors
    /// [`Error::Kernel`] when the channel is broken.
    pub fn wait(&mut self, idle: u32, other: WaitSet) -> Result<(), Error> {
        let waited = self.endpoint.channel_mut().wait_with(idle, other);
        Ok(waited.map_err(error::Error::from)?)
    }

    /// Asks for a new mailbox of that name; [`System::found`] tells when it is there.
    ///
    /// # Errors
    /// [`Error::TooManyMailboxes`], [`Error::NoMemory`]; [`Error::Kernel`]: the keeper of the name is lost, or a table is
    /// full.
    pub fn create(&mut self, name: Name) -> Result<Request, Error> {
        let (slots, me) = (self.slots.as_ref(), self.me());
        let free = slots.iter().position(|slot| slot.life == Life::Free);
        let place = free.unwrap_or(slots.len());
        if place == slots.len() {
            let index = u16::try_from(place).map_err(|_| Error::TooManyMailboxes)?;
            let address = Address::of_number(me, index.into());
            let pushed = self.slots.push(Slot::new(address, name));
            pushed.map_err(|_| Error::TooManyMailboxes)?;
        }
        let last = self.slots.as_ref()[place].address;
        let generation = last.generation.wrapping_add(1);
        let address = Address { generation, ..last };
        let request = self.ask(name, Some(address))?;
        let slot = &mut self.slots.as_mut()[place];
        (slot.life, slot.address, slot.name) = (Life::Asked, address, name);
        Ok(request)
    }

    /// Asks which mailbox has a name; [`System::found`] tells.
    ///
    /// # Errors
    /// As [`System::create`].
    pub fn lookup(&mut self, name: Name) -> Result<Request, Error> {
        self.ask(name, None)
    }

    /// Returns the mailbox of a name, which is live if it was to be created; `None` while that is not known.
    ///
    /// # Errors
    /// [`Error::NoSuchName`]: there is none yet, so ask again; [`Error::Exists`], [`Error::TooManyNames`];
    /// [`Error::Kernel`]: the keeper is lost; [`Error::Malformed`]: what it replied is no reply.
    pub fn found(&mut self, request: &Request) -> Option<Result<Address, Error>> {
        let answer = self.take_answer(request)?;
        match (&answer, request.create) {
            (Ok(_), Some(address)) => self.start(address.index.into()),
            // A keeper that is lost may have granted the name, and told others.
            (Err(_), Some(address)) => self.bury(address),
            _ => {}
        }
        Some(answer)
    }

    /// Gives a request up whose reply has not come. A mailbox that was created by it is destroyed.
    pub fn withdraw(&mut self, request: &Request) {
        let _ = put(&mut self.abandoned, request.reply);
        // Others may have found it; the keeper answers requests of one process in their order.
        if let Some(address) = request.create {
            self.bury(address);
        }
    }

    /// Destroys a mailbox of this process. Messages in it are dropped, and so are those that come later; every process is
    /// told.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`].
    pub fn destroy(&mut self, address: Address) -> Result<(), Error> {
        self.live(address)?;
        self.bury(address);
        for peer in (0..self.peers() as u16).map(Peer) {
            if peer != address.peer {
                self.tell_gone(peer, address);
            }
        }
        Ok(())
    }

    /// Ends a mailbox: its receives are withdrawn, its name is free, and messages to it are dropped from now on.
    fn bury(&mut self, address: Address) {
        let slot = usize::from(address.index);
        let name = self.slots.as_ref().get(slot);
        if let Some(name) = name.and_then(|it| (it.address == address).then_some(it.name)) {
            self.free_name(&name, address);
            self.stop(slot);
        }
    }

    /// Posts a message: one that has a size class, in the order of posts to that process, or one of any length by the large
    /// protocol. That one is announced, and leaves when its mailbox is retrieved from. Returns `None` if the message has
    /// left; otherwise its memory is taken, until [`System::posted`] returns it.
    ///
    /// # Errors
    /// The memory stays: [`Error::Vanished`], [`Error::TooLong`] if there is no class, or [`Error::Kernel`]: the process is
    /// lost, or the table of operations is full.
    #[inline]
    pub fn post(
        &mut self,
        to: Address,
        out: &mut B::Out,
        is_large: bool,
    ) -> Result<Option<Sent>, Error> {
        let (len, limit) = (out.len(), self.classes.longest());
        let class = match is_large {
            true => LARGE,
            false => self.classes.of(len).ok_or(Error::TooLong { len, limit })?,
        };
        if self.is_gone(to) {
            return Err(Error::Vanished);
        }
        self.posts = self.posts.wrapping_add(u32::from(!is_large));
        let mail = Mail::new(class, to, self.posts);
        let mut mode = Mode::Synchronous;
        if !is_large {
            // Not by `port_of`: what is known of the port is not looked up then.
            let mut letters = self.endpoint.port::<LETTERS>();
            if letters.try_inject(to.peer, mail, out)? {
                return Ok(None);
            }
            mode = Mode::Standard;
        }
        let message = core::mem::take(out);
        match self
            .port_of(is_large)
            .isend_as(mode, to.peer, mail, message)
        {
            Ok(ticket) => Ok(Some(Sent {
                ticket,
                to,
                is_large,
            })),
            Err(refused) => {
                *out = refused.loan;
                Err(refused.error.into())
            }
        }
    }

    /// Returns the memory of a message that has left, and whether its mailbox has taken it; `None` while it has not left.
    /// A small message has left when the driver, or the pool of the other process, has taken it. One that has not is taken
    /// back if its mailbox is gone, or the caller gives up: then the outcome is that error.
    pub fn posted(
        &mut self,
        sent: &Sent,
        give_up: Option<Error>,
    ) -> Option<(B::Out, Result<(), Error>)> {
        let vanished = self.is_gone(sent.to).then_some(Error::Vanished);
        let mut port = self.port_of(sent.is_large);
        let completed = port.claim(sent.ticket).ok().flatten();
        let (loan, outcome) = match completed {
            Some(completed) => (
                completed.loan,
                completed.outcome.map(drop).map_err(Error::from),
            ),
            None if sent.is_large => return None,
            None => {
                let error = vanished.or(give_up)?;
                (port.release(sent.ticket)?, Err(error))
            }
        };
        let Loan::Sent(out) = loan else {
            return None;
        };
        Some((out, vanished.map_or(outcome, Err)))
    }

    /// Takes a large message back that nobody has begun to retrieve. Its memory is dropped as soon as no receiver can be
    /// reading it where it is.
    pub fn revoke(&mut self, sent: &Sent) {
        // Where that fails it has ended, or the channel is broken.
        if self.endpoint.port::<CONTROL>().cancel(sent.ticket).is_ok() {
            self.state = self.state.wrapping_add(1);
            let _ = put(&mut self.abandoned, sent.ticket);
        }
    }

    /// Returns the next message of a mailbox of this process, if there is one.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`]; [`Error::NoMemory`] for a large message, which stays with its sender.
    #[inline]
    pub fn retrieve(&mut self, address: Address) -> Result<Option<LetterOf<B>>, Error> {
        let slot = self.live(address)?;
        while let Some((class, place)) = self.find(slot) {
            if let Some(letter) = self.take(slot, class, place)? {
                return Ok(Some(letter));
            }
        }
        self.take_large(slot)
    }

    /// Gives the letter back and retrieves the next one, for which it makes progress while there is nothing else to do and
    /// `goes_on`, in rounds that do not sleep. The next one may come in the same buffer, which is then not posted at all.
    ///
    /// # Errors
    /// As [`System::progress`] and [`System::retrieve`].
    #[inline]
    pub fn exchange(
        &mut self,
        address: Address,
        letter: LetterOf<B>,
        goes_on: impl FnMut() -> bool,
    ) -> Result<Option<LetterOf<B>>, Error> {
        let Letter { to, class, .. } = letter;
        let mut buffer = Some(letter.buffer);
        let mut received = Ok(None);
        if to == address && class != LARGE {
            received = self.receive_again(address, class, &mut buffer, goes_on);
        }
        if let Ok(Some(from)) = received
            && let Some(buffer) = buffer
        {
            return Ok(Some(Letter {
                buffer,
                from,
                to,
                class,
            }));
        }
        if let Ok(slot) = self.live(to) {
            self.post_again(slot, class, buffer);
        }
        received?;
        self.retrieve(address)
    }

    /// Receives what comes next into a buffer of that class, if nothing is there before; returns the sender.
    #[inline(always)]
    fn receive_again(
        &mut self,
        address: Address,
        class: u8,
        buffer: &mut Option<B::In>,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<Peer>, Error> {
        const NO_SLEEP: u32 = 2;
        while goes_on() {
            self.serve()?;
            let slot = self.live(address)?;
            if self.find(slot).is_some() || self.endpoint.port::<CONTROL>().lengths().unexpected > 0
            {
                break;
            }
            *buffer = B::provide(buffer.take(), room(class), false);
            let receive = self.slots.as_ref()[slot].idle_receive(class);
            let (Some(receive), Some(into)) = (receive, buffer.as_mut()) else {
                break;
            };
            let mut letters = self.endpoint.port::<LETTERS>();
            let before = letters.lengths().expected;
            let mut received = None;
            letters.recv_instead(receive, into, NO_SLEEP, &mut received)?;
            self.has_news = true;
            // What has found a posted receive meanwhile is looked for before the next round.
            if letters.lengths().expected != before {
                self.state = self.state.wrapping_add(1);
            }
            // One that is too long comes from a sender of another kind.
            if let Some(from) = received.and_then(|it| it.outcome.ok().map(|_| it.envelope.peer()))
            {
                return Ok(Some(from));
            }
        }
        Ok(None)
    }

    /// Posts the buffer of a message again. If its mailbox is gone, the buffer is dropped.
    pub fn give_back(&mut self, letter: LetterOf<B>) {
        if let Ok(slot) = self.live(letter.to) {
            self.post_again(slot, letter.class, Some(letter.buffer));
        }
    }

    /// Returns the tokens of the size class of messages of `len` bytes. With `provide`, its buffers are provided before the
    /// first of its messages comes.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`], [`Error::TooLong`].
    pub fn tokens(&mut self, address: Address, len: usize, provide: bool) -> Result<Tokens, Error> {
        let (slot, limit) = (self.live(address)?, self.classes.longest());
        let class = self.classes.of(len).ok_or(Error::TooLong { len, limit })?;
        if provide && self.post_receives(slot, class, self.classes.buffers()) {
            self.look(slot, class);
        }
        Ok(self.slots.as_ref()[slot].tokens(class))
    }

    /// Returns whether the call of someone who waits would now return, or fail.
    pub fn is_ready(&mut self, want: &Want) -> bool {
        match want {
            Want::Message(address) => self.live(*address).map_or(true, |slot| {
                self.find(slot).is_some() || !matches!(self.has_large(slot), Ok(false))
            }),
            Want::Sent(sent) => {
                !sent.is_large && self.is_gone(sent.to) || self.is_over(sent.is_large, sent.ticket)
            }
            Want::Reply(request) => self.is_over(true, request.reply),
            Want::Nothing => false,
        }
    }

    fn is_over(&mut self, is_control: bool, ticket: Ticket) -> bool {
        !matches!(self.port_of(is_control).peek(ticket), Ok(None))
    }

    /// Returns the port of large messages, or of letters.
    fn port_of(
        &mut self,
        is_control: bool,
    ) -> impl PointToPointExt<Header = Mail, Memory = B, Config = C> {
        match is_control {
            true => self.endpoint.port::<CONTROL>(),
            false => self.endpoint.port::<LETTERS>(),
        }
    }

    /// Returns whether a mailbox is known to be gone.
    #[inline]
    fn is_gone(&self, address: Address) -> bool {
        match address.peer == self.me() {
            true => self.live(address).is_err(),
            false => self.gone.contains(&address),
        }
    }

    /// Returns the slot of a mailbox of this process.
    #[inline]
    fn live(&self, address: Address) -> Result<usize, Error> {
        let slot = usize::from(address.index);
        let is_live = |it: &Slot<B>| it.life == Life::Live && it.address == address;
        match self.slots.as_ref().get(slot).is_some_and(is_live) {
            true => Ok(slot),
            false if address.peer != self.me() => Err(Error::NotHere),
            false => Err(Error::Vanished),
        }
    }
}

/// The letters of some memory.
pub type LetterOf<B> = Letter<<B as Memory>::In>;
