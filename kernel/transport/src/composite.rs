//! Two channels as one: [`Composite`]. Whoever runs ranks on several hosts uses it: those of one host reach each other
//! over one channel, all others over the second.
//!
//! The second channel has every node and gives the numbers; the first one has some of them under numbers of its own. A
//! node has one way for its whole life, so the order per peer is that of its channel. What a channel can do it does here
//! too: nodes beyond cost the near ones no short way.
//!
//! | bound | set by | at the bound |
//! | --- | --- | --- |
//! | nodes | `N` | [`Error::TooManyNodes`] when it is made |
//! | polls of the near channel before the far one has its turn | 8, 1 once it brought something | |
//! | sleep in the near channel where it cannot sleep for both | 0.4 ms | |

use core::marker::PhantomData;
use pombo_kernel::Error;
use pombo_kernel::aspect::{Cap, Capacity, Slice, Static, Storage};
use pombo_kernel::channel::{
    Arrival, Channel, ChannelError, Cookie, Event, NAP, Sent, Taker, Target, Wake,
};
use pombo_kernel::header::Node;
use pombo_kernel::memory::Part;

/// The near channel, and where there are nodes beyond it, the far one.
///
/// ```
/// # use pombo_kernel::{Channel, Node};
/// # use pombo_netdrivers::Loopback;
/// # use pombo_transport::Composite;
/// # let (mut host, mut all) = (Loopback::world(2), Loopback::world(4));
/// // Nodes 1 and 3 of 4 share a host; this is node 3.
/// let (near, far) = (host.remove(1), all.remove(3));
/// let channel = Composite::<_, _>::new(near, far, &[Node(1), Node(3)])?;
/// assert_eq!((channel.node(), channel.nodes()), (Node(3), 4));
/// # Ok::<(), pombo_kernel::Error>(())
/// ```
pub struct Composite<A: Channel, B: Channel, N: Capacity = Cap<8>, S: Storage = Static> {
    near: A,
    beyond: Option<Beyond<B, N, S>>,
}

struct Beyond<B, N: Capacity, S: Storage> {
    far: B,
    /// For every node its number over the near channel, or [`FAR`].
    ways: S::Slice<u16, N>,
    /// For every number of the near channel its node.
    members: S::Slice<Node, N>,
    /// Polls before the far channel's turn.
    rest: u32,
    /// A frame has left to this node itself since the last poll.
    own: bool,
}

/// No node has this number on any channel.
const FAR: u16 = u16::MAX;
/// A look at the far device costs more than one at shared memory, and its frames take longer.
const EVERY: u32 = 8;
/// Idle so often, the near channel has nothing to hurry for.
const CALM: u32 = 64;

impl<A: Channel, B: Channel, N: Capacity, S: Storage> Composite<A, B, N, S> {
    /// All nodes are near: the other channel is not there, and costs a comparison.
    pub const fn alone(near: A) -> Self {
        Composite { near, beyond: None }
    }

    /// The near channel's node `i` is `members[i]` on the far one.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`]; [`Error::NoSuchNode`] names a member that is not there, that stands there twice, or
    /// that is this node on one channel only.
    pub fn new(near: A, far: B, members: &[Node]) -> Result<Self, Error> {
        let (nodes, bound) = (far.nodes(), N::N);
        let refused = Error::TooManyNodes { nodes, bound };
        if members.len() != near.nodes() || members.get(near.node().index()) != Some(&far.node()) {
            return Err(Error::NoSuchNode(far.node()));
        }
        let mut ways = S::Slice::new();
        for _ in 0..nodes {
            ways.push(FAR).map_err(|_| refused)?;
        }
        let mut list = S::Slice::new();
        for (number, &node) in members.iter().enumerate() {
            match ways.as_mut().get_mut(node.index()) {
                Some(way) if *way == FAR => *way = number as u16,
                _ => return Err(Error::NoSuchNode(node)),
            }
            list.push(node).map_err(|_| refused)?;
        }
        let beyond = Beyond {
            far,
            ways,
            members: list,
            rest: 0,
            own: false,
        };
        Ok(Composite {
            near,
            beyond: Some(beyond),
        })
    }

    /// The near channel.
    #[inline]
    pub fn near(&self) -> &A {
        &self.near
    }

    /// The near channel. Sending on it directly breaks the kernel's order.
    #[inline]
    pub fn near_mut(&mut self) -> &mut A {
        &mut self.near
    }

    /// The far channel, where there is one.
    #[inline]
    pub fn far(&self) -> Option<&B> {
        self.beyond.as_ref().map(|beyond| &beyond.far)
    }

    /// The far channel, where there is one. Sending on it directly breaks the kernel's order.
    #[inline]
    pub fn far_mut(&mut self) -> Option<&mut B> {
        self.beyond.as_mut().map(|beyond| &mut beyond.far)
    }
}

impl<B: Channel, N: Capacity, S: Storage> Beyond<B, N, S> {
    /// The node's number over the near channel.
    fn way(&self, to: Node) -> Option<Node> {
        let way = self.ways.as_ref().get(to.index());
        way.filter(|way| **way != FAR).map(|way| Node(*way))
    }

