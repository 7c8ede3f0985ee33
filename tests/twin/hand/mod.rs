//! The twin: the kernel as if written by hand for one protocol, with every aspect off.
//!
//! It is the kernel's design without everything that the composition `Off` does not use, and with every type parameter
//! but the channel replaced by its type. Frames, bounds and outcomes are the same, so the two can communicate with each
//! other. Only calls with a time-out and the operators are omitted.

mod calls;
mod flush;
mod loans;
mod matched;
mod state;
mod table;

pub(crate) use calls::Completed;
pub(crate) use state::Envelope;

use crate::protocol::{PEERS, POOL, Tagged, Wanted};
use calls::Engine;
use loans::{BufferAccess, BufferTable, Chain};
use pombo_kernel::facade::Lengths;
use pombo_kernel::{Channel, Error, Limits, Peer, Refused, Ticket};
use state::State;

/// Tables, loans, and the channel below.
pub(crate) struct Twin<'buf, L> {
    state: State,
    buffers: BufferTable<'buf>,
    channel: L,
}

/// Operations with buffers that may have shorter lifetimes.
pub(crate) struct Scope<'a, 'buf, L: Channel> {
    state: &'a mut State,
    channel: &'a mut L,
    buffers: Chain<'a, 'buf>,
}

impl<L: Channel> Drop for Scope<'_, '_, L> {
    fn drop(&mut self) {
        while let Some((ticket, _)) = self.buffers.own.pop() {
            self.state.release(ticket);
        }
        // The notifications to the peers leave now or with the next call.
        let _ = self.state.flush(self.channel, &self.buffers);
    }
}

/// The calls, outside of scopes and inside.
macro_rules! calls {
    ($lifetime:lifetime) => {
        #[inline]
        pub(crate) fn isend(
            &mut self,
            to: Peer,
            header: Tagged,
            out: &$lifetime [u8],
        ) -> Result<Ticket, Refused<&$lifetime [u8]>> {
            self.engine().isend(to, header, out)
        }

        #[inline]
        pub(crate) fn try_inject(
            &mut self,
            to: Peer,
            header: Tagged,
            message: &[u8],
        ) -> Result<bool, Error> {
            let Engine { state, channel, .. } = self.engine();
            state.try_inject(channel, to, header, message)
        }

        #[inline]
        pub(crate) fn irecv(
            &mut self,
            pattern: Wanted,
            into: &$lifetime mut [u8],
        ) -> Result<Ticket, Refused<&$lifetime mut [u8]>> {
            self.engine().irecv(pattern, into)
        }

        #[inline]
        pub(crate) fn check_messages(&mut self) -> Result<bool, Error> {
            self.engine().check_messages()
        }

        #[inline]
        pub(crate) fn claim(&mut self, ticket: Ticket) -> Result<Option<Completed<$lifetime>>, Error> {
            self.engine().claim(ticket)
        }

        #[inline]
        pub(crate) fn cancel(&mut self, ticket: Ticket) -> Result<(), Error> {
            self.engine().cancel(ticket)
        }

        #[inline]
        pub(crate) fn probe(&mut self, pattern: Wanted) -> Result<Option<Envelope>, Error> {
            self.engine().probe(pattern)
        }

        #[inline]
        pub(crate) fn matched_probe(
            &mut self,
            pattern: Wanted,
        ) -> Result<Option<(Ticket, Envelope)>, Error> {
            self.engine().matched_probe(pattern)
        }

        #[inline]
        pub(crate) fn irecv_matched(
            &mut self,
            ticket: Ticket,
            into: &$lifetime mut [u8],
        ) -> Result<(), Refused<&$lifetime mut [u8]>> {
            self.engine().irecv_matched(ticket, into)
        }

        #[inline]
        pub(crate) fn scope<'inner, R>(&mut self, f: impl FnOnce(&mut Scope<'_, 'inner, L>) -> R) -> R {
            let Engine {
                state,
                channel,
                buffers,
            } = self.engine();
            f(&mut Scope {
                state,
                channel,
                buffers: Chain::before(buffers),
            })
        }

        #[inline]
        pub(crate) fn send(&mut self, to: Peer, header: Tagged, bytes: &[u8]) -> Result<(), Error> {
            self.scope(|scope| scope.engine().send(to, header, bytes))
        }

        #[inline]
        pub(crate) fn recv(
            &mut self,
            pattern: Wanted,
            bytes: &mut [u8],
        ) -> Result<Envelope, Error> {
            self.scope(|scope| scope.engine().recv(pattern, bytes))
        }
    };
}

impl<'buf, L: Channel> Twin<'buf, L> {
    pub(crate) fn with_limits(channel: L, limits: Limits) -> Result<Self, Error> {
        let peers = channel.peers();
        if peers > PEERS {
            let bound = PEERS;
            return Err(Error::TooManyPeers { peers, bound });
        }
        let most = POOL as u32 / peers.max(1) as u32;
        let credit = limits.credit.map_or(most, |credit| credit.clamp(1, most));
        Ok(Twin {
            state: State::new(peers, credit, limits.eager),
            buffers: BufferTable::new(),
            channel,
        })
    }

    #[inline]
    fn engine(&mut self) -> Engine<'_, L, BufferTable<'buf>> {
        Engine {
            state: &mut self.state,
            channel: &mut self.channel,
            buffers: &mut self.buffers,
        }
    }

    calls!('buf);

    pub(crate) fn lengths(&self) -> Lengths {
        Lengths {
            operations: self.state.operations.len(),
            expected: self.state.expected.len(),
            unexpected: self.state.unexpected.len(),
        }
    }

    pub(crate) fn rejected(&self) -> u64 {
        self.state.rejected
    }

    pub(crate) fn is_flushed(&self) -> bool {
        !self.state.due
    }

    pub(crate) fn channel_mut(&mut self) -> &mut L {
        &mut self.channel
    }
}

#[allow(dead_code, reason = "the same calls as outside")]
impl<'buf, L: Channel> Scope<'_, 'buf, L> {
    #[inline]
    fn engine(&mut self) -> Engine<'_, L, impl BufferAccess + loans::BufferLending<'buf>> {
        Engine {
            state: self.state,
            channel: self.channel,
            buffers: &mut self.buffers,
        }
    }

    calls!('buf);
}
