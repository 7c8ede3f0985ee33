//! What the mailboxes of a process consist of. Only `mailbox` uses it.

use super::class::{CLASSES, MAX_BUFFERS, SizeClasses};
use super::error::Error;
use super::header::{Address, Mail};
use super::names::Name;
use crate::aspect::{Slice, Storage};
use crate::channel::Channel;
use crate::communicator::{Endpoint, Port};
use crate::config::{Config, Sizes};
use crate::header::Peer;
use crate::memory::{Memory, Ticket};

/// Memory with the buffers of mailboxes: what a package with an allocator, or a program with memory of its own, brings. A
/// message to post is empty by default.
pub trait Buffers: Memory<Out: Default> + 'static {
    /// Provides an empty buffer for messages of up to `room` bytes, whose [`Sink::len`](crate::Sink::len) is `room`. The
    /// memory of `spare`, an earlier buffer, may be used again. That of a large message is needed now, that of others
    /// once the first of them comes. Returns `None` if there is no memory.
    fn provide(spare: Option<Self::In>, room: usize, is_large: bool) -> Option<Self::In>;

    /// Returns the bytes of the message in the buffer.
    fn bytes(buffer: &Self::In) -> &[u8];
}

/// The numbers of the ports.
pub(super) const LETTERS: usize = 0;
pub(super) const CONTROL: usize = 1;

/// The mailboxes of one process.
pub struct System<L: Channel, B: Buffers, C: Config> {
    pub(super) endpoint: Endpoint<L, (Port<Mail, B, C>, Port<Mail, B, C>)>,
    pub(super) classes: SizeClasses,
    pub(super) slots: Table<Slot<B>, C>,
    /// The number of the last letter that this process has posted.
    pub(super) posts: u32,
    /// Changes when something has arrived: a look at the receives of a mailbox holds for one state.
    pub(super) state: u32,
    /// Something may have arrived that no progress has handled.
    pub(super) has_news: bool,
    /// A mailbox was destroyed, so messages to it may come.
    pub(super) has_destroyed: bool,
    /// How many messages had found no receive when those to destroyed mailboxes were last dropped.
    pub(super) queued: u32,
    /// Operations on the port of control whose end nobody waits for.
    pub(super) abandoned: Table<Option<Ticket>, C>,
    /// The names that this process keeps.
    pub(super) kept: Table<Option<(Name, Address)>, C>,
    /// The number of processes, from the first on, that keep names.
    pub(super) keepers: usize,
    /// The number of the last request.
    pub(super) requests: u32,
    /// The receive of requests and notices.
    pub(super) service: Option<Ticket>,
    /// A reply that found no memory for its copy. Nothing else is answered before.
    pub(super) unsent: Option<(Peer, Mail, Mail)>,
    /// Mailboxes of others that are known to have vanished.
    pub(super) gone: heapless::HistoryBuf<Address, 64>,
}

/// A posted receive.
pub(super) struct Receive {
    pub(super) ticket: Ticket,
    /// The sender of its message, and the number of the sender's post.
    pub(super) message: Option<(Peer, u32)>,
}

/// The receives of a size class, in post order.
#[derive(Default)]
pub(super) struct Class {
    pub(super) receives: heapless::Vec<Receive, MAX_BUFFERS>,
    /// Number of messages that users hold.
    pub(super) held: usize,
    /// Number of tokens that there should be.
    pub(super) tokens: usize,
}

/// The large message that a mailbox takes at present.
#[derive(Clone, Copy)]
pub(super) enum Large {
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
    pub(super) classes: [Class; CLASSES],
    /// Receives that have a message.
    pub(super) arrived: usize,
    /// The state of the system in which the receives were last looked at.
    pub(super) looked: Option<u32>,
    pub(super) large: Large,
    /// The memory of the last large message.
    pub(super) spare: Option<B::In>,
}

/// A table of as many places as the composition has operations.
pub(super) type Table<T, C> =
    <<C as Config>::Storage as Storage>::Slice<T, <<C as Config>::Sizes as Sizes>::Operations>;

/// Puts an item into a free place.
pub(super) fn put<T>(places: &mut impl Slice<Option<T>>, item: T) -> Result<(), Error> {
    match places.as_mut().iter_mut().find(|place| place.is_none()) {
        Some(place) => *place = Some(item),
        None => places.push(Some(item)).map_err(|_| Error::TooManyNames)?,
    }
    Ok(())
}