    fn is_alone(&self) -> bool {
        self.members.as_ref().len() == 1
    }

    /// Whoever has nobody beyond does not carry this along: it is not made a part of its caller, and there is one of it.
    #[inline(never)]
    fn poll<A: Channel>(
        &mut self,
        f: &mut dyn for<'a> FnMut(Event<Either<A::Arrival<'a>, B::Arrival<'a>>>),
    ) -> Result<bool, ChannelError> {
        if self.rest > 0 && !self.is_alone() {
            self.rest -= 1;
            return Ok(false);
        }
        let (ways, mut any) = (self.ways.as_ref(), false);
        self.far.poll(|event| {
            // How a near node lives is the near channel's to say.
            let near = matches!(event, Event::PeerLost(node) if ways[node.index()] != FAR);
            if near {
                return;
            }
            any = true;
            f(event.map(Either::Far));
        })?;
        self.rest = if any { 0 } else { EVERY - 1 };
        Ok(any)
    }

    #[inline(never)]
    fn try_send(
        &mut self,
        near: &mut impl Channel,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        let Some(number) = self.way(to) else {
            return self.far.try_send(to, cookie, parts);
        };
        self.own |= to == self.far.node();
        let sent = near.try_send(number, cookie, parts);
        sent.map_err(|error| match error {
            ChannelError::PeerLost(_) => ChannelError::PeerLost(to),
            ChannelError::NoSuchNode(_) => ChannelError::NoSuchNode(to),
            error => error,
        })
    }

    /// Polls both channels, for a taker of any type.
    #[inline(never)]
    fn poll_both<A: Channel>(
        &mut self,
        near: &mut A,
        taker: &mut impl Taker,
    ) -> Result<bool, ChannelError> {
        let any = near.poll_for(&mut Renaming {
            taker: &mut *taker,
            members: self.members.as_ref(),
            far: PhantomData::<fn() -> B>,
        })?;
        self.own = false;
        Ok(self.poll::<A>(&mut |event| taker.event(event))? || any)
    }

    fn wakes_by(&mut self, near: &mut impl Channel) -> Option<Wake> {
        self.rest = 0;
        let far = self.far.wakes_by()?;
        if self.own {
            return Some(far.at_most(0));
        }
        match self.is_alone() {
            true => Some(far),
            false => near.wakes_by()?.or(far),
        }
    }

    fn wait_beside(
        &mut self,
        near: &mut impl Channel,
        idle: u32,
        other: Wake,
    ) -> Result<(), ChannelError> {
        if self.is_alone() {
            return match self.own {
                true => Ok(()),
                false => self.far.wait_beside(idle, other),
            };
        }
        if idle < CALM {
            return near.wait_within(idle, other.within.min(NAP));
        }
        self.rest = 0;
        match self.far.wakes_by().and_then(|far| far.or(other)) {
            Some(wake) => near.wait_beside(idle, wake),
            None => near.wait_within(idle, other.within.min(NAP)),
        }
    }

    #[inline(never)]
    fn wait<A: Channel>(&mut self, near: &mut A, idle: u32, most: u64) -> Result<(), ChannelError> {
        if self.is_alone() {
            return match self.own {
                true => Ok(()),
                false if most == u64::MAX => self.far.wait(idle),
                false => self.far.wait_within(idle, most),
            };
        }
        if idle < CALM {
            return near.wait_within(idle, most.min(NAP));
        }
        self.rest = 0;
        match self.far.wakes_by() {
            Some(wake) => near.wait_beside(idle, wake.at_most(most)),
            None => near.wait_within(idle, most.min(NAP)),
        }
    }
}

impl<A: Channel, B: Channel, N: Capacity, S: Storage> Channel for Composite<A, B, N, S> {
    type Arrival<'a> = Either<A::Arrival<'a>, B::Arrival<'a>>;

    #[inline]
    fn node(&self) -> Node {
        match &self.beyond {
            None => self.near.node(),
            Some(beyond) => beyond.far.node(),
        }
    }

    #[inline]
    fn nodes(&self) -> usize {
        match &self.beyond {
            None => self.near.nodes(),
            Some(beyond) => beyond.far.nodes(),
        }
    }

    #[inline]
    fn limit(&self, to: Node) -> usize {
        let Some(beyond) = &self.beyond else {
            return self.near.limit(to);
        };
        match beyond.way(to) {
            Some(number) => self.near.limit(number),
            None => beyond.far.limit(to),
        }
    }

    #[inline]
    fn offers(&self, to: Node, len: usize) -> bool {
        let Some(beyond) = &self.beyond else {
            return self.near.offers(to, len);
        };
        match beyond.way(to) {
            Some(number) => self.near.offers(number, len),
            None => beyond.far.offers(to, len),
        }
    }

