//! Lists that add bins when their searches become long.

use super::bins::hash;
use super::indexed::Indexed;
use super::{Arrived, Expected, Matcher, Posted, Search, Sequence, Unexpected};
use crate::config::{Config, Sizes};
use crate::envelope::Envelope;
use crate::header::{Header, MAX_CLASSES, Pattern, Peer};

/// Policy: searches a queue in order until a search looks at more than `DEPTH` entries, then by bins until the queue is
/// empty again. Each of the two queues switches on its own.
///
/// With bins, an arrival searches one bin for each class of patterns ([`Pattern::CLASSES`]) of which a receive is
/// posted and takes the receive that was posted first; a receive searches one bin. Entries with equal keys form a queue
/// and together cost one step. There are `BINS` bins at first; they double when there are more different keys, up to
/// one for each entry of the composition. So a search takes a few steps for each class on average, however long the
/// queue is; in the worst case, when a peer chooses keys that fall into one bin, it is a linear search. Posting and
/// removing a receive each cost about as much as a search; adding and removing a message cost as much as one search for
/// each class. Doubling, and switching to bins, visits every entry once; with static storage and `BINS` as large as the
/// table the bins never double.
///
/// If a growing storage has no memory for bins, searches are linear.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive<const DEPTH: usize = 16, const BINS: usize = 64>;

/// Policy: bins from the first entry on.
pub type Binned<const BINS: usize = 64> = Adaptive<0, BINS>;

impl<const DEPTH: usize, const BINS: usize> Matcher for Adaptive<DEPTH, BINS> {
    type Sequence<S: Sequence> = u64;
    type Expected<H: Header, C: Config> = BinnedExpected<H, C, DEPTH, BINS>;
    type Unexpected<H: Header, C: Config> = BinnedUnexpected<H, C, DEPTH, BINS>;
}

/// The expected queue. A receive is in one group: that of its class and key.
pub struct BinnedExpected<H: Header, C: Config, const DEPTH: usize, const BINS: usize> {
    entries:
        Indexed<Posted<H::Pattern>, C::Storage, <C::Sizes as Sizes>::Operations, 1, DEPTH, BINS>,
    /// Number of receives per class while there are bins; classes without any are not searched.
    waiting: [usize; MAX_CLASSES],
}

impl<H: Header, C: Config, const DEPTH: usize, const BINS: usize>
    BinnedExpected<H, C, DEPTH, BINS>
{
    #[inline]
    fn first(&mut self, from: Peer, header: &H) -> Search<u32> {
        if self.entries.is_binned() {
            return self.first_in_bins(from, header);
        }
        let matches = |posted: &Posted<H::Pattern>| posted.pattern.matches(from, header);
        self.waiting = [0; MAX_CLASSES];
        let waiting = &mut self.waiting;
        self.entries.search(matches, |posted| {
            let (class, key) = Classes::<H>::of(&posted.pattern);
            waiting[class] += 1;
            [Some(hash(class, key))]
        })
    }

    /// Takes the first matching entry out if it is not the first of all or there are bins.
    #[inline(never)]
    fn take_behind(&mut self, from: Peer, header: &H) -> Option<u32> {
        let slot = self.first(from, header).found?;
        Expected::<H>::remove(self, slot);
        Some(slot)
    }

    #[inline(never)]
    fn post_binned(&mut self, pattern: H::Pattern, slot: u32, sequence: u64) -> bool {
        let posted = Posted {
            pattern,
            slot,
            sequence,
        };
        let hashes = Classes::<H>::hash_posted;
        let fits = self.entries.append_at(slot, posted, hashes);
        if fits && self.entries.is_binned() {
            self.waiting[Classes::<H>::of(&pattern).0] += 1;
        }
        fits
    }

    fn first_in_bins(&self, from: Peer, header: &H) -> Search<u32> {
        let matches = |posted: &Posted<H::Pattern>| posted.pattern.matches(from, header);
        let mut first: Option<(u32, u64)> = None;
        let mut steps = 0;
        for class in (0..Classes::<H>::N).filter(|&class| self.waiting[class] > 0) {
            let hash = Classes::<H>::hash_header(class, from, header);
            let search = self.entries.first(hash, matches);
            steps += search.steps;
            if let Some(place) = search.found
                && let Some(posted) = self.entries.list().item(place)
                && first.is_none_or(|(_, other)| posted.sequence < other)
            {
                first = Some((place, posted.sequence));
            }
        }
        let found = first.map(|(place, _)| place);
        Search { found, steps }
    }
}

/// The unexpected queue. A message is in one group for each class: that of the key which a receive of this class would
/// have.
pub struct BinnedUnexpected<H: Header, C: Config, const DEPTH: usize, const BINS: usize> {
    entries:
        Indexed<Arrived<H, C>, C::Storage, <C::Sizes as Sizes>::Pool, MAX_CLASSES, DEPTH, BINS>,
}

/// The classes of a protocol's patterns.
struct Classes<H>(core::marker::PhantomData<H>);

