//! The calls that threads make: each waits, with a time-out where it may take long, at the hand-over.

use super::hand_over::{Driven, HandOver};
use super::heap::{Buffer, Heap, Packed};
use super::message::{GiveBack, Message};
use super::sync::Bell;
use crate::HeapStorage;
use crate::tuning::{LOOKUP_INTERVALS, SHORT_SLEEP};
use crate::wait::now;
use alloc::sync::Arc;
use core::time::Duration;
use pombo_kernel::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Unobserved};
use pombo_kernel::channel::{Channel, WaitSet};
use pombo_kernel::mailbox::{
    self, Address, Error, Letter, Name, Request, Sent, SizeClasses, System, Tokens, Want,
};
use pombo_kernel::matching::Binned;
use pombo_kernel::prelude::U64;
use pombo_kernel::{Capacities, Composition, Peer};

/// The composition of mailboxes: of up to 1024 processes.
pub type Mailing = Composition<
    U64,
    Rendezvous<8192>,
    Binned,
    HeapStorage,
    Capacities<{ 1 << 20 }, 2048, 8192, 1024>,
    Unobserved,
    NoDatatypes,
    Homogeneous,
    Buffered,
>;

/// Returns a number that the processes of a job must share, to be compared at its start.
pub const fn fingerprint(classes: SizeClasses) -> u64 {
    mailbox::fingerprint::<Mailing>(classes)
}

type Core<L> = System<L, Heap, Mailing>;

type Shared<L> = Arc<HandOver<Core<L>>>;

/// The mailboxes of a process, shared by its threads.
pub struct Mailboxes<L: Channel>(Shared<L>);

impl<L: Channel> Clone for Mailboxes<L> {
    fn clone(&self) -> Self {
        Mailboxes(self.0.clone())
    }
}

impl<L: Channel> Driven for Core<L> {
    type Want = Want;
    type Error = Error;

    #[inline]
    fn progress(&mut self) -> Result<bool, Error> {
        System::progress(self)
    }

    fn is_ready(&mut self, want: &Want) -> bool {
        System::is_ready(self, want)
    }

    fn wait(&mut self, idle: u32, deadline: Option<u64>, bell: &Bell) -> Result<(), Error> {
        let mut other = WaitSet::timeout(u64::MAX);
        match bell.descriptor() {
            Some(descriptor) => other.readable[0] = descriptor,
            None => other = other.at_most(SHORT_SLEEP),
        }
        if let Some(deadline) = deadline {
            other = other.at_most(deadline.saturating_sub(now()));
        }
        System::wait(self, idle, other)
    }
}

impl<L: Channel + Send> GiveBack for HandOver<Core<L>> {
    fn give_back(&self, letter: Letter<Buffer>) {
        self.with(|core| core.give_back(letter));
    }
}

/// Returns the time at which a call gives up.
fn after(timeout: Duration) -> Option<u64> {
    let nanoseconds = u64::try_from(timeout.as_nanos()).ok()?;
    now().checked_add(nanoseconds)
}

impl<L: Channel + Send> Mailboxes<L> {
    /// Creates the mailboxes of this process over a channel. All processes choose the same largest class.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the channel has more than 1024 processes.
    pub fn new(channel: L, classes: SizeClasses) -> Result<Self, Error> {
        let system = System::new(channel, classes)?;
        Ok(Mailboxes(Arc::new(HandOver::new(system))))
    }

    /// Lets the first so many processes alone keep names: where others join the job later. All processes choose the same
    /// number, before the first mailbox.
    pub fn set_keepers(&self, keepers: usize) {
        self.0.with(|core| core.set_keepers(keepers));
    }

    /// Returns the number of this process.
    pub fn me(&self) -> Peer {
        self.0.with(|core| core.me())
    }

    /// Returns the number of processes.
    pub fn peers(&self) -> usize {
        self.0.with(|core| core.peers())
    }

