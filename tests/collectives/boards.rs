//! Tests every operation over boards against what each rank can compute alone: with the smallest boards, ranks polled
//! in random order, an operator for which the order of operands matters, and operations one after the other.

use pombo_collective::{self as collective, Buffer, Execution, Executor, Piece, Step, SumPlace};
use pombo_netdrivers::fault::SeededRng;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;

/// The map x -> a x + b over bytes: composing two of them is associative, and the order matters.
type Value = [u8; 2];

fn compose([a, b]: Value, [c, d]: Value) -> Value {
    [a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]
}

/// The state that all ranks share.
struct Boards {
    /// Publications that some ranks still need, by rank and round.
    texts: HashMap<(usize, usize), Vec<Value>>,
    /// Number of rounds that each rank has ended.
    ended: Vec<usize>,
    /// Number of rounds that a board keeps.
    rounds: usize,
}

/// One rank; every block of its buffers is one value.
struct Rank<'a> {
    me: usize,
    boards: &'a RefCell<Boards>,
    next: usize,
    input: Vec<Value>,
    output: Vec<Value>,
    in_place: bool,
    work: Option<Value>,
    incoming: Option<Value>,
    /// A copy that has not taken effect.
    copied: Option<(Piece, Value)>,
}

impl Rank<'_> {
    fn round(&self) -> usize {
        self.boards.borrow().ended[self.me]
    }

    fn has_room(&self) -> bool {
        let boards = self.boards.borrow();
        let slowest = boards.ended.iter().min().copied();
        self.next < slowest.unwrap_or(0) + boards.rounds
    }

    fn values(&self, piece: Piece) -> Vec<Value> {
        let blocks = piece.first..piece.first + piece.blocks;
        match piece.buffer {
            Buffer::Input if self.in_place => self.output[blocks].to_vec(),
            Buffer::Input => self.input[blocks].to_vec(),
            Buffer::Output => self.output[blocks].to_vec(),
            Buffer::Work => vec![self.work.expect("something was built")],
            Buffer::Incoming => vec![self.incoming.expect("something was received")],
        }
    }

    fn set(&mut self, piece: Piece, value: Value) {
        match piece.buffer {
            Buffer::Output => self.output[piece.first] = value,
            Buffer::Work => self.work = Some(value),
            Buffer::Incoming => self.incoming = Some(value),
            Buffer::Input => panic!("the input is only read"),
        }
    }

    /// Copies as late as an executor may.
    fn copy_now(&mut self) {
        if let Some((into, value)) = self.copied.take() {
            self.set(into, value);
        }
    }
}

