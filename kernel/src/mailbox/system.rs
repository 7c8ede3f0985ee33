//! The mailboxes of one process over one channel. No call here blocks: whoever waits makes [progress](System::progress)
//! and asks again, which `pombo-netdrivers` does for threads.

use super::class::{SizeClasses, room};
use super::error::Error;
use super::header::{Address, LARGE, Mail};
use super::names::{Name, Request};
use super::state::{Buffers, CONTROL, LETTERS, Life, Names, Slot, System, put};
use super::tokens::{Letter, Tokens};
use crate::aspect::Slice;
use crate::channel::{Channel, WaitSet};
use crate::communicator::{Endpoint, Mode, PointToPoint, PointToPointExt};
use crate::config::Config;
use crate::error::{self, Refused};
use crate::header::Peer;
use crate::memory::{Loan, Memory, Source, Ticket};

/// The result of a post.
#[derive(Debug)]
pub enum Posted<O> {
    /// The message has left, and its memory comes back.
    Done(O),
    /// The memory is lent until [`System::posted`] returns it.
    Waiting(Sent),
}

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
    crate::fingerprint::<Mail, C>().rotate_left(1) ^ ((classes.limit() as u64) << 8 | 2)
}

impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Creates the mailboxes of this process. All processes of the channel choose the same largest class.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the composition is too small for the channel, or has no rendezvous or no buffering.
    pub fn new(channel: L, classes: SizeClasses) -> Result<Self, Error> {
        let endpoint = Endpoint::two(channel)?;
        let (slots, names) = (Slice::new(), Names::new(endpoint.peers()));
        let (posts, state, taken_back) = (0, 0, Slice::new());
        let (has_news, has_destroyed) = (false, false);
        let mut system = System {
            endpoint,
            classes,
            slots,
            names,
            posts,
            state,
            has_news,
            has_destroyed,
            taken_back,
        };
        system.serve()?;
        Ok(system)
    }

    /// Lets the first so many processes alone keep names, one at least. All processes choose the same number, before the
    /// first mailbox.
    pub fn set_keepers(&mut self, keepers: usize) {
        self.names.keepers = keepers.clamp(1, self.peers());
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
            if self.has_destroyed {
                self.drop_stale();
            }
            let mut control = self.endpoint.port::<CONTROL>();
            for place in self.taken_back.as_mut() {
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
        let slots = self.slots.as_ref();
        let free = slots.iter().position(|slot| slot.life == Life::Free);
        let place = free.unwrap_or(slots.len());
        let index = u16::try_from(place).map_err(|_| Error::TooManyMailboxes)?;
        let generation = slots
            .get(place)
            .map_or(0, |slot| slot.address.generation.wrapping_add(1));
        let address = Address {
            peer: self.me(),
            index,
            generation,
        };
        let request = self.ask(name, Some(address))?;
        match free {
            Some(place) => {
                let slot = &mut self.slots.as_mut()[place];
                (slot.life, slot.address, slot.name) = (Life::Asked, address, name);
            }
            None => {
                let pushed = self.slots.push(Slot::new(address, name));
                pushed
                    .map_err(|_| Error::TooManyMailboxes)
                    .inspect_err(|_| self.withdraw(&request))?;
            }
        }
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
    /// [`Error::Kernel`]: the keeper is lost.
    pub fn found(&mut self, request: &Request) -> Option<Result<Address, Error>> {
        let answer = self.peek_answer(request)?;
        match (&answer, request.create) {
            (Ok(_), Some(address)) => self.start(address.index.into()),
            // A keeper that is lost may have granted the name, and told others.
            (Err(Error::Kernel(_)), Some(address)) => self.bury(address, request.name),
            // Nobody can have found it.
            (Err(_), Some(address)) => self.end(address),
            _ => {}
        }
        self.forget(request);
        Some(answer)
    }

    /// Gives a request up whose reply has not come. A mailbox that was created by it is destroyed.
    pub fn withdraw(&mut self, request: &Request) {
        self.forget(request);
        // Others may have found it; the keeper answers requests of one process in their order.
        if let Some(address) = request.create {
            self.bury(address, request.name);
        }
    }

    /// Destroys a mailbox of this process. Messages in it are dropped, and so are those that come later; every process is
    /// told.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`].
    pub fn destroy(&mut self, address: Address) -> Result<(), Error> {
        let slot = self.live(address)?;
        self.bury(address, self.slots.as_ref()[slot].name);
        let others = (0..self.peers() as u16).map(Peer);
        others
            .filter(|peer| *peer != address.peer)
            .for_each(|peer| self.tell_gone(peer, address));
        Ok(())
    }

    /// Ends a mailbox: its receives are withdrawn, its name is free, and messages to it are dropped from now on.
    fn bury(&mut self, address: Address, name: Name) {
        self.free_name(&name, address);
        self.end(address);
        self.has_destroyed = true;
    }

    /// Frees the place of a mailbox, unless it has another one.
    fn end(&mut self, address: Address) {
        let slot = self.slots.as_ref().get(usize::from(address.index));
        if slot.is_some_and(|slot| slot.address == address) {
            self.stop(address.index.into());
        }
    }

    /// Posts a message: one that has a size class, in the order of posts to that process, or one of any length by the large
    /// protocol. That one is announced, and leaves when its mailbox is retrieved from.
    ///
    /// # Errors
    /// The memory comes back with [`Error::Vanished`], [`Error::TooLong`] if there is no class, or [`Error::Kernel`]: the
    /// process is lost, or the table of operations is full.
    #[inline]
    pub fn post(&mut self, to: Address, out: B::Out, is_large: bool) -> PostResult<B> {
        let (len, limit) = (out.len(), self.classes.longest());
        let class = if is_large {
            Some(LARGE)
        } else {
            self.classes.of(len)
        };
        let Some(class) = class.filter(|_| !self.is_gone(to)) else {
            let too_long = Error::TooLong { len, limit };
            return Err((out, class.map_or(too_long, |_| Error::Vanished)));
        };
        self.posts = self.posts.wrapping_add(u32::from(!is_large));
        let mail = Mail::new(class, to, self.posts);
        if !is_large {
            match self
                .endpoint
                .port::<LETTERS>()
                .try_inject(to.peer, mail, &out)
            {
                Ok(true) => return Ok(Posted::Done(out)),
                Ok(false) => {}
                Err(error) => return Err((out, error.into())),
            }
        }
        let mode = if is_large {
            Mode::Synchronous
        } else {
            Mode::Standard
        };
        match self.port_of(is_large).isend_as(mode, to.peer, mail, out) {
            Ok(ticket) => Ok(Posted::Waiting(Sent {
                ticket,
                to,
                is_large,
            })),
            Err(Refused { loan, error }) => Err((loan, error.into())),
        }
    }

    /// Returns the memory of a message that has left, and whether its mailbox has taken it; `None` while it has not left.
    /// A small message has left when the driver, or the pool of the other process, has taken it.
    pub fn posted(&mut self, sent: &Sent) -> Option<(B::Out, Result<(), Error>)> {
        let is_gone = self.is_gone(sent.to);
        if is_gone && !sent.is_large {
            return Some((self.take_back(sent)?, Err(Error::Vanished)));
        }
        let completed = self
            .port_of(sent.is_large)
            .claim(sent.ticket)
            .ok()
            .flatten()?;
        let vanished = is_gone.then_some(Err(Error::Vanished));
        match completed.loan {
            Loan::Sent(out) => Some((
                out,
                vanished.unwrap_or(completed.outcome.map(drop).map_err(Error::from)),
            )),
            Loan::Received(_) => None,
        }
    }

    /// Takes a message back that has not left, or that nobody has begun to retrieve. `None` if it was returned before, and
    /// for a large one, whose memory is dropped as soon as no receiver can be reading it where it is.
    pub fn take_back(&mut self, sent: &Sent) -> Option<B::Out> {
        if sent.is_large {
            let mut control = self.endpoint.port::<CONTROL>();
            // Where that fails it has ended, or the channel is broken.
            if control.cancel(sent.ticket).is_ok() {
                self.state = self.state.wrapping_add(1);
                let _ = put(&mut self.taken_back, sent.ticket);
            }
            return None;
        }
        match self.endpoint.port::<LETTERS>().release(sent.ticket)? {
            Loan::Sent(out) => Some(out),
            Loan::Received(_) => None,
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
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<LetterOf<B>>, Error> {
        const NO_SLEEP: u32 = 2;
        let Letter {
            buffer, to, class, ..
        } = letter;
        let mut buffer = Some(buffer);
        while to == address && class != LARGE && goes_on() {
            self.serve()?;
            let slot = self.live(address)?;
            if self.find(slot).is_some() || self.endpoint.port::<CONTROL>().lengths().unexpected > 0
            {
                break;
            }
            buffer = B::provide(buffer, room(class), false);
            let receive = self.slots.as_ref()[slot].idle_receive(class);
            let (Some(receive), Some(into)) = (receive, &mut buffer) else {
                break;
            };
            let mut letters = self.endpoint.port::<LETTERS>();
            let before = letters.lengths().expected;
            let received = letters.recv_instead(receive, into, NO_SLEEP)?;
            self.has_news = true;
            // What has found a posted receive meanwhile is looked for before the next round.
            if letters.lengths().expected != before {
                self.state = self.state.wrapping_add(1);
            }
            // One that is too long comes from a sender of another kind.
            if let Some(from) = received.and_then(|it| it.outcome.ok().map(|_| it.envelope.peer()))
            {
                return Ok(buffer.map(|buffer| Letter {
                    buffer,
                    from,
                    to,
                    class,
                }));
            }
        }
        if let Ok(slot) = self.live(to) {
            self.post_again(slot, class, buffer);
        }
        self.retrieve(address)
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
                let has_left = !matches!(self.port_of(sent.is_large).peek(sent.ticket), Ok(None));
                has_left || !sent.is_large && self.is_gone(sent.to)
            }
            Want::Reply(request) => self.peek_answer(request).is_some(),
            Want::Nothing => false,
        }
    }

    /// Returns the port of large messages, or of letters.
    fn port_of(
        &mut self,
        is_large: bool,
    ) -> impl PointToPointExt<Header = Mail, Memory = B, Config = C> {
        match is_large {
            true => self.endpoint.port::<CONTROL>(),
            false => self.endpoint.port::<LETTERS>(),
        }
    }

    /// Returns whether a mailbox is known to be gone.
    #[inline]
    fn is_gone(&self, address: Address) -> bool {
        match address.peer == self.me() {
            true => self.live(address).is_err(),
            false => self.names.is_gone(address),
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

/// What a post returns.
pub type PostResult<B> = Result<Posted<<B as Memory>::Out>, (<B as Memory>::Out, Error)>;