    /// Creates a mailbox, from which threads of this process retrieve. Waits for the process that keeps the name.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::Exists`], [`Error::TooManyMailboxes`], [`Error::TooManyNames`]; [`Error::TimedOut`]: the
    /// keeper of the name made no call in that time; [`Error::Kernel`]: the keeper is lost.
    pub fn create(&self, name: &str, timeout: Duration) -> Result<Mailbox<L>, Error> {
        let name = Name::new(name)?;
        let request = self.0.with(|core| core.create(name))?;
        let address = self.answer(&request, after(timeout))?;
        Ok(self.mailbox(address.ok_or(Error::TimedOut)?, true))
    }

    /// Finds the mailbox of a name, which a thread of any process has created or will create in that time.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::NoSuchName`]; [`Error::Kernel`]: the process that keeps the name is lost.
    pub fn clone_mailbox(&self, name: &str, timeout: Duration) -> Result<Mailbox<L>, Error> {
        let (name, deadline) = (Name::new(name)?, after(timeout));
        let mut interval = *LOOKUP_INTERVALS.start();
        loop {
            let request = self.0.with(|core| core.lookup(name))?;
            match self.answer(&request, deadline) {
                Ok(Some(address)) => return Ok(self.mailbox(address, false)),
                Err(Error::NoSuchName) if deadline.is_none_or(|deadline| now() < deadline) => {}
                other => return Err(other.err().unwrap_or(Error::NoSuchName)),
            }
            let again = deadline.unwrap_or(u64::MAX).min(now() + interval);
            let nothing = |_: &mut Core<L>| Ok(None::<()>);
            self.0.wait_for(Some(again), nothing, || Want::Nothing)?;
            interval = (2 * interval).min(*LOOKUP_INTERVALS.end());
        }
    }

    fn mailbox(&self, address: Address, is_owner: bool) -> Mailbox<L> {
        let shared = self.0.clone();
        Mailbox {
            shared,
            address,
            is_owner,
        }
    }

    /// Waits for the answer to a request, which is given up at the deadline.
    fn answer(&self, request: &Request, deadline: Option<u64>) -> Result<Option<Address>, Error> {
        let found = |core: &mut Core<L>| core.found(request).transpose();
        let answer = self.0.wait_for(deadline, found, || Want::Reply(*request))?;
        if answer.is_none() {
            self.0.with(|core| core.withdraw(request));
        }
        Ok(answer)
    }

    /// Makes progress for all threads until `is_over` says so: for a receiver thread. `is_over` is asked after every event
    /// and every [`Self::wake`], and must neither call mailboxes nor panic. While other threads wait in calls, they
    /// receive, and this one sleeps, as it does while another receiver thread of the process serves.
    ///
    /// # Errors
    /// [`Error::Kernel`] when the channel is broken.
    pub fn serve(&self, is_over: impl Fn() -> bool) -> Result<(), Error> {
        self.0.serve(is_over)
    }

    /// Makes every thread that waits, or serves, look again whether that is over.
    pub fn wake(&self) {
        self.0.wake_all();
    }

    /// Waits until the channel has taken all that was due, and `is_settled` says that it has delivered that: before the
    /// process leaves its job. Other processes must not need this one any more, also not as the keeper of a name.
    ///
    /// # Errors
    /// [`Error::Kernel`] when the channel is broken.
    pub fn settle(&self, mut is_settled: impl FnMut(&mut L) -> bool) -> Result<(), Error> {
        // No event tells of it, so this thread looks again and again, whoever makes progress.
        let mut settled = |core: &mut Core<L>| {
            let over = core.is_flushed() && is_settled(core.channel_mut());
            Ok(over.then_some(()))
        };
        loop {
            let soon = Some(now() + SHORT_SLEEP);
            let over = self.0.wait_for(soon, &mut settled, || Want::Nothing)?;
            if over.is_some() {
                return Ok(());
            }
        }
    }

    /// Runs `f` with the channel. Sending on it directly breaks the kernel's order.
    pub fn with_channel<R>(&self, f: impl FnOnce(&mut L) -> R) -> R {
        self.0.with(|core| f(core.channel_mut()))
    }
}

