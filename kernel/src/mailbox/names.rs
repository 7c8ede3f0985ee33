//! The name service. Each name is kept by one process, chosen by its hash, so that two processes that create the same name
//! meet there. It is a part of `system`.
//!
//! A request goes to the keeper as a message of the control port, its reply comes back with the request's number. Every
//! process answers inside its own calls, as all progress happens there.

use super::error::Error;
use super::header::{Address, FORGET, GONE, KNOWN, LOOKUP, Mail, REGISTER, Wanted};
use super::state::{Answer, Buffers, CONTROL, GONE_KNOWN, Names, System, put};
use crate::aspect::Slice;
use crate::channel::Channel;
use crate::communicator::PointToPointExt;
use crate::config::Config;
use crate::error;
use crate::header::Peer;
use crate::memory::Loan;

/// The longest name in bytes.
pub const MAX_NAME: usize = 48;

/// The name of a mailbox: 1 to [`MAX_NAME`] bytes of text without control characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name([u8; MAX_NAME]);

impl Name {
    /// Creates a name.
    ///
    /// # Errors
    /// [`Error::BadName`].
    pub fn new(text: &str) -> Result<Self, Error> {
        let mut bytes = [0; MAX_NAME];
        let room = bytes
            .get_mut(..text.len())
            .ok_or(Error::BadName("it is longer than 48 bytes"))?;
        if text.is_empty() {
            return Err(Error::BadName("it is empty"));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::BadName("it has a control character"));
        }
        room.copy_from_slice(text.as_bytes());
        Ok(Name(bytes))
    }

    /// Returns the process that keeps this name, of so many. The hash is FNV-1a.
    fn keeper(&self, peers: usize) -> Peer {
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Peer((self.0.iter().fold(0x811c_9dc5, step) as usize % peers.max(1)) as u16)
    }
}

/// A request to the keeper of a name.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    keeper: Peer,
    number: u32,
    pub(super) name: Name,
    /// The mailbox that is to have it; none if the question is which one does.
    pub(super) create: Option<Address>,
}

/// The reasons of a keeper, by the kinds after [`KNOWN`].
const REFUSALS: [Error; 3] = [Error::NoSuchName, Error::Exists, Error::TooManyNames];

impl<C: Config> Names<C> {
    pub(super) fn new(keepers: usize) -> Self {
        let (kept, asked, receive, unsent) = (Slice::new(), Slice::new(), None, None);
        let (number, gone, next_gone) = (0, [None; GONE_KNOWN], 0);
        Names {
            kept,
            keepers,
            asked,
            number,
            receive,
            unsent,
            gone,
            next_gone,
        }
    }

    /// Returns whether another process's mailbox is known to be gone.
    pub(super) fn is_gone(&self, address: Address) -> bool {
        // The array fills from its beginning.
        self.gone
            .iter()
            .map_while(|gone| *gone)
            .any(|gone| gone == address)
    }
}

impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Asks the keeper of a name to register a mailbox, or which one it is.
    pub(super) fn ask(&mut self, name: Name, create: Option<Address>) -> Result<Request, Error> {
        let nobody = Address {
            peer: self.me(),
            index: 0,
            generation: 0,
        };
        let (kind, address) = create.map_or((LOOKUP, nobody), |address| (REGISTER, address));
        let keeper = name.keeper(self.names.keepers);
        let number = self.names.number.wrapping_add(1);
        let request = Request {
            keeper,
            number,
            name,
            create,
        };
        self.names.number = number;
        put(&mut self.names.asked, (number, None)).map_err(|_| error::Error::Full)?;
        self.send_copy(keeper, Mail::new(kind, address, number), &name.0)
            .inspect_err(|_| self.forget(&request))?;
        Ok(request)
    }

    /// Returns the answer, if it is here: the mailbox of the name, or why there is none.
    pub(super) fn peek_answer(&mut self, request: &Request) -> Option<Answer> {
        let is_lost = self.endpoint.port::<CONTROL>().is_lost(request.keeper);
        let mut asked = self.names.asked.as_ref().iter().flatten();
        let (_, answer) = asked.find(|(number, _)| *number == request.number)?;
        let lost = || Err(error::Error::PeerLost(request.keeper).into());
        answer.or_else(|| is_lost.then(lost))
    }

    /// Forgets a request: an answer that still comes is dropped.
    pub(super) fn forget(&mut self, request: &Request) {
        for asked in self.names.asked.as_mut() {
            asked.take_if(|(number, _)| *number == request.number);
        }
    }

    /// Tells the keeper of a name that its mailbox is gone, as far as that is possible.
    pub(super) fn free_name(&mut self, name: &Name, address: Address) {
        // Without memory for the copy the name stays, and whoever finds it learns that the mailbox is gone.
        let _ = self.send_copy(
            name.keeper(self.names.keepers),
            Mail::new(FORGET, address, 0),
            &name.0,
        );
    }

    /// Tells a process that a mailbox of this one is gone, as far as that is possible.
    pub(super) fn tell_gone(&mut self, to: Peer, gone: Address) {
        // Whoever misses the notice gets another one for its next message. A copy that waits for credit would stay for
        // ever where nobody has taken the place of that process.
        let notice = Mail::new(GONE, gone, 0);
        let _ = self
            .endpoint
            .port::<CONTROL>()
            .try_inject(to, notice, &&[][..]);
    }

    fn send_copy(&mut self, to: Peer, mail: Mail, payload: &[u8]) -> Result<(), error::Error> {
        self.endpoint
            .port::<CONTROL>()
            .send_buffered(to, mail, &payload)
    }

    /// Handles the requests, replies and notices that have arrived.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the channel is broken. [`Error::NoMemory`].
    #[inline]
    pub(super) fn serve(&mut self) -> Result<(), Error> {
        loop {
            if let Some((to, mail, owner)) = self.names.unsent {
                match self.send_copy(to, mail, &owner) {
                    Err(error::Error::Full) => return Ok(()),
                    // Nobody waits for the reply.
                    Ok(()) | Err(error::Error::PeerLost(_)) => self.names.unsent = None,
                    Err(error) => return Err(error.into()),
                }
            }
            let mut control = self.endpoint.port::<CONTROL>();
            let Some(receive) = self.names.receive else {
                let buffer = B::provide(None, MAX_NAME, false);
                let buffer = buffer.ok_or(Error::NoMemory { bytes: MAX_NAME })?;
                let posted = control.irecv(Wanted::service(), buffer);
                self.names.receive = Some(posted.map_err(error::Error::from)?);
                continue;
            };
            let Some(completed) = control.claim(receive)? else {
                return Ok(());
            };
            self.names.receive = None;
            if let (Some(message), Loan::Received(buffer)) = (completed.envelope, completed.loan) {
                self.handle(message.peer(), message.header(), B::bytes(&buffer));
            }
        }
    }

    fn handle(&mut self, from: Peer, mail: Mail, payload: &[u8]) {
        let (names, address) = (&mut self.names, mail.address(from));
        if mail.class == GONE && !names.is_gone(address) {
            names.gone[names.next_gone] = Some(address);
            names.next_gone = (names.next_gone + 1) % GONE_KNOWN;
        }
        if mail.class >= KNOWN {
            let refusal = REFUSALS.get(usize::from(mail.class - KNOWN).wrapping_sub(1));
            let owner = payload
                .try_into()
                .map_or(from, |owner| Peer(u16::from_le_bytes(owner)));
            let mut asked = names.asked.as_mut().iter_mut().flatten();
            if let Some((_, answer)) = asked.find(|(number, _)| *number == mail.number.get()) {
                *answer = Some(refusal.map_or(Ok(mail.address(owner)), |error| Err(*error)));
            }
        }
        // A request without a name is no request of this protocol.
        let Ok(name) = payload.try_into().map(Name) else {
            return;
        };
        let mut control = self.endpoint.port::<CONTROL>();
        for kept in names.kept.as_mut() {
            let is_forgotten = |it| mail.class == FORGET && it == (name, address);
            // The names of a process that is lost are free again.
            kept.take_if(|(its, owner)| {
                control.is_lost(owner.peer) || is_forgotten((*its, *owner))
            });
        }
        let mut kept = names.kept.as_ref().iter().flatten();
        let found = kept.find(|(its, _)| *its == name).map(|(_, owner)| *owner);
        let answer = match (mail.class, found) {
            (REGISTER, Some(_)) => Err(Error::Exists),
            (REGISTER, None) => put(&mut names.kept, (name, address)).map(|()| address),
            (LOOKUP, found) => found.ok_or(Error::NoSuchName),
            _ => return,
        };
        let refusal = answer
            .err()
            .and_then(|error| REFUSALS.iter().position(|it| *it == error));
        let (owner, kind) = (
            answer.unwrap_or(address),
            refusal.map_or(0, |at| at as u8 + 1),
        );
        let reply = Mail::new(KNOWN + kind, owner, mail.number.get());
        names.unsent = Some((from, reply, owner.peer.0.to_le_bytes()));
    }
}