    #[inline(always)]
    fn try_send(
        &mut self,
        to: Node,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        match &mut self.beyond {
            None => self.near.try_send(to, cookie, parts),
            Some(beyond) => beyond.try_send(&mut self.near, to, cookie, parts),
        }
    }

    #[inline]
    fn gather(&mut self, on: bool) {
        self.near.gather(on);
        if let Some(beyond) = &mut self.beyond {
            beyond.far.gather(on);
        }
    }

    #[inline]
    fn poll_for(&mut self, taker: &mut impl Taker) -> Result<bool, ChannelError> {
        match &mut self.beyond {
            None => self.near.poll_for(taker),
            Some(beyond) => beyond.poll_both(&mut self.near, taker),
        }
    }

    #[inline(never)]
    fn poll(&mut self, mut f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let members = members(self.beyond.as_ref());
        let near = self.near.poll(|event| f(renamed(event, members)))?;
        let Some(beyond) = &mut self.beyond else {
            return Ok(near);
        };
        beyond.own = false;
        Ok(beyond.poll::<A>(&mut f)? || near)
    }

    #[inline]
    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        match &mut self.beyond {
            None => self.near.wait(idle),
            Some(beyond) => beyond.wait(&mut self.near, idle, u64::MAX),
        }
    }

    fn wait_within(&mut self, idle: u32, nanoseconds: u64) -> Result<(), ChannelError> {
        match &mut self.beyond {
            None => self.near.wait_within(idle, nanoseconds),
            Some(beyond) => beyond.wait(&mut self.near, idle, nanoseconds),
        }
    }

    fn wakes_by(&mut self) -> Option<Wake> {
        match &mut self.beyond {
            None => self.near.wakes_by(),
            Some(beyond) => beyond.wakes_by(&mut self.near),
        }
    }

    fn wait_beside(&mut self, idle: u32, other: Wake) -> Result<(), ChannelError> {
        match &mut self.beyond {
            None => self.near.wait_beside(idle, other),
            Some(beyond) => beyond.wait_beside(&mut self.near, idle, other),
        }
    }

    fn now(&self) -> u64 {
        self.near.now()
    }
}

/// The nodes of the near channel's numbers; none where these are the nodes.
fn members<B, N: Capacity, S: Storage>(beyond: Option<&Beyond<B, N, S>>) -> &[Node] {
    beyond.map_or(&[], |beyond| beyond.members.as_ref())
}

#[inline(always)]
fn node_of(number: Node, members: &[Node]) -> Node {
    members.get(number.index()).copied().unwrap_or(number)
}

/// What the near channel reports, by the numbers that all nodes know.
#[inline(always)]
fn renamed<A: Arrival, B>(event: Event<A>, members: &[Node]) -> Event<Either<A, B>> {
    match event {
        Event::PeerLost(node) => Event::PeerLost(node_of(node, members)),
        event => event.map(|frame| {
            let from = node_of(frame.from(), members);
            Either::Near { from, frame }
        }),
    }
}

/// Hands on what the near channel reports. What goes the long way is of one type with what the far one has, so that
/// its taker exists once.
struct Renaming<'a, T, B> {
    taker: &'a mut T,
    members: &'a [Node],
    far: PhantomData<fn() -> B>,
}

impl<T: Taker, B: Channel> Taker for Renaming<'_, T, B> {
    #[inline]
    fn event<A: Arrival>(&mut self, event: Event<A>) {
        let event: Event<Either<A, B::Arrival<'_>>> = renamed(event, self.members);
        self.taker.event(event);
    }

    #[inline(always)]
    fn take(&mut self, from: Node, frame: &[u8]) -> bool {
        self.taker.take(node_of(from, self.members), frame)
    }
}

/// A frame of one of two channels.
#[derive(Clone, Copy, Debug)]
pub enum Either<A, B> {
    /// Of the near one.
    Near {
        /// Its sender, by the number that all nodes know.
        from: Node,
        /// As the channel hands it out.
        frame: A,
    },
    /// Of the far one.
    Far(B),
}

impl<A: Arrival, B: Arrival> Arrival for Either<A, B> {
    #[inline]
    fn from(&self) -> Node {
        match self {
            Either::Near { from, .. } => *from,
            Either::Far(frame) => frame.from(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Either::Near { frame, .. } => frame.len(),
            Either::Far(frame) => frame.len(),
        }
    }

    #[inline]
    fn head(&self, n: usize) -> Option<&[u8]> {
        match self {
            Either::Near { frame, .. } => frame.head(n),
            Either::Far(frame) => frame.head(n),
        }
    }

    #[inline]
    fn pieces(&self, offset: usize, len: usize, f: impl FnMut(&[u8])) {
        match self {
            Either::Near { frame, .. } => frame.pieces(offset, len, f),
            Either::Far(frame) => frame.pieces(offset, len, f),
        }
    }

    #[inline]
    fn fetch(&self, offset: usize, len: usize, into: &mut impl Target) -> bool {
        match self {
            Either::Near { frame, .. } => frame.fetch(offset, len, into),
            Either::Far(frame) => frame.fetch(offset, len, into),
        }
    }
}