/// A mailbox: threads of any process post to it, those of the process that created it retrieve. Dropping the one that
/// [`Mailboxes::create`] returned destroys it; dropping a clone does nothing.
pub struct Mailbox<L: Channel + Send> {
    shared: Shared<L>,
    address: Address,
    is_owner: bool,
}

impl<L: Channel + Send> Clone for Mailbox<L> {
    fn clone(&self) -> Self {
        Mailbox {
            shared: self.shared.clone(),
            is_owner: false,
            ..*self
        }
    }
}

impl<L: Channel + Send> Drop for Mailbox<L> {
    fn drop(&mut self) {
        if self.is_owner {
            let destroyed = self.shared.with(|core| core.destroy(self.address));
            // Only its owner destroys it.
            debug_assert!(destroyed.is_ok());
        }
    }
}

impl<L: Channel + Send> Mailbox<L> {
    /// Returns the process that created the mailbox.
    pub fn peer(&self) -> Peer {
        self.address.peer
    }

    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Core<L>) -> R) -> R {
        self.shared.with(f)
    }

    /// Posts what is packed in the message, which can be used again when the call returns: the message has left.
    ///
    /// # Errors
    /// [`Error::TooLong`]: use [`Self::post_large`]; [`Error::Vanished`]; [`Error::Kernel`]: the process of the mailbox is
    /// lost.
    #[inline]
    pub fn post(&self, message: &mut Message) -> Result<(), Error> {
        self.post_before(message, None)
    }

    /// Posts as [`Self::post`], for at most that time.
    ///
    /// # Errors
    /// As [`Self::post`]; [`Error::MailboxFull`]: the message was not posted.
    pub fn post_timeout(&self, message: &mut Message, timeout: Duration) -> Result<(), Error> {
        self.post_before(message, after(timeout))
    }

    #[inline]
    fn post_before(&self, message: &mut Message, deadline: Option<u64>) -> Result<(), Error> {
        let (to, packed) = (self.address, &mut message.packed);
        match self.with(|core| core.post(to, packed, false))? {
            None => Ok(()),
            Some(sent) => self.wait_sent(sent, packed, deadline),
        }
    }

    #[cold]
    fn wait_sent(
        &self,
        sent: Sent,
        packed: &mut Packed,
        deadline: Option<u64>,
    ) -> Result<(), Error> {
        let left = left(&self.shared, sent, deadline);
        let error = left.as_ref().err().copied().unwrap_or(Error::MailboxFull);
        // The message may have left in between.
        let left = left
            .unwrap_or_default()
            .or_else(|| self.with(|core| core.posted(&sent, Some(error))));
        let outcome;
        (*packed, outcome) = left.ok_or(error)?;
        outcome
    }

    /// Posts a message of any length, without waiting: the ticket has what is packed until it has left, which it does when
    /// its mailbox is retrieved from and this process makes progress.
    ///
    /// # Errors
    /// [`Error::Vanished`], [`Error::Kernel`]; the message stays as it is.
    pub fn post_large(&self, message: &mut Message) -> Result<LargeTicket<L>, Error> {
        message.packed.is_large = true;
        let sent = self.with(|core| core.post(self.address, &mut message.packed, true));
        message.packed.is_large = false;
        let (shared, sent) = (self.shared.clone(), sent?);
        Ok(LargeTicket { shared, sent })
    }

    /// Waits for the next message; the buffer that the message refers to returns to its mailbox before.
    ///
    /// # Errors
    /// [`Error::NotHere`]; [`Error::Vanished`], also if another thread destroys the mailbox meanwhile;
    /// [`Error::NoMemory`]: a large message stays with its sender.
    #[inline]
    pub fn retrieve(&self, message: &mut Message) -> Result<(), Error> {
        self.retrieve_before(message, None)
    }

    /// Waits as [`Self::retrieve`] does, for at most that time.
    ///
    /// # Errors
    /// As [`Self::retrieve`], and [`Error::TimedOut`].
    pub fn retrieve_timeout(&self, message: &mut Message, timeout: Duration) -> Result<(), Error> {
        self.retrieve_before(message, after(timeout))
    }

    #[inline]
    fn retrieve_before(&self, message: &mut Message, deadline: Option<u64>) -> Result<(), Error> {
        let (shared, address) = (&self.shared, self.address);
        if let Some((letter, owner)) = message.take_letter(shared) {
            let next = shared.with_time(|core, time| core.exchange(address, letter, time));
            if let Some(letter) = next? {
                message.set_letter(letter, owner);
                return Ok(());
            }
        }
        let next = |core: &mut Core<L>| core.retrieve(address);
        let letter = shared.wait_for(deadline, next, || Want::Message(address))?;
        message.set_letter(letter.ok_or(Error::TimedOut)?, shared.clone());
        Ok(())
    }

    /// Retrieves a message if there is one, after one round of progress; returns whether there was.
    ///
    /// # Errors
    /// As [`Self::retrieve`].
    pub fn try_retrieve(&self, message: &mut Message) -> Result<bool, Error> {
        match self.retrieve_timeout(message, Duration::ZERO) {
            Err(Error::TimedOut) => Ok(false),
            retrieved => retrieved.map(|()| true),
        }
    }

    /// Provides the buffers for messages of `len` bytes before the first of them comes, which otherwise does it.
    ///
    /// # Errors
    /// As [`Self::tokens`].
    pub fn provide(&self, len: usize) -> Result<Tokens, Error> {
        self.with(|core| core.tokens(self.address, len, true))
    }

    /// Returns the tokens of the size class of messages of `len` bytes.
    ///
    /// # Errors
    /// [`Error::NotHere`], [`Error::Vanished`], [`Error::TooLong`].
    pub fn tokens(&self, len: usize) -> Result<Tokens, Error> {
        self.with(|core| core.tokens(self.address, len, false))
    }
}

