//! Transfer of payload: always with the message ([`Eager`]), announced first if it is long ([`Rendezvous`]), or also
//! ahead of the request ([`EarlyData`], [`ReceiverInitiated`]).

use crate::matching::Sequence;

/// The policy family.
pub trait Transfer: 'static {
    /// Whether there is an announce-request-data protocol, and a sender may hold messages back.
    const RENDEZVOUS: bool;
    /// The longest payload, in bytes, that is sent without an announcement.
    const THRESHOLD: usize;
    /// Whether a receiver hints what it waits for, so that payload may follow its announcement at once.
    const HINTS: bool = false;
    /// Number of frames of payload that may follow an announcement at once, without a hint.
    const EARLY_FRAMES: usize = 0;
    /// The envelope's field for rendezvous.
    type Field: RendezvousField;
    /// The sequence numbers of receives that rendezvous needs.
    type Sequence: Sequence;
    /// State that rendezvous needs.
    type Held<T>: Maybe<T>;
    /// State that hints need.
    type Hinted<T>: Maybe<T>;
    /// State that early data need.
    type Early<T>: Maybe<T>;
}

/// Sends whole messages or refuses them: [`Error::NoCredit`](crate::Error::NoCredit) if the receiver's pool is full,
/// [`Error::TooLong`](crate::Error::TooLong) beyond a cell or a frame. There is no queue of unrequested sends.
#[derive(Clone, Copy, Debug)]
pub struct Eager;

/// Announces payloads above `THRESHOLD` bytes. A sender without credit keeps its messages, and receivers query it by
/// pattern, so no order of receives can deadlock.
#[derive(Clone, Copy, Debug)]
pub struct Rendezvous<const THRESHOLD: usize = 4096>;

impl Transfer for Eager {
    const RENDEZVOUS: bool = false;
    const THRESHOLD: usize = usize::MAX;
    type Field = ();
    type Sequence = ();
    type Held<T> = Absent;
    type Hinted<T> = Absent;
    type Early<T> = Absent;
}

impl<const THRESHOLD: usize> Transfer for Rendezvous<THRESHOLD> {
    const RENDEZVOUS: bool = true;
    const THRESHOLD: usize = THRESHOLD;
    type Field = Option<Announced>;
    type Sequence = u64;
    type Held<T> = Present<T>;
    type Hinted<T> = Absent;
    type Early<T> = Absent;
}

/// As [`Rendezvous`], but the first `FRAMES` frames of payload follow the announcement at once, where the
/// [channel](crate::Channel::favours_early_data) says that this pays: the receiver copies them, if it has matched the
/// message by then, while the request is on its way. Otherwise it drops them, and the sender stops that for a while.
#[derive(Clone, Copy, Debug)]
pub struct EarlyData<const THRESHOLD: usize = 4096, const FRAMES: usize = 2>;

impl<const THRESHOLD: usize, const FRAMES: usize> Transfer for EarlyData<THRESHOLD, FRAMES> {
    const RENDEZVOUS: bool = true;
    const THRESHOLD: usize = THRESHOLD;
    const EARLY_FRAMES: usize = FRAMES;
    type Field = Option<Announced>;
    type Sequence = u64;
    type Held<T> = Present<T>;
    type Hinted<T> = Absent;
    type Early<T> = Present<T>;
}

/// As [`Rendezvous`], but a receiver hints to each peer which long message it waits for first: if that is the peer's
/// next message, the payload follows its announcement at once, which saves one round trip. This pays on networks, whose
/// round trips are long. Each posted receive with a source and a buffer above `THRESHOLD` bytes costs a frame; a wrong
/// hint wastes the payload that was sent. Hints do not change what is matched.
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
    type Early<T> = Absent;
}

/// The sender's operation behind an announced message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announced(pub(crate) crate::frame::Handle);

/// The envelope's rendezvous field: nothing, or the announced operation.
pub trait RendezvousField: Copy + core::fmt::Debug {
    /// Creates the field from the contents of a frame.
    fn new(announced: Option<Announced>) -> Self;
    /// Returns the announced operation if the payload is still with the sender.
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

/// State that only some compositions have.
pub trait Maybe<T> {
    /// Creates the state if the composition has it.
    fn new(make: impl FnOnce() -> T) -> Self;
    /// Returns the state if the composition has it.
    fn get(&self) -> Option<&T>;
    /// Returns the state if the composition has it.
    fn get_mut(&mut self) -> Option<&mut T>;
}

/// No state: no bytes.
#[derive(Clone, Copy, Debug)]
pub struct Absent;

/// The state itself.
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
