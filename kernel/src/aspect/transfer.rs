//! How payload travels: always at once ([`Eager`]), announced first when it is long ([`Rendezvous`]), or also ahead of
//! the request ([`ReceiverInitiated`]).

use crate::matching::Sequence;

/// The policy family.
pub trait Transfer: 'static {
    /// Is there an announce-request-data protocol, and may a sender hold messages back?
    const RENDEZVOUS: bool;
    /// The longest payload, in bytes, that is sent without an announce.
    const THRESHOLD: usize;
    /// Does a receiver say what it waits for, so that payload may follow its announce at once?
    const HINTS: bool = false;
    /// What rendezvous adds to an envelope.
    type Field: RendezvousField;
    /// What tells the order of receives to rendezvous.
    type Sequence: Sequence;
    /// State that rendezvous needs.
    type Held<T>: Maybe<T>;
    /// State that hints need.
    type Hinted<T>: Maybe<T>;
}

/// Messages go out whole or are refused: [`Error::NoCredit`](crate::Error::NoCredit) when the receiver's pool is
/// full, [`Error::TooLong`](crate::Error::TooLong) beyond a cell or a frame. No queue of unrequested sends exists.
#[derive(Clone, Copy, Debug)]
pub struct Eager;

/// Payloads above `THRESHOLD` bytes are announced, and a sender without credit keeps its messages and is asked for
/// them by pattern, so no order of receives can deadlock.
#[derive(Clone, Copy, Debug)]
pub struct Rendezvous<const THRESHOLD: usize = 4096>;

impl Transfer for Eager {
    const RENDEZVOUS: bool = false;
    const THRESHOLD: usize = usize::MAX;
    type Field = ();
    type Sequence = ();
    type Held<T> = Absent;
    type Hinted<T> = Absent;
}

impl<const THRESHOLD: usize> Transfer for Rendezvous<THRESHOLD> {
    const RENDEZVOUS: bool = true;
    const THRESHOLD: usize = THRESHOLD;
    type Field = Option<Announced>;
    type Sequence = u64;
    type Held<T> = Present<T>;
    type Hinted<T> = Absent;
}

/// As [`Rendezvous`], and a receiver tells each peer which long message it waits for first: if the peer's next one is
/// that, the payload follows its announce at once, which saves one way and back. It pays where that is long, on a
/// network. Each posted receive with room above `THRESHOLD` and a source costs a frame; a wrong hint costs the payload
/// that was sent in vain. What is matched with what does not change.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverInitiated<const THRESHOLD: usize = 4096>;

impl<const THRESHOLD: usize> Transfer for ReceiverInitiated<THRESHOLD> {
    const RENDEZVOUS: bool = true;
    const THRESHOLD: usize = THRESHOLD;
    const HINTS: bool = true;
    type Field = Option<Announced>;
    type Sequence = u64;
    type Held<T> = Present<T>;
    type Hinted<T> = Present<T>;
}

/// The sender's operation behind an announced message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announced(pub(crate) crate::frame::Handle);

/// The envelope's rendezvous field: nothing, or the announced operation.
pub trait RendezvousField: Copy + core::fmt::Debug {
    /// From what the frame said.
    fn new(announced: Option<Announced>) -> Self;
    /// The announced operation, if the payload is still with the sender.
    fn get(self) -> Option<Announced>;
}

impl RendezvousField for () {
    fn new(_: Option<Announced>) -> Self {}

    fn get(self) -> Option<Announced> {
        None
    }
}

impl RendezvousField for Option<Announced> {
    fn new(announced: Option<Announced>) -> Self {
        announced
    }

    fn get(self) -> Option<Announced> {
        self
    }
}

/// State that only some compositions have: there or not.
pub trait Maybe<T> {
    /// As it is at first.
    fn new(make: impl FnOnce() -> T) -> Self;
    /// The state, when the composition has it.
    fn get(&self) -> Option<&T>;
    /// The state, when the composition has it.
    fn get_mut(&mut self) -> Option<&mut T>;
}

/// Not there: no bytes.
#[derive(Clone, Copy, Debug)]
pub struct Absent;

/// There.
#[derive(Clone, Copy, Debug)]
pub struct Present<T>(T);

impl<T> Maybe<T> for Absent {
    #[inline]
    fn new(_: impl FnOnce() -> T) -> Self {
        Absent
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        None
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut T> {
        None
    }
}

impl<T> Maybe<T> for Present<T> {
    #[inline]
    fn new(make: impl FnOnce() -> T) -> Self {
        Present(make())
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        Some(&self.0)
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.0)
    }
}
