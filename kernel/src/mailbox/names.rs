//! The name service. Each name is kept by one process, chosen by its hash, so that two processes that create the same name
//! meet there. It is a part of `system`.
//!
//! A request goes to the keeper as a message of the control port, and its reply to a receive that was posted for it. Every
//! process answers inside its own calls, as all progress happens there.

use super::error::Error;
use super::header::{Address, FORGET, GONE, LOOKUP, Mail, REGISTER, REPLY, SERVICE, Wanted};
use super::state::{Buffers, CONTROL, System, put};
use crate::channel::Channel;
use crate::communicator::PointToPointExt;
use crate::config::Config;
use crate::error;
use crate::header::Peer;
use crate::memory::{Loan, Ticket};
use zerocopy::{FromBytes, IntoBytes};

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
    /// The receive of the reply.
    pub(super) reply: Ticket,
    /// The mailbox that is to have the name; none if the question is which one does.
    pub(super) create: Option<Address>,
}

/// The reasons of a keeper, by their numbers from 1 on.
const REFUSALS: [Error; 3] = [Error::NoSuchName, Error::Exists, Error::TooManyNames];

impl<L: Channel, B: Buffers, C: Config> System<L, B, C> {
    /// Asks the keeper of a name to register a mailbox, or which one it is.
    pub(super) fn ask(&mut self, name: Name, create: Option<Address>) -> Result<Request, Error> {
        self.requests = self.requests.wrapping_add(1);
        let (keeper, number) = (name.keeper(self.keepers), self.requests);
        let own = Address::of_number(self.me(), number);
        let (kind, address) = create.map_or((LOOKUP, own), |address| (REGISTER, address));
        let reply = self.receive(Wanted::new(REPLY, own, Some(keeper)), size_of::<Mail>())?;
        self.send_copy(keeper, Mail::new(kind, address, number), &name.0)
            .inspect_err(|_| drop(self.endpoint.port::<CONTROL>().release(reply)))?;
        Ok(Request { reply, create })
    }

    /// Takes the reply to a request: the mailbox of the name, or why there is none; `None` while it is not here.
    pub(super) fn take_answer(&mut self, request: &Request) -> Option<Result<Address, Error>> {
        let mut control = self.endpoint.port::<CONTROL>();
        let reply = control.claim(request.reply).ok().flatten()?;
        Some(match (reply.outcome, reply.loan) {
            (Ok(_), Loan::Received(buffer)) => answer(B::bytes(&buffer)),
            (outcome, _) => Err(outcome.map_or_else(Error::from, |_| Error::Malformed)),
        })
    }

    /// Tells the keeper of a name that its mailbox is gone, as far as that is possible.
    pub(super) fn free_name(&mut self, name: &Name, address: Address) {
        // Without memory for the copy the name stays, and whoever finds it learns that the mailbox is gone.
        let mail = Mail::new(FORGET, address, 0);
        let _ = self.send_copy(name.keeper(self.keepers), mail, &name.0);
    }

    /// Tells a process that a mailbox of this one is gone, as far as that is possible.
    pub(super) fn tell_gone(&mut self, to: Peer, gone: Address) {
        // Whoever misses the notice gets another one for its next message. A copy that waits for credit would stay for
        // ever where nobody has taken the place of that process.
        let notice = Mail::new(GONE, gone, 0);
        let mut control = self.endpoint.port::<CONTROL>();
        let _ = control.try_inject(to, notice, &&[][..]);
    }

    fn send_copy(&mut self, to: Peer, mail: Mail, payload: &[u8]) -> Result<(), error::Error> {
        let mut control = self.endpoint.port::<CONTROL>();
        control.send_buffered(to, mail, &payload)
    }

    fn receive(&mut self, wanted: Wanted, bytes: usize) -> Result<Ticket, Error> {
        let buffer = B::provide(None, bytes, false).ok_or(Error::NoMemory { bytes })?;
        let posted = self.endpoint.port::<CONTROL>().irecv(wanted, buffer);
        posted.map_err(|refused| refused.error.into())
    }

    /// Handles the requests and notices that have arrived.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the channel is broken. [`Error::NoMemory`].
    #[inline]
    pub(super) fn serve(&mut self) -> Result<(), Error> {
        loop {
            if let Some((to, mail, answer)) = self.unsent {
                match self.send_copy(to, mail, answer.as_bytes()) {
                    Err(error::Error::Full) => return Ok(()),
                    // Nobody waits for the reply.
                    Ok(()) | Err(error::Error::PeerLost(_)) => self.unsent = None,
                    Err(error) => return Err(error.into()),
                }
            }
            let Some(ticket) = self.service else {
                let wanted = Wanted::new(SERVICE, Address::of_number(self.me(), 0), None);
                self.service = Some(self.receive(wanted, MAX_NAME)?);
                continue;
            };
            let Some(completed) = self.endpoint.port::<CONTROL>().claim(ticket)? else {
                return Ok(());
            };
            self.service = None;
            if let (Some(message), Loan::Received(buffer)) = (completed.envelope, completed.loan) {
                let (from, mail, payload) = (message.peer(), message.header(), B::bytes(&buffer));
                let address = mail.address(from);
                if mail.class == GONE && !self.gone.contains(&address) {
                    self.gone.write(address);
                }
                // A request without a name is no request of this protocol.
                if let Ok(name) = payload.try_into() {
                    self.unsent = self.answer(from, mail, Name(name));
                }
            }
        }
    }

    /// Returns the reply to a request, if it gets one.
    fn answer(&mut self, from: Peer, mail: Mail, name: Name) -> Option<(Peer, Mail, Mail)> {
        let (address, number) = (mail.address(from), mail.number.get());
        let mut control = self.endpoint.port::<CONTROL>();
        for kept in self.kept.as_mut() {
            let is_forgotten = |it| mail.class == FORGET && it == (name, address);
            // The names of a process that is lost are free again.
            kept.take_if(|it| control.is_lost(it.1.peer) || is_forgotten(*it));
        }
        let mut kept = self.kept.as_ref().iter().flatten();
        let found = kept.find(|(its, _)| *its == name).map(|(_, owner)| *owner);
        let answer = match (mail.class, found) {
            (REGISTER, Some(_)) => Err(Error::Exists),
            (REGISTER, None) => put(&mut self.kept, (name, address)).map(|()| address),
            (LOOKUP, found) => found.ok_or(Error::NoSuchName),
            _ => return None,
        };
        let refusal = |error| REFUSALS.iter().position(|it| *it == error);
        let refusal = answer.err().and_then(refusal).map_or(0, |at| at as u8 + 1);
        let owner = answer.unwrap_or(address);
        let reply = Mail::new(REPLY, Address::of_number(from, number), 0);
        Some((from, reply, Mail::new(refusal, owner, owner.peer.0.into())))
    }
}

/// Returns the answer in a reply: the number of a refusal, or the mailbox with its process as the number.
fn answer(payload: &[u8]) -> Result<Address, Error> {
    let mail = Mail::read_from_bytes(payload).map_err(|_| Error::Malformed)?;
    match REFUSALS.get(usize::from(mail.class).wrapping_sub(1)) {
        Some(refusal) => Err(*refusal),
        None => Ok(mail.address(Peer(mail.number.get() as u16))),
    }
}
