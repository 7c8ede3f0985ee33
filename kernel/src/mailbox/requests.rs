//! The name service: each name is kept by one process, which others ask. `system` calls it.
//!
//! A request goes to the keeper as a message of the control port, its reply comes back with the request's number. The
//! keeper answers inside its own calls, as all progress happens there.

use super::buffers::{Buffers, Use};
use super::error::Error;
use super::header::{
    Address, FORGET, GONE, KNOWN, LOOKUP, Mail, NO_ROOM, REGISTER, TAKEN, UNKNOWN, Wanted,
};
use super::name::{MAX_NAME, Name, Names};
use super::slot::Port;
use crate::config::Config;
use crate::error;
use crate::header::Peer;
use crate::memory::{Loan, Ticket};

/// A request to the keeper of a name.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    name: Name,
    progress: Progress,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    /// The receive of the reply.
    Asked(Ticket),
    /// The keeper is this process.
    Answered(Result<Address, Error>),
}

impl Request {
    /// Returns the receive of the reply; `None` if the reply is known.
    pub(super) fn reply(&self) -> Option<Ticket> {
        match self.progress {
            Progress::Asked(ticket) => Some(ticket),
            Progress::Answered(_) => None,
        }
    }

    /// Returns the name.
    pub(super) fn name(&self) -> &Name {
        &self.name
    }
}

/// Number of receives for requests: a burst of more waits in the pool.
const RECEIVES: usize = 4;
/// Number of mailboxes known to have vanished.
const GONE_KNOWN: usize = 64;

/// The owner of a mailbox, as the payload of a reply.
const OWNER: usize = size_of::<u16>();

/// The names that this process keeps, and what it knows of mailboxes that are gone.
pub(super) struct NameService<C: Config> {
    me: Peer,
    names: Names<C>,
    /// The receives of requests, in post order from `first` on.
    receives: [Option<Ticket>; RECEIVES],
    first: usize,
    /// A reply that found no memory for its copy. Nothing else is answered before.
    unsent: Option<(Peer, Mail, [u8; OWNER])>,
    number: u32,
    /// Withdrawn requests whose replies may still come.
    withdrawn: u32,
    gone: [Option<Address>; GONE_KNOWN],
    next_gone: usize,
}

impl<C: Config> NameService<C> {
    /// Creates the service of a process.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the composition has too few operations. [`Error::NoMemory`].
    pub(super) fn new<B: Buffers>(me: Peer, control: &mut impl Port<B, C>) -> Result<Self, Error> {
        let mut service = NameService {
            me,
            names: Names::new(),
            receives: [None; RECEIVES],
            first: 0,
            unsent: None,
            number: 0,
            withdrawn: 0,
            gone: [None; GONE_KNOWN],
            next_gone: 0,
        };
        for place in &mut service.receives {
            *place = Some(post_request(control, None)?);
        }
        Ok(service)
    }

    /// Asks the keeper of a name to register a mailbox, or which one it is.
    ///
    /// # Errors
    /// [`Error::Kernel`]: no operation is free, or the keeper is lost. [`Error::NoMemory`].
    pub(super) fn ask<B: Buffers>(
        &mut self,
        control: &mut impl Port<B, C>,
        peers: usize,
        name: Name,
        register: Option<Address>,
    ) -> Result<Request, Error> {
        let keeper = name.keeper(peers);
        if keeper == self.me {
            let answer = match register {
                Some(address) => self.register(control, name, address),
                None => self.find(control, &name).ok_or(Error::NoSuchName),
            };
            let progress = Progress::Answered(answer);
            return Ok(Request { name, progress });
        }
        self.number = self.number.wrapping_add(1);
        let mail = match register {
            Some(address) => Mail::to(REGISTER, address, self.number),
            None => Mail::to(LOOKUP, Address::NONE, self.number),
        };
        let buffer = B::provide(None, OWNER, Use::Class).ok_or(Error::NoMemory { bytes: OWNER })?;
        let reply = control.irecv(Wanted::reply(keeper, self.number), buffer);
        let reply = reply.map_err(error::Error::from)?;
        if let Err(error) = control.send_buffered(keeper, mail, &name.as_bytes()) {
            let _ = control.release(reply);
            return Err(error.into());
        }
        let progress = Progress::Asked(reply);
        Ok(Request { name, progress })
    }

