//! Frames from node to node, and to all at once.

use super::frame::{self, ALL, Refusal, Seat};
use super::interface;
use super::line::{Line, Packets};
use super::table::Table;
use crate::clock::now;
use crate::udp::waiting::Patience;
use alloc::string::String;
use pombo_kernel::channel::{ChannelError, Wake};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;
use pombo_kernel::network::{Broadcast, Network};
use pombo_transport::InPlace;

/// One node's device. Dropping it closes its socket.
pub struct Ethernet<L: Line = Packets> {
    line: L,
    seat: Seat,
    table: Table,
    interface: String,
    /// What the interface carried when the node joined.
    carried: usize,
    mtu: usize,
    /// Are there nodes on other hosts, and other nodes on this one?
    elsewhere: bool,
    beside: bool,
    full: bool,
    counts: Counts,
    patience: Patience,
}

/// What has happened at a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Of another protocol or job, or from an interface that its node does not have: dropped.
    pub foreign: u64,
    /// Shorter than they say: dropped.
    pub impossible: u64,
    /// Found no room in this host, because nobody polled: lost.
    pub dropped: u64,
    /// Not taken by the system for a reason that may pass: memory, an interface that is down.
    pub unsent: u64,
}

impl<L: Line> Ethernet<L> {
    pub(super) fn new(
        line: L,
        seat: Seat,
        table: Table,
        (interface, carried): (String, usize),
        mtu: usize,
    ) -> Self {
        Ethernet {
            line,
            seat,
            elsewhere: table.here < table.len(),
            beside: table.here > 1,
            patience: Patience::of(table.here),
            table,
            interface,
            carried,
            mtu,
            full: false,
            counts: Counts::default(),
        }
    }

    /// The interface's name.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The interface's MTU when this node joined, and what it is now, where that is less. Frames that are too long for
    /// it are refused with EMSGSIZE (90).
    pub fn shrunk(&self) -> Option<(usize, usize)> {
        let [socket, _] = self.line.descriptors();
        let now = interface::mtu(socket, &self.interface).ok()?;
        (now < self.carried).then_some((self.carried, now))
    }

    /// Does the interface still carry the longest frame of the job? One that does not drops longer frames when they
    /// arrive, and says nothing: who only receives has to ask.
    ///
    /// # Errors
    /// [`ChannelError::Device`] with EMSGSIZE (90) if it does not.
    pub fn check(&self) -> Result<(), ChannelError> {
        match self.shrunk() {
            Some((_, now)) if now < self.mtu + frame::OURS => {
                Err(ChannelError::Device(libc::EMSGSIZE))
            }
            _ => Ok(()),
        }
    }

    /// For who waits on several: readable when frames have come; negative: none.
    pub fn fds(&self) -> [i32; 2] {
        self.line.descriptors()
    }

    fn wake(&mut self) -> Wake {
        let descriptors = self.line.descriptors();
        let full = core::mem::take(&mut self.full);
        Wake::by(descriptors).room(full, descriptors)
    }

    /// Was there no room at the last transmission? Then the descriptors are writable when there is.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// What has happened so far.
    pub fn counts(&self) -> Counts {
        Counts {
            dropped: self.line.dropped(),
            ..self.counts
        }
    }

    /// To a node's interface, by way of this host if it is there.
    #[inline]
    fn send(
        &mut self,
        to: (super::Mac, u16),
        here: bool,
        parts: &[Part<'_>],
    ) -> Result<(), ChannelError> {
        let len = Part::total(parts);
        if len > self.mtu {
            return Err(ChannelError::TooLong { limit: self.mtu });
        }
        let head = frame::write(to, (self.table.mine(), self.seat), len);
        let sent = self.line.send(here, &head, parts);
        self.full = sent == Err(ChannelError::Full);
        self.counts.unsent += u64::from(!sent?);
        Ok(())
    }
}

impl<L: Line> Network for Ethernet<L> {
    type Frame<'a> = InPlace<'a>;

    fn node(&self) -> Node {
        self.seat.node
    }

    fn nodes(&self) -> usize {
        self.table.len()
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    #[inline]
    fn transmit(&mut self, to: Node, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let mac = self.table.mac(to).ok_or(ChannelError::NoSuchNode(to))?;
        self.send((mac, to.0), mac == self.table.mine(), parts)
    }

    #[inline]
    fn poll(&mut self, mut f: impl FnMut(InPlace<'_>)) -> Result<bool, ChannelError> {
        let Ethernet {
            line,
            seat,
            table,
            counts,
            ..
        } = self;
        let mut any = false;
        line.poll(|bytes| match frame::read(bytes, *seat) {
            Ok(read) if table.mac(read.from) == Some(read.mac) => {
                // What it sends to all it may hear itself, as an echo of this host.
                if !(read.cast && read.from == seat.node) {
                    any = true;
                    f(InPlace::new(read.from, read.bytes));
                }
            }
            Ok(_) | Err(Refusal::Foreign) => counts.foreign += 1,
            Err(Refusal::Impossible) => counts.impossible += 1,
        })?;
        Ok(any)
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        let wake = self.wake();
        self.patience.wait(idle, until, wake)
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        Some(self.wake())
    }

    fn now(&self) -> u64 {
        now()
    }
}

impl<L: Line> Broadcast for Ethernet<L> {
    fn broadcast(&mut self, parts: &[Part<'_>]) -> Result<(), ChannelError> {
        let to = (self.seat.group(), ALL);
        if self.elsewhere {
            self.send(to, false, parts)?;
        }
        if self.beside {
            // It is out already where others are; here it may get lost as anywhere.
            match self.send(to, true, parts) {
                Err(ChannelError::Full) if self.elsewhere => self.counts.unsent += 1,
                sent => sent?,
            }
        }
        Ok(())
    }
}
