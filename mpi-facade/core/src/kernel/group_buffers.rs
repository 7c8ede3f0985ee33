//! The memory of broadcasts under way between hosts, for the groups of the channel: [`GroupBuffers`].

use crate::user_buffer::Region;
use alloc::vec::Vec;
use pombo_kernel::channel::GroupId;
use pombo_kernel::{Peer, Sink, Source};
use pombo_transport::multicast::{BufferProvider, ReassemblyBuffer};

/// The memory that the operations under way have lent. Each takes its own back before its caller's memory goes away.
#[derive(Default)]
pub(crate) struct GroupBuffers {
    outgoing: Vec<(GroupId, Region)>,
    incoming: Vec<(GroupId, Peer, Destination)>,
}

/// The memory where a message is reassembled.
pub(crate) struct Destination(pub(crate) Region);

impl GroupBuffers {
    /// Lends the message that this rank sends to the group.
    pub(crate) fn lend_outgoing(&mut self, group: GroupId, region: Region) {
        self.outgoing.push((group, region));
    }

    /// Lends the buffer for the next message of that root in the group, unless one is lent already.
    pub(crate) fn lend_incoming(&mut self, group: GroupId, root: Peer, region: Region) {
        if self.incoming(group, root).is_none() {
            self.incoming.push((group, root, Destination(region)));
        }
    }

    /// Takes back the message to the group.
    pub(crate) fn take_outgoing(&mut self, group: GroupId) {
        self.outgoing.retain(|(of, _)| *of != group);
    }

    /// Takes back the buffer for a message of that root.
    pub(crate) fn take_incoming(&mut self, group: GroupId, root: Peer) {
        self.incoming
            .retain(|(of, from, _)| *of != group || *from != root);
    }
}

impl BufferProvider for GroupBuffers {
    type Out = Region;
    type Into = Destination;

    fn outgoing(&mut self, group: GroupId) -> Option<&Region> {
        let mut outgoing = self.outgoing.iter();
        let found = outgoing.find(|(of, _)| *of == group);
        found.map(|(_, region)| region)
    }

    fn incoming(&mut self, group: GroupId, root: Peer) -> Option<&mut Destination> {
        let mut incoming = self.incoming.iter_mut();
        let found = incoming.find(|(of, from, _)| *of == group && *from == root);
        found.map(|(_, _, destination)| destination)
    }

    fn is_waiting(&self) -> bool {
        !self.outgoing.is_empty() || !self.incoming.is_empty()
    }
}

impl ReassemblyBuffer for Destination {
    fn len(&self) -> usize {
        Source::len(&self.0)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0.copy_in(at, bytes);
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.0.copy_out(at, into);
    }
}