    /// Returns the reply, when it is here: the mailbox of the name, or why there is none.
    pub(super) fn replied<B: Buffers>(
        control: &mut impl Port<B, C>,
        request: &Request,
    ) -> Option<Result<Address, Error>> {
        let ticket = match request.progress {
            Progress::Answered(answer) => return Some(answer),
            Progress::Asked(ticket) => ticket,
        };
        let completed = match control.claim(ticket) {
            Ok(completed) => completed?,
            Err(error) => return Some(Err(error.into())),
        };
        if let Err(error) = completed.outcome {
            return Some(Err(error.into()));
        }
        let (Some(message), Loan::Received(owner)) = (completed.envelope, completed.loan) else {
            return Some(Err(Error::NoSuchName));
        };
        let mail = message.header();
        Some(match (mail.class, B::bytes(&owner)) {
            (KNOWN, &[low, high]) => Ok(mail.address(Peer(u16::from_le_bytes([low, high])))),
            (TAKEN, _) => Err(Error::Exists),
            (NO_ROOM, _) => Err(Error::TooManyNames),
            _ => Err(Error::NoSuchName),
        })
    }

    /// Withdraws the receive of a reply. The reply itself is dropped when it comes.
    pub(super) fn withdraw<B: Buffers>(&mut self, control: &mut impl Port<B, C>, reply: Ticket) {
        let had_come = !matches!(control.peek(reply), Ok(None));
        let _ = control.release(reply);
        self.withdrawn += u32::from(!had_come);
    }

    /// Drops replies to withdrawn requests. The receive of a reply is posted before its request leaves, so a reply without
    /// one is of these.
    #[cold]
    fn drop_withdrawn<B: Buffers>(&mut self, control: &mut impl Port<B, C>) -> Result<(), Error> {
        while let Some((ticket, _)) = control.matched_probe(Wanted::any_reply())? {
            let nothing = B::provide(None, OWNER, Use::Class);
            let nothing = nothing.ok_or(Error::NoMemory { bytes: OWNER })?;
            let posted = control.irecv_matched(ticket, nothing);
            posted.map_err(|refused| refused.error)?;
            let _ = control.release(ticket);
            self.withdrawn = self.withdrawn.saturating_sub(1);
        }
        Ok(())
    }

    /// Tells the keeper of a name that its mailbox is gone, as far as that is possible.
    pub(super) fn forget<B: Buffers>(
        &mut self,
        control: &mut impl Port<B, C>,
        peers: usize,
        name: &Name,
        address: Address,
    ) {
        let keeper = name.keeper(peers);
        if keeper == self.me {
            self.names.remove(name, address);
        } else {
            // Without memory for the copy the name stays, and whoever finds it learns that the mailbox is gone.
            let _ = control.send_buffered(keeper, Mail::to(FORGET, address, 0), &name.as_bytes());
        }
    }

    /// Tells a process that a mailbox of this one is gone, as far as that is possible.
    pub(super) fn tell_gone<B: Buffers>(
        &self,
        control: &mut impl Port<B, C>,
        to: Peer,
        address: Address,
    ) {
        // Whoever misses the notice gets another one for its next message.
        let _ = control.send_buffered(to, Mail::to(GONE, address, 0), &&[][..]);
    }

    /// Returns whether another process's mailbox is known to be gone.
    pub(super) fn is_gone(&self, address: Address) -> bool {
        // The array fills from its beginning.
        let mut gone = self.gone.iter().map_while(|gone| *gone);
        gone.any(|gone| gone == address)
    }

