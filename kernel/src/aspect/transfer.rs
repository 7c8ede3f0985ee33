//! How payload travels: always at once ([`Eager`]), or announced first when it is long ([`Rendezvous`]).

use crate::communicator::Hold;
use crate::header::Header;

/// The policy family.
pub trait Transfer: 'static {
    /// Is there an announce-request-data protocol, and may a sender hold messages back?
    const RENDEZVOUS: bool;
    /// The longest payload, in bytes, that is sent without an announce.
    const THRESHOLD: usize;
    /// What rendezvous adds to an envelope.
    type Field: RendezvousField;
    /// What rendezvous adds for every peer.
    type Hold<H: Header>: HoldState<H>;
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
    type Hold<H: Header> = ();
}

impl<const THRESHOLD: usize> Transfer for Rendezvous<THRESHOLD> {
    const RENDEZVOUS: bool = true;
    const THRESHOLD: usize = THRESHOLD;
    type Field = Option<Announced>;
    type Hold<H: Header> = Hold<H>;
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

/// Per-peer state of held messages: there or not.
pub trait HoldState<H: Header> {
    /// Nothing held, nothing asked.
    fn new() -> Self;
    /// The state, when the composition has it.
    fn get(&self) -> Option<&Hold<H>>;
    /// The state, when the composition has it.
    fn get_mut(&mut self) -> Option<&mut Hold<H>>;
}

impl<H: Header> HoldState<H> for () {
    fn new() -> Self {}

    fn get(&self) -> Option<&Hold<H>> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut Hold<H>> {
        None
    }
}
