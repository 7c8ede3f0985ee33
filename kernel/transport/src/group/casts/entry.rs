//! One group of a table. `casts` only.

use super::Hands;
use crate::group::frame::{Head, REPORT};
use crate::group::{Begun, Counts, Groups, Habits, Name, Room, Sink, Source};
use crate::reliable::Timing;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Slice, Storage};
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Source as Bytes;
use pombo_kernel::network::Broadcast;

pub(super) struct Entry<Z: Groups, S: Storage> {
    id: u32,
    source: Source<Z, S>,
    sinks: S::Slice<Sink<Z, S>, Z::Members>,
    closed: bool,
    /// Nothing is due before.
    due: u64,
    blocked: bool,
}

impl<Z: Groups, S: Storage> Entry<Z, S> {
    pub(super) fn new(
        name: Name,
        others: impl Iterator<Item = Node>,
        mtu: usize,
        habits: Habits,
        timing: Timing,
    ) -> Result<Self, Error> {
        let mut sinks: S::Slice<Sink<Z, S>, Z::Members> = S::Slice::new();
        for (before, node) in others.enumerate() {
            let (nodes, bound) = (
                before + 1,
                <Z::Members as pombo_kernel::aspect::Capacity>::N,
            );
            let refused = Error::TooManyNodes { nodes, bound };
            let sink = Sink::new(name, node, timing, None);
            sinks.push(sink).map_err(|_| refused)?;
        }
        let nodes = sinks.as_ref().iter().map(Sink::source);
        Ok(Entry {
            id: name.group,
            source: Source::new(name, nodes, mtu, habits, timing)?,
            sinks,
            closed: false,
            due: 0,
            blocked: false,
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn count(&self, counts: &mut Counts) {
        counts.add(&self.source.counts());
        let sinks = self.sinks.as_ref().iter();
        sinks.for_each(|sink| counts.add(&sink.counts()));
    }

    fn sink(&mut self, node: Node) -> Option<&mut Sink<Z, S>> {
        let mut sinks = self.sinks.as_mut().iter_mut();
        sinks.find(|sink| sink.source() == node)
    }

    /// Something of that source came before the group was here.
    pub(super) fn greet(&mut self, from: Node, stamp: u32) {
        if let Some(sink) = self.sink(from) {
            sink.greet(stamp);
        }
    }

    pub(super) fn send<N: Broadcast>(
        &mut self,
        network: &mut N,
        message: &impl Bytes,
    ) -> Result<Begun, Error> {
        self.due = 0;
        let begun = self.source.send(message)?;
        self.source.turn(network, message)?;
        Ok(begun)
    }

    pub(super) fn is_lent(&self) -> bool {
        self.source.is_lent()
    }

    pub(super) fn receive<N: Broadcast>(
        &mut self,
        network: &mut N,
        source: Node,
        into: &mut (impl Room + ?Sized),
    ) -> Result<Option<usize>, Error> {
        let sink = self.sink(source).ok_or(Error::NoSuchNode(source))?;
        let received = sink.receive(into)?;
        sink.turn(network)?;
        self.due = 0;
        Ok(received)
    }

    /// Takes a frame; false if it comes from nobody of this group.
    pub(super) fn hear<A: Arrival>(
        &mut self,
        head: &Head,
        frame: &A,
        hands: &mut impl Hands,
        now: u64,
    ) -> bool {
        let (id, from) = (self.id, frame.from());
        let Some(sink) = self.sink(from) else {
            return false;
        };
        if head.kind == REPORT {
            self.source.listen(head, frame, now);
        } else {
            let posted = sink.is_posted();
            let buffer = posted.then(|| hands.incoming(id, from)).flatten();
            sink.listen(head, frame, buffer, now);
        }
        self.due = 0;
        true
    }

    /// Sends what is due.
    pub(super) fn turn<N: Broadcast>(
        &mut self,
        network: &mut N,
        hands: &mut impl Hands,
        now: u64,
    ) -> Result<(), ChannelError> {
        if self.due > now && !self.blocked {
            return Ok(());
        }
        (self.due, self.blocked) = (u64::MAX, false);
        for sink in self.sinks.as_mut() {
            match sink.turn(network)? {
                true => self.due = self.due.min(sink.deadline()),
                false => self.blocked = true,
            }
        }
        match hands.outgoing(self.id).filter(|_| self.source.is_lent()) {
            Some(message) => self.source.turn(network, message)?,
            None => self.source.turn(network, &&[][..])?,
        };
        self.due = self.due.min(self.source.deadline());
        self.blocked |= self.source.is_blocked();
        Ok(())
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    pub(super) fn declare_lost(&mut self, node: Node) {
        self.due = 0;
        if let Some(sink) = self.sink(node) {
            sink.declare_lost();
        }
        self.source.declare_lost(node);
    }

    pub(super) fn close(&mut self) {
        (self.closed, self.due) = (true, 0);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn is_settled(&self) -> bool {
        self.source.is_done()
    }

    pub(super) fn is_singly(&self) -> bool {
        self.source.is_singly()
    }

    /// Closed, and nothing to say any more.
    pub(super) fn is_over(&self) -> bool {
        let mut sinks = self.sinks.as_ref().iter();
        self.closed && self.is_settled() && sinks.all(|sink| sink.deadline() == u64::MAX)
    }
}