    /// Answers the requests that have arrived.
    ///
    /// # Errors
    /// [`Error::Kernel`]: the channel is broken.
    pub(super) fn serve<B: Buffers>(&mut self, control: &mut impl Port<B, C>) -> Result<(), Error> {
        if self.withdrawn > 0 {
            self.drop_withdrawn(control)?;
        }
        while self.has_replied(control)? {
            let place = &mut self.receives[self.first];
            let ticket = match *place {
                Some(ticket) => ticket,
                None => *place.insert(post_request(control, None)?),
            };
            let Some(completed) = control.claim(ticket)? else {
                break;
            };
            *place = None;
            let Loan::Received(buffer) = completed.loan else {
                break;
            };
            if let (Some(message), Ok(_)) = (&completed.envelope, completed.outcome) {
                self.handle(control, message.peer(), message.header(), B::bytes(&buffer));
            }
            self.receives[self.first] = post_request(control, Some(buffer)).ok();
            self.first = (self.first + 1) % RECEIVES;
        }
        Ok(())
    }

    /// Sends the reply that is due. Returns whether none is due any more.
    fn has_replied<B: Buffers>(&mut self, control: &mut impl Port<B, C>) -> Result<bool, Error> {
        let Some((to, mail, owner)) = self.unsent else {
            return Ok(true);
        };
        match control.send_buffered(to, mail, &&owner[..]) {
            Err(error::Error::Full) => return Ok(false),
            // Nobody waits for the reply.
            Ok(()) | Err(error::Error::PeerLost(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.unsent = None;
        Ok(true)
    }

    fn handle<B: Buffers>(
        &mut self,
        control: &mut impl Port<B, C>,
        from: Peer,
        mail: Mail,
        name: &[u8],
    ) {
        let address = mail.address(from);
        if mail.class == GONE {
            if !self.is_gone(address) {
                self.gone[self.next_gone] = Some(address);
                self.next_gone = (self.next_gone + 1) % GONE_KNOWN;
            }
            return;
        }
        // A request without a name is no request of this protocol.
        let Some(name) = Name::read(name) else {
            return;
        };
        let answer = match mail.class {
            FORGET => return self.names.remove(&name, address),
            REGISTER => self.register(control, name, address),
            _ => self.find(control, &name).ok_or(Error::NoSuchName),
        };
        let kind = match answer {
            Ok(_) => KNOWN,
            Err(Error::Exists) => TAKEN,
            Err(Error::TooManyNames) => NO_ROOM,
            Err(_) => UNKNOWN,
        };
        let owner = answer.unwrap_or(Address::NONE);
        let reply = Mail::to(kind, owner, mail.number.get());
        self.unsent = Some((from, reply, owner.peer.0.to_le_bytes()));
    }

    fn register<B: Buffers>(
        &mut self,
        control: &mut impl Port<B, C>,
        name: Name,
        address: Address,
    ) -> Result<Address, Error> {
        // A name of a process that is lost is free again.
        self.find(control, &name);
        let mut added = self.names.add(name, address);
        if added == Err(Error::TooManyNames) {
            self.names.retain(|owner| !control.is_lost(owner.peer));
            added = self.names.add(name, address);
        }
        added.map(|()| address)
    }

    fn find<B: Buffers>(&mut self, control: &mut impl Port<B, C>, name: &Name) -> Option<Address> {
        let found = self.names.find(name)?;
        if control.is_lost(found.peer) {
            self.names.remove(name, found);
            return None;
        }
        Some(found)
    }
}

/// Posts a receive of requests.
fn post_request<B: Buffers, C: Config>(
    control: &mut impl Port<B, C>,
    spare: Option<B::In>,
) -> Result<Ticket, Error> {
    let bytes = MAX_NAME;
    let buffer = B::provide(spare, bytes, Use::Class).ok_or(Error::NoMemory { bytes })?;
    let posted = control.irecv(Wanted::request(), buffer);
    Ok(posted.map_err(error::Error::from)?)
}
