//! The mailboxes of one process over one channel. No call here blocks: whoever waits makes [progress](System::progress)
//! and asks again, which `pombo-netdrivers` does for threads.

use super::buffers::{Buffers, Use};
use super::class::{SizeClasses, room};
use super::error::Error;
use super::header::{Address, LARGE, Mail};
use super::name::Name;
use super::requests::{NameService, Request};
use super::slot::{Letter, Life, Slot, Tokens};
use crate::aspect::Slice;
use crate::aspect::Storage;
use crate::channel::{Channel, WaitSet};
use crate::communicator::{Endpoint, Mode, PointToPoint, PointToPointExt, Port};
use crate::config::{Config, Sizes};
use crate::error;
use crate::error::Refused;
use crate::header::Peer;
use crate::memory::{Loan, Memory, Ticket};

/// The numbers of the ports.
const LETTERS: usize = 0;
const CONTROL: usize = 1;

/// The mailboxes of one process.
pub struct System<L: Channel, B: Buffers, C: Config> {
    endpoint: Endpoint<L, (Port<Mail, B, C>, Port<Mail, B, C>)>,
    classes: SizeClasses,
    slots: <C::Storage as Storage>::Slice<Slot<B>, <C::Sizes as Sizes>::Operations>,
    names: NameService<C>,
    /// The number of processes, from the first on, that keep names.
    keepers: usize,
    /// The number of the last letter that this process has posted.
    posts: u32,
    /// The number of the mailbox whose messages to earlier ones are looked for next, and how many numbers have such.
    next_stale: usize,
    buried: usize,
    /// How many of these are still to be looked at since something has arrived.
    sweep: usize,
    /// Something may have arrived that is not handled.
    has_news: bool,
}

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
    large: bool,
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
    let version = (classes.limit() as u64) << 8 | 1;
    crate::fingerprint::<Mail, C>().rotate_left(1) ^ version
}

impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Creates the mailboxes of this process. All processes of the channel choose the same largest class.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the composition is too small for the channel, or has no rendezvous or no buffering.
    pub fn new(channel: L, classes: SizeClasses) -> Result<Self, Error> {
        let mut endpoint = Endpoint::two(channel)?;
        let (me, keepers) = (endpoint.me(), endpoint.peers());
        let names = NameService::new(me, &mut endpoint.port::<CONTROL>())?;
        Ok(System {
            endpoint,
            classes,
            slots: Slice::new(),
            names,
            keepers,
            posts: 0,
            next_stale: 0,
            buried: 0,
            sweep: 0,
            has_news: false,
        })
    }

    /// Lets the first so many processes alone keep names, one at least. All processes choose the same number, before the
    /// first mailbox.
    pub fn set_keepers(&mut self, keepers: usize) {
        self.keepers = keepers.clamp(1, self.endpoint.peers());
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
        self.has_news |= self.endpoint.port::<LETTERS>().check_messages()?;
        self.handle_news()
    }

    /// Handles what has arrived apart from messages; returns true if anything did.
    #[inline]
    fn handle_news(&mut self) -> Result<bool, Error> {
        let moved = core::mem::take(&mut self.has_news);
        if moved {
            self.names.serve(&mut self.endpoint.port::<CONTROL>())?;
            self.sweep = self.buried;
        }
        if self.sweep > 0 {
            self.drop_stale();
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

    /// Creates a mailbox; [`System::created`] tells when it is there.
    ///
    /// # Errors
    /// [`Error::TooManyMailboxes`], [`Error::NoMemory`]; [`Error::Kernel`]: the keeper of the name is lost, or a table is
    /// full.
    pub fn create(&mut self, name: Name) -> Result<(Address, Request), Error> {
        let free = |slot: &Slot<B>| slot.life == Life::Free;
        let index = match self.slots.as_ref().iter().position(free) {
            Some(index) => {
                let slot = &mut self.slots.as_mut()[index];
                slot.address.generation = slot.address.generation.wrapping_add(1);
                (slot.name, slot.life) = (name, Life::Asked);
                index
            }
            None => {
                let index = self.slots.as_ref().len();
                let number = u16::try_from(index).map_err(|_| Error::TooManyMailboxes)?;
                let address = Address {
                    peer: self.endpoint.me(),
                    index: number,
                    generation: 0,
                };
                let pushed = self.slots.push(Slot::new(address, name));
                pushed.map_err(|_| Error::TooManyMailboxes)?;
                index
            }
        };
        let address = self.slots.as_ref()[index].address;
        let control = &mut self.endpoint.port::<CONTROL>();
        match self.names.ask(control, self.keepers, name, Some(address)) {
            Ok(request) => Ok((address, request)),
            Err(error) => {
                self.slots.as_mut()[index].life = Life::Free;
                Err(error)
            }
        }
    }

    /// Returns whether the mailbox is live; `None` while that is not known.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::TooManyNames`]; [`Error::Kernel`]: the keeper is lost.
    pub fn created(&mut self, address: Address, request: &Request) -> Option<Result<(), Error>> {
        let reply = NameService::replied(&mut self.endpoint.port::<CONTROL>(), request)?;
        let slot = self.slots.as_mut().get_mut(usize::from(address.index))?;
        Some(match reply {
            Ok(_) => {
                slot.start(&mut self.endpoint.port::<LETTERS>(), self.classes);
                Ok(())
            }
            Err(error) => {
                slot.life = Life::Free;
                // A keeper that is lost may have granted the name, and told others.
                if let Error::Kernel(_) = error {
                    self.bury(usize::from(address.index));
                }
                Err(error)
            }
        })
    }

    /// Gives a creation up whose reply has not come.
    pub fn abandon(&mut self, address: Address, request: &Request) {
        self.withdraw(request);
        // It may have been granted; the keeper answers requests of one process in their order.
        let control = &mut self.endpoint.port::<CONTROL>();
        self.names
            .forget(control, self.keepers, request.name(), address);
        // Others may have found it, and post to it.
        self.bury(usize::from(address.index));
    }

    /// Asks which mailbox has a name; [`System::found`] tells.
    ///
    /// # Errors
    /// As [`System::create`].
    pub fn lookup(&mut self, name: Name) -> Result<Request, Error> {
        let control = &mut self.endpoint.port::<CONTROL>();
        self.names.ask(control, self.keepers, name, None)
    }

    /// Returns the mailbox of a name; `None` while that is not known.
    ///
    /// # Errors
    /// [`Error::NoSuchName`]: there is none yet, so ask again; [`Error::Kernel`]: the keeper is lost.
    pub fn found(&mut self, request: &Request) -> Option<Result<Address, Error>> {
        NameService::replied(&mut self.endpoint.port::<CONTROL>(), request)
    }

    /// Gives a request up whose reply has not come.
    pub fn withdraw(&mut self, request: &Request) {
        if let Some(ticket) = request.reply() {
            self.names
                .withdraw(&mut self.endpoint.port::<CONTROL>(), ticket);
        }
    }

    /// Destroys a mailbox of this process. Messages in it are dropped, and so are those that come later; every process is
    /// told.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`].
    pub fn destroy(&mut self, address: Address) -> Result<(), Error> {
        let peers = self.endpoint.peers();
        let name = live(self.slots.as_mut(), self.endpoint.me(), address)?.name;
        self.bury(usize::from(address.index));
        let control = &mut self.endpoint.port::<CONTROL>();
        self.names.forget(control, self.keepers, &name, address);
        let others = (0..peers as u16).map(Peer);
        for peer in others.filter(|peer| *peer != address.peer) {
            self.names.tell_gone(control, peer, address);
        }
        Ok(())
    }

    /// Ends a mailbox: receives of it are withdrawn, and messages to it are dropped from now on.
    fn bury(&mut self, index: usize) {
        let Some(slot) = self.slots.as_mut().get_mut(index) else {
            return;
        };
        slot.life = Life::Free;
        self.buried += usize::from(slot.buried.is_none());
        slot.buried = Some(slot.address);
        let letters = &mut self.endpoint.port::<LETTERS>();
        slot.stop(letters);
        slot.stop_stale(letters, LETTERS);
        slot.drop_stale(letters, LETTERS);
        let control = &mut self.endpoint.port::<CONTROL>();
        slot.stop_large(control);
        slot.stop_stale(control, CONTROL);
        slot.drop_stale(control, CONTROL);
    }

    /// Drops messages to destroyed mailboxes, and tells their senders: of some mailboxes in every round, until all have had
    /// their turn since something has arrived.
    #[cold]
    fn drop_stale(&mut self) {
        const ROUND: usize = 8;
        let slots = self.slots.as_mut();
        for _ in 0..ROUND.min(slots.len()) {
            self.next_stale = (self.next_stale + 1) % slots.len();
            let slot = &mut slots[self.next_stale];
            if slot.buried.is_none() {
                continue;
            }
            self.sweep = self.sweep.saturating_sub(1);
            loop {
                let letter = slot.drop_stale(&mut self.endpoint.port::<LETTERS>(), LETTERS);
                let control = &mut self.endpoint.port::<CONTROL>();
                let large = slot.drop_stale(control, CONTROL);
                for (from, gone) in [letter, large].into_iter().flatten() {
                    self.names.tell_gone(control, from, gone);
                }
                if letter.is_none() && large.is_none() {
                    break;
                }
            }
        }
    }

    /// Posts a message that has a size class. The kernel sends it as soon as there is credit and room, in the order of
    /// posts to that process.
    ///
    /// # Errors
    /// The memory comes back with [`Error::Vanished`], [`Error::TooLong`], or [`Error::Kernel`]: the process is lost, or
    /// the table of operations is full.
    #[inline]
    pub fn post(&mut self, to: Address, out: B::Out) -> Result<Posted<B::Out>, (B::Out, Error)> {
        let len = crate::Source::len(&out);
        let Some(class) = self.classes.of(len) else {
            let limit = self.classes.longest();
            return Err((out, Error::TooLong { len, limit }));
        };
        if self.is_gone(to) {
            return Err((out, Error::Vanished));
        }
        self.posts = self.posts.wrapping_add(1);
        let mail = Mail::to(class, to, self.posts);
        let mut letters = self.endpoint.port::<LETTERS>();
        match letters.try_inject(to.peer, mail, &out) {
            Ok(true) => return Ok(Posted::Done(out)),
            Ok(false) => {}
            Err(error) => return Err((out, error.into())),
        }
        let large = false;
        match letters.isend(to.peer, mail, out) {
            Ok(ticket) => Ok(Posted::Waiting(Sent { ticket, to, large })),
            Err(Refused { loan, error }) => Err((loan, error.into())),
        }
    }

    /// Posts a message of any length by the large protocol: it is announced, and leaves when its mailbox is retrieved
    /// from.
    ///
    /// # Errors
    /// As [`System::post`], without [`Error::TooLong`].
    pub fn post_large(&mut self, to: Address, out: B::Out) -> Result<Sent, (B::Out, Error)> {
        if self.is_gone(to) {
            return Err((out, Error::Vanished));
        }
        let mail = Mail::to(LARGE, to, 0);
        let mut control = self.endpoint.port::<CONTROL>();
        let large = true;
        match control.isend_as(Mode::Synchronous, to.peer, mail, out) {
            Ok(ticket) => Ok(Sent { ticket, to, large }),
            Err(Refused { loan, error }) => Err((loan, error.into())),
        }
    }

    /// Returns the memory of a message that has left, and whether its mailbox has taken it; `None` while it has not left.
    /// A small message has left when the driver, or the pool of the other process, has taken it.
    pub fn posted(&mut self, sent: &Sent) -> Option<(B::Out, Result<(), Error>)> {
        let completed = self.port_of(sent).claim(sent.ticket).ok().flatten()?;
        let Loan::Sent(out) = completed.loan else {
            return None;
        };
        let outcome = match completed.outcome {
            Ok(_) if self.is_gone(sent.to) => Err(Error::Vanished),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        };
        Some((out, outcome))
    }

    /// Takes a message back that has not left, or that nobody has begun to retrieve. `None` if it was returned before.
    pub fn take_back(&mut self, sent: &Sent) -> Option<B::Out> {
        match self.port_of(sent).release(sent.ticket)? {
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
        let slot = live(self.slots.as_mut(), self.endpoint.me(), address)?;
        let letters = &mut self.endpoint.port::<LETTERS>();
        while let Some(found) = slot.find(letters, self.classes) {
            if let Some(letter) = slot.take(letters, found, self.classes)? {
                return Ok(Some(letter));
            }
        }
        slot.large(&mut self.endpoint.port::<CONTROL>())
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
        if letter.to != address || letter.class == LARGE {
            self.give_back(letter);
            return self.retrieve(address);
        }
        let Letter { to, class, .. } = letter;
        let mut buffer = B::provide(Some(letter.buffer), room(class), Use::Class);
        while let Some(into) = &mut buffer
            && goes_on()
        {
            self.handle_news()?;
            let slot = live(self.slots.as_mut(), self.endpoint.me(), address)?;
            let is_quiet = self.endpoint.port::<CONTROL>().lengths().unexpected == 0;
            let letters = &mut self.endpoint.port::<LETTERS>();
            let Some(posted) = slot.idle_receive(letters, class).filter(|_| is_quiet) else {
                break;
            };
            self.has_news = true;
            if let Some(received) = letters.recv_instead(posted, into, NO_SLEEP)? {
                // One that is too long comes from a sender of another kind.
                if received.outcome.is_ok() {
                    let from = received.envelope.peer();
                    return Ok(buffer.map(|buffer| Letter {
                        buffer,
                        from,
                        to,
                        class,
                    }));
                }
                buffer =
                    buffer.and_then(|buffer| B::provide(Some(buffer), room(class), Use::Class));
            }
        }
        let slot = live(self.slots.as_mut(), self.endpoint.me(), address)?;
        slot.post_again(
            &mut self.endpoint.port::<LETTERS>(),
            class,
            buffer,
            self.classes,
        );
        self.retrieve(address)
    }

    /// Posts the buffer of a message again. If its mailbox is gone, the buffer is dropped.
    pub fn give_back(&mut self, letter: LetterOf<B>) {
        if let Ok(slot) = live(self.slots.as_mut(), self.endpoint.me(), letter.to) {
            let letters = &mut self.endpoint.port::<LETTERS>();
            slot.give_back(letters, letter, self.classes);
        }
    }

    /// Provides the buffers of the size class of messages of `len` bytes before the first of them comes, which otherwise
    /// provides them. Returns false if they are there, or there is no such class.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`].
    pub fn provide(&mut self, address: Address, len: usize) -> Result<bool, Error> {
        let slot = live(self.slots.as_mut(), self.endpoint.me(), address)?;
        let letters = &mut self.endpoint.port::<LETTERS>();
        let class = self.classes.of(len);
        Ok(class.is_some_and(|class| slot.provide(letters, class, self.classes)))
    }

    /// Returns the tokens of the size class of messages of `len` bytes.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::NotHere`], [`Error::TooLong`].
    pub fn tokens(&mut self, address: Address, len: usize) -> Result<Tokens, Error> {
        let limit = self.classes.longest();
        let class = self.classes.of(len).ok_or(Error::TooLong { len, limit })?;
        let slot = live(self.slots.as_mut(), self.endpoint.me(), address)?;
        Ok(slot.tokens(class))
    }

    /// Returns whether the call of someone who waits would now return, or fail.
    pub fn is_ready(&mut self, want: &Want) -> bool {
        match want {
            Want::Message(address) => {
                let Ok(slot) = live(self.slots.as_mut(), self.endpoint.me(), *address) else {
                    return true;
                };
                let letters = &mut self.endpoint.port::<LETTERS>();
                slot.find(letters, self.classes).is_some()
                    || slot.has_large(&mut self.endpoint.port::<CONTROL>())
            }
            Want::Sent(sent) => !matches!(self.port_of(sent).peek(sent.ticket), Ok(None)),
            Want::Reply(request) => request.reply().is_none_or(|ticket| {
                !matches!(self.endpoint.port::<CONTROL>().peek(ticket), Ok(None))
            }),
            Want::Nothing => false,
        }
    }

    /// Returns the port on which a message was sent.
    fn port_of(
        &mut self,
        sent: &Sent,
    ) -> impl PointToPointExt<Header = Mail, Memory = B, Config = C> {
        match sent.large {
            true => self.endpoint.port::<CONTROL>(),
            false => self.endpoint.port::<LETTERS>(),
        }
    }

    /// Returns whether a mailbox is known to be gone.
    fn is_gone(&mut self, address: Address) -> bool {
        match address.peer == self.endpoint.me() {
            true => live(self.slots.as_mut(), address.peer, address).is_err(),
            false => self.names.is_gone(address),
        }
    }
}

/// The letters of some memory.
pub type LetterOf<B> = Letter<<B as Memory>::In>;

/// Returns the mailbox of that address.
fn live<B: Buffers>(
    slots: &mut [Slot<B>],
    me: Peer,
    address: Address,
) -> Result<&mut Slot<B>, Error> {
    if address.peer != me {
        return Err(Error::NotHere);
    }
    let slot = slots.get_mut(usize::from(address.index));
    let slot = slot.filter(|slot| slot.life == Life::Live && slot.address == address);
    slot.ok_or(Error::Vanished)
}