impl Executor for Rank<'_> {
    type Error = Infallible;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Infallible> {
        assert_eq!(to, self.me, "the steps name the rank itself");
        if !self.has_room() {
            assert_ne!(piece.buffer, Buffer::Work, "room was waited for");
            return Ok(false);
        }
        self.copy_now();
        let text = self.values(piece);
        let known = self
            .boards
            .borrow_mut()
            .texts
            .insert((self.me, self.next), text);
        assert_eq!(known, None, "once in a round");
        self.next += 1;
        self.work = None;
        Ok(true)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Infallible> {
        if from == self.me && piece.buffer == Buffer::Work {
            return Ok(self.has_room());
        }
        let text = self
            .boards
            .borrow()
            .texts
            .get(&(from, self.round()))
            .cloned();
        let Some(text) = text else {
            return Ok(false);
        };
        if piece.blocks > 0 {
            let part = if text.len() > 1 { self.me } else { 0 };
            self.set(piece, text[part]);
        }
        Ok(true)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, Infallible> {
        assert_eq!(open, 0);
        self.copy_now();
        self.incoming = None;
        let mut boards = self.boards.borrow_mut();
        boards.ended[self.me] += 1;
        self.next = self.next.max(boards.ended[self.me]);
        let slowest = boards.ended.iter().min().copied().unwrap_or(0);
        boards.texts.retain(|(_, round), _| *round >= slowest);
        Ok(true)
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let first = self.copied.take().filter(|(into, _)| *into == right);
        let b = first.map_or_else(|| self.values(right)[0], |(_, first)| first);
        let sum = compose(self.values(left)[0], b);
        self.set(right, sum);
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        self.copy_now();
        self.copied = Some((into, self.values(from)[0]));
    }
}

/// One operation of all ranks.
struct Case {
    name: String,
    /// Numbers of blocks of each rank's input and output.
    blocks: (usize, usize),
    may_be_in_place: bool,
    steps: Box<dyn Fn(usize) -> Box<dyn Iterator<Item = Step>>>,
    /// Returns what a rank must have in its output, from all inputs; `None` if the output is not checked.
    expected: Box<dyn Fn(usize, &[Vec<Value>]) -> Option<Vec<Value>>>,
}

/// Boxes the function `steps!(rank => schedule)`.
macro_rules! steps {
    ($rank:ident => $schedule:expr) => {
        Box::new(move |$rank| Box::new($schedule) as Box<dyn Iterator<Item = Step>>)
    };
}

fn sums(inputs: &[Vec<Value>]) -> Vec<Value> {
    let blocks = 0..inputs[0].len();
    let sum = |block| {
        inputs
            .iter()
            .map(|input: &Vec<Value>| input[block])
            .reduce(compose)
    };
    blocks.map(|block| sum(block).expect("a rank")).collect()
}

/// Returns all operations, for boards that keep `rounds` rounds.
fn cases(n: usize, rounds: usize, rng: &mut SeededRng) -> Vec<Case> {
    let (root, segments) = (rng.index(n), rng.index(6));
    let ahead = 1 + rng.index(rounds);
    let about = format!("{n} ranks, root {root}, {segments} segments, {ahead} ahead of {rounds}");
    let case = |name: &str, blocks, may_be_in_place, steps, expected| Case {
        name: format!("{name}, {about}"),
        blocks,
        may_be_in_place,
        steps,
        expected,
    };
    let mut all = vec![
        case(
            "barrier",
            (0, 0),
            false,
            steps!(rank => collective::barrier_shm(rank, n)),
            Box::new(|_, _| None),
        ),
        case(
            "broadcast",
            (0, segments),
            true,
            steps!(rank => collective::broadcast_shm(rank, root, segments)),
            Box::new(move |_, inputs| Some(inputs[root].clone())),
        ),
        case(
            "allreduce",
            (1, 1),
            true,
            steps!(rank => collective::allreduce_shm(rank, n)),
            Box::new(|_, inputs| Some(sums(inputs))),
        ),
        case(
            "allgather",
            (segments, segments * n),
            false,
            steps!(rank => collective::allgather_shm(rank, n, segments, ahead)),
            Box::new(move |_, inputs| {
                let blocks = 0..segments * n;
                Some(blocks.map(|block| inputs[block % n][block / n]).collect())
            }),
        ),
        case(
            "alltoall",
            (segments * n, segments * n),
            true,
            steps!(rank => collective::alltoall_shm(rank, n, segments, ahead)),
            Box::new(move |rank, inputs| {
                let blocks = 0..segments * n;
                let from = |block: usize| inputs[block % n][block / n * n + rank];
                Some(blocks.map(from).collect())
            }),
        ),
    ];
    if n == 2 {
        all.push(case(
            "allreduce of a pair",
            (segments, segments),
            true,
            steps!(rank => collective::allreduce_pair_shm(rank, segments, ahead)),
            Box::new(|_, inputs| Some(sums(inputs))),
        ));
    }
    for (place, in_place) in [(Buffer::Output, false), (Buffer::Work, true)] {
        all.push(case(
            &format!("reduce in {place:?}"),
            (segments, segments),
            in_place,
            steps!(rank => collective::reduce_shm(rank, n, root, segments, place)),
            Box::new(move |rank, inputs| (rank == root).then(|| sums(inputs))),
        ));
    }
    if rounds > 1 {
        let ahead = 1 + rng.index(rounds / 2);
        let places = [SumPlace::Board, SumPlace::Work, SumPlace::Output].map(|it| (None, it));
        for (only, place) in places.into_iter().chain([(Some(root), SumPlace::Board)]) {
            all.push(case(
                &format!("shares for {only:?} in {place:?}"),
                (segments * n, segments * n),
                place != SumPlace::Output,
                steps!(rank => collective::reduce_scatter_gather_shm(rank, n, only, segments, ahead, place)),
                Box::new(move |rank, inputs| {
                    let here = only.is_none_or(|root| root == rank);
                    here.then(|| sums(inputs))
                }),
            ));
        }
    }
    all
}

fn run(case: &Case, boards: &RefCell<Boards>, rng: &mut SeededRng) {
    let n = boards.borrow().ended.len();
    let (blocks, results) = case.blocks;
    let in_place = case.may_be_in_place && (blocks == 0 || rng.index(2) == 0);
    let mut value = || [rng.below(256) as u8 | 1, rng.below(256) as u8];
    let given = if in_place { results } else { blocks };
    let inputs: Vec<Vec<Value>> = (0..n)
        .map(|_| (0..given).map(|_| value()).collect())
        .collect();
    let start = boards.borrow().ended[0];
    let mut ranks: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(me, input)| {
            let output = match in_place {
                true => input.clone(),
                false => vec![[0x6b; 2]; results],
            };
            let rank = Rank {
                me,
                boards,
                next: start,
                input: input.clone(),
                output,
                in_place,
                work: None,
                incoming: None,
                copied: None,
            };
            (rank, Execution::new((case.steps)(me)), false)
        })
        .collect();
    let mut turns = 0;
    while !ranks.iter().all(|(.., over)| *over) {
        let (rank, running, over) = &mut ranks[rng.index(n)];
        if !*over {
            *over = running.poll(rank).unwrap_or_else(|never| match never {});
        }
        turns += 1;
        assert!(turns < 1_000_000, "nobody gets on in {}", case.name);
    }
    for (rank, ..) in &ranks {
        if let Some(expected) = (case.expected)(rank.me, &inputs) {
            assert_eq!(rank.output, expected, "rank {}: {}", rank.me, case.name);
        }
    }
    let boards = boards.borrow();
    assert!(
        boards.ended.iter().all(|ended| *ended == boards.ended[0]),
        "{}",
        case.name
    );
    assert!(boards.texts.is_empty(), "{} leaves texts behind", case.name);
}

#[test]
fn every_operation_over_boards() {
    for seed in 0..40 {
        for ranks in 1..=9 {
            let mut rng = SeededRng::stream(seed, ranks as u64);
            let rounds = 1 + rng.index(6);
            let boards = RefCell::new(Boards {
                texts: HashMap::new(),
                ended: vec![0; ranks],
                rounds,
            });
            for case in cases(ranks, rounds, &mut rng) {
                run(&case, &boards, &mut rng);
            }
        }
    }
}