/// A large message that is posted. Dropping it takes the message back, if nobody has begun to retrieve it.
#[must_use = "dropping it takes the message back"]
pub struct LargeTicket<L: Channel + Send> {
    shared: Shared<L>,
    sent: Option<Sent>,
}

impl<L: Channel + Send> LargeTicket<L> {
    /// Waits until the message has left for whoever retrieves it, and returns it to be used again.
    ///
    /// # Errors
    /// [`Error::Vanished`]: the mailbox was destroyed, perhaps after the message was retrieved; [`Error::Kernel`]: its
    /// process is lost.
    pub fn wait(mut self) -> Result<Message, Error> {
        let retrieved = self.wait_before(None)?;
        retrieved.ok_or(Error::TimedOut)
    }

    /// Waits as [`Self::wait`] does, for at most that time; `None` on time-out, when the message is still posted.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<Option<Message>, Error> {
        self.wait_before(after(timeout))
    }

    fn wait_before(&mut self, deadline: Option<u64>) -> Result<Option<Message>, Error> {
        let Some(sent) = self.sent else {
            return Ok(None);
        };
        let Some((packed, outcome)) = left(&self.shared, sent, deadline)? else {
            return Ok(None);
        };
        self.sent = None;
        outcome.map(|()| Some(Message::of(packed.bytes)))
    }
}

impl<L: Channel + Send> Drop for LargeTicket<L> {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            self.shared.with(|core| core.revoke(&sent));
        }
    }
}

/// The memory of a message that has left, and whether its mailbox has taken it.
type Left = (Packed, Result<(), Error>);

/// Waits until a message has left; `None` if the deadline passes first.
fn left<L: Channel + Send>(
    shared: &Shared<L>,
    sent: Sent,
    deadline: Option<u64>,
) -> Result<Option<Left>, Error> {
    let posted = |core: &mut Core<L>| Ok(core.posted(&sent, None));
    shared.wait_for(deadline, posted, || Want::Sent(sent))
}