impl<H: Header> Classes<H> {
    const N: usize = {
        let n = <H::Pattern as Pattern<H>>::CLASSES;
        assert!(
            1 <= n && n <= MAX_CLASSES,
            "a pattern has 1 to 4 classes: see Pattern::CLASSES"
        );
        n
    };

    /// Returns the class and key of a pattern; a class that does not exist counts as the last one.
    #[inline]
    fn of(pattern: &H::Pattern) -> (usize, u32) {
        let (class, key) = pattern.class();
        (class.min(Self::N - 1), key)
    }

    #[inline]
    fn hash_posted(posted: &Posted<H::Pattern>) -> [Option<u32>; 1] {
        let (class, key) = Self::of(&posted.pattern);
        [Some(hash(class, key))]
    }

    #[inline]
    fn hash_header(class: usize, from: Peer, header: &H) -> u32 {
        hash(class, <H::Pattern as Pattern<H>>::key(class, from, header))
    }

    #[inline]
    fn hash_arrived<C: Config>(arrived: &Arrived<H, C>) -> [Option<u32>; MAX_CLASSES] {
        let Arrived { envelope, .. } = arrived;
        let (from, header) = (envelope.peer(), envelope.header());
        core::array::from_fn(|class| {
            (class < Self::N).then(|| Self::hash_header(class, from, &header))
        })
    }
}

impl<H: Header, C: Config, const DEPTH: usize, const BINS: usize> Expected<H>
    for BinnedExpected<H, C, DEPTH, BINS>
{
    fn new() -> Self {
        BinnedExpected {
            entries: Indexed::new(),
            waiting: [0; MAX_CLASSES],
        }
    }

    #[inline(always)]
    fn post(&mut self, posted: Posted<H::Pattern>) -> bool {
        if self.entries.is_binned() {
            // The fields are passed separately: a struct would be written to memory and read again at once, on the
            // other path too.
            return self.post_binned(posted.pattern, posted.slot, posted.sequence);
        }
        self.entries.append_to_list(posted.slot, posted)
    }

    fn search(&mut self, from: Peer, header: &H) -> Search<Posted<H::Pattern>> {
        let Search { found, steps } = self.first(from, header);
        let found = found.and_then(|slot| self.entries.list().item(slot).copied());
        Search { found, steps }
    }

    #[inline(always)]
    fn take(&mut self, from: Peer, header: &H) -> Option<u32> {
        if let Some(first) = self.entries.pop_if(|it| it.pattern.matches(from, header)) {
            return Some(first.slot);
        }
        self.take_behind(from, header)
    }

    #[inline(always)]
    fn remove(&mut self, slot: u32) {
        if self.entries.is_binned()
            && let Some(posted) = self.entries.list().item(slot)
        {
            self.waiting[Classes::<H>::of(&posted.pattern).0] -= 1;
        }
        self.entries.remove(slot);
    }

    fn wanted(&self, slot: u32) -> Option<H::Pattern> {
        Expected::<H>::wanted(self.entries.list(), slot)
    }

    fn following(&self, sequence: u64, from: Peer) -> Option<Posted<H::Pattern>> {
        Expected::<H>::following(self.entries.list(), sequence, from)
    }

    fn len(&self) -> usize {
        self.entries.list().count()
    }
}

impl<H: Header, C: Config, const DEPTH: usize, const BINS: usize> Unexpected<H, C>
    for BinnedUnexpected<H, C, DEPTH, BINS>
{
    fn new() -> Self {
        BinnedUnexpected {
            entries: Indexed::new(),
        }
    }

    fn push(&mut self, arrived: Arrived<H, C>) -> Option<u32> {
        self.entries.append(arrived, Classes::<H>::hash_arrived)
    }

    #[inline]
    fn search(&mut self, pattern: &H::Pattern) -> Search<u32> {
        let matches = |arrived: &Arrived<H, C>| arrived.matches(pattern);
        if !self.entries.is_binned() {
            return self.entries.search(matches, Classes::<H>::hash_arrived);
        }
        let (class, key) = Classes::<H>::of(pattern);
        self.entries.first(hash(class, key), matches)
    }

    fn position(&self, wanted: impl Fn(&Envelope<H, C>) -> bool) -> Option<u32> {
        Unexpected::<H, C>::position(self.entries.list(), wanted)
    }

    fn get(&self, place: u32) -> Option<&Arrived<H, C>> {
        self.entries.list().item(place)
    }

    fn get_mut(&mut self, place: u32) -> Option<&mut Arrived<H, C>> {
        self.entries.item_mut(place)
    }

    fn remove(&mut self, place: u32) {
        self.entries.remove(place);
    }

    fn set_aside(&mut self, place: u32) {
        self.entries.set_aside(place);
    }

    fn drop_aside(&mut self, place: u32) {
        self.entries.drop_aside(place);
    }

    fn len(&self) -> usize {
        self.entries.list().count()
    }
}
