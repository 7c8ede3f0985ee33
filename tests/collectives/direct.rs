//! Tests every algorithm over the simplest transport: memory to memory, in one thread. A send completes when it is
//! received, or at once, at random; a rank has room for only [`WIDTH`] messages; ranks are polled in random order.

use crate::algorithms::algorithms;
use crate::case::Case;
use pombo_collective::{
    Execution, Executor, OperationBuffers, Operator, Piece, SharedBytes, WIDTH,
};
use pombo_netdrivers::fault::SeededRng;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

type Flag = Rc<Cell<bool>>;

/// A message under way: lent memory, or a copy of it.
enum Message<'a> {
    Lent(SharedBytes<'a>, Flag),
    Copied(Vec<u8>),
}

/// A receive that waits: its memory, and whether it is complete.
type Posted<'a> = (SharedBytes<'a>, Flag);

/// The messages and receives under way from one rank to another.
#[derive(Default)]
struct Link<'a> {
    messages: VecDeque<Message<'a>>,
    posted: VecDeque<Posted<'a>>,
}

impl Link<'_> {
    /// Matches the first message with the first receive.
    fn meet(&mut self) {
        while !self.messages.is_empty() && !self.posted.is_empty() {
            let message = self.messages.pop_front().expect("not empty");
            let (into, over) = self.posted.pop_front().expect("not empty");
            let sent = match message {
                Message::Lent(from, sent) => {
                    from.copy_to(into);
                    sent.set(true);
                    from.len()
                }
                Message::Copied(bytes) => {
                    into.write(&bytes);
                    bytes.len()
                }
            };
            assert_eq!(sent, into.len(), "both sides mean the same blocks");
            over.set(true);
        }
    }
}

type Links<'a> = RefCell<Vec<Link<'a>>>;

/// One rank of the simplest transport.
struct Direct<'a, 'w> {
    rank: usize,
    ranks: usize,
    links: &'w Links<'a>,
    parts: OperationBuffers<'a>,
    begun: VecDeque<Flag>,
    room: usize,
    rng: SeededRng,
    operator: Box<dyn Fn(SharedBytes<'_>, SharedBytes<'_>)>,
}

impl<'a> Direct<'a, '_> {
    fn cells(&self, piece: Piece) -> SharedBytes<'a> {
        self.parts.piece(piece)
    }

    /// Matches late, so that the test detects a buffer that is used too early.
    fn meet(&mut self) {
        let mut links = self.links.borrow_mut();
        for other in 0..self.ranks {
            for link in [
                other * self.ranks + self.rank,
                self.rank * self.ranks + other,
            ] {
                if !links[link].messages.is_empty() && self.rng.index(2) == 0 {
                    links[link].meet();
                }
            }
        }
    }

    fn has_room(&mut self) -> bool {
        self.meet();
        while self.begun.front().is_some_and(|over| over.get()) {
            self.begun.pop_front();
        }
        self.begun.len() < self.room
    }
}

impl Executor for Direct<'_, '_> {
    type Error = Infallible;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Infallible> {
        assert_ne!(to, self.rank, "nobody sends to itself");
        if !self.has_room() {
            return Ok(false);
        }
        let (cells, over) = (self.cells(piece), Flag::default());
        let message = if self.rng.index(2) == 0 {
            let mut bytes = vec![0; cells.len()];
            cells.read(&mut bytes);
            over.set(true);
            Message::Copied(bytes)
        } else {
            Message::Lent(cells, over.clone())
        };
        self.begun.push_back(over);
        let link = &mut self.links.borrow_mut()[self.rank * self.ranks + to];
        link.messages.push_back(message);
        Ok(true)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Infallible> {
        assert_ne!(from, self.rank, "nobody receives from itself");
        if !self.has_room() {
            return Ok(false);
        }
        let (cells, over) = (self.cells(piece), Flag::default());
        self.begun.push_back(over.clone());
        let link = &mut self.links.borrow_mut()[from * self.ranks + self.rank];
        link.posted.push_back((cells, over));
        Ok(true)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, Infallible> {
        self.meet();
        let old = self.begun.len().saturating_sub(open);
        Ok(self.begun.iter().take(old).all(|over| over.get()))
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let (left, right) = (self.cells(left), self.cells(right));
        assert_eq!(left.len(), right.len());
        (self.operator)(left, right);
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        let (from, into) = (self.cells(from), self.cells(into));
        assert_eq!(from.len(), into.len());
        from.copy_to(into);
    }
}

fn run(case: &Case, rng: &mut SeededRng) {
    let n = case.ranks;
    let mut memory: Vec<_> = (0..n).map(|rank| case.memory(rank)).collect();
    let links: Links<'_> = RefCell::new((0..n * n).map(|_| Link::default()).collect());
    let mut ranks: Vec<_> = memory
        .iter_mut()
        .enumerate()
        .map(|(rank, memory)| {
            let operator = case.operator();
            let direct = Direct {
                rank,
                ranks: n,
                links: &links,
                parts: case.parts(rank, memory),
                begun: VecDeque::new(),
                room: WIDTH + rng.index(3) * 8,
                rng: SeededRng::new(rng.below(u64::MAX)),
                operator: Box::new(move |left, right| operator.combine(left, right)),
            };
            (direct, Execution::new(case.algorithm.steps(rank)), false)
        })
        .collect();
    let mut turns = 0;
    while !ranks.iter().all(|(.., over)| *over) {
        let (direct, running, over) = &mut ranks[rng.index(n)];
        *over = running.poll(direct).unwrap_or_else(|never| match never {});
        turns += 1;
        assert!(turns < 3_000_000, "nobody gets on in {}", case.name());
    }
    for (rank, (direct, running, _)) in ranks.iter_mut().enumerate() {
        assert_eq!(running.poll(direct), Ok(true), "over is over");
        case.check(rank, &direct.parts);
    }
    let open = |link: &Link<'_>| !link.messages.is_empty() || !link.posted.is_empty();
    assert!(
        !links.borrow().iter().any(open),
        "{} leaves messages behind",
        case.name()
    );
}

#[test]
fn every_algorithm_on_every_topology() {
    for seed in 0..3 {
        for ranks in 1..=17 {
            let mut rng = SeededRng::stream(seed, ranks as u64);
            for algorithm in algorithms(ranks, &mut rng) {
                run(&Case::new(algorithm, ranks, &mut rng), &mut rng);
            }
        }
    }
}

/// Tests the arithmetic with more ranks than a machine word has bits.
#[test]
fn many_ranks() {
    let mut rng = SeededRng::new(7);
    for ranks in [31, 64, 70] {
        let few = algorithms(ranks, &mut rng).into_iter().enumerate();
        for (_, algorithm) in few.filter(|(index, _)| index % 11 == 0) {
            run(&Case::new(algorithm, ranks, &mut rng), &mut rng);
        }
    }
}
