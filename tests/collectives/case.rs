//! One collective operation: the data and memory of all ranks, and the results that they must have.

use crate::algorithms::{Algorithm, Kind};
use pombo_collective::{Blocks, Combining, Cut, OperationBuffers, Operator, Segments, SharedBytes};
use pombo_netdrivers::fault::SeededRng;

/// The map x -> a x + b over bytes. Composing two of them is associative, and the order matters.
pub(crate) type Value = [u8; 2];
const WIDTH: usize = size_of::<Value>();
/// The initial contents of memory.
const JUNK: Value = [0x6B, 0x6B];

/// Composes two maps: the right one is applied first.
fn compose([a, b]: Value, [c, d]: Value) -> Value {
    [a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]
}

fn add([a, b]: Value, [c, d]: Value) -> Value {
    [a.wrapping_add(c), b.wrapping_add(d)]
}

pub(crate) struct Case {
    pub(crate) algorithm: Algorithm,
    pub(crate) ranks: usize,
    /// Number of values in operations without a block for every rank.
    count: usize,
    /// Number of values of block i in operations with a block for every rank.
    sizes: Vec<usize>,
    in_place: bool,
    salt: u64,
}

/// The buffers of one rank.
pub(crate) struct Memory {
    input: Vec<Value>,
    output: Vec<Value>,
    work: Vec<Value>,
    incoming: Vec<Value>,
    ends: Vec<usize>,
}

impl Case {
    pub(crate) fn new(algorithm: Algorithm, ranks: usize, rng: &mut SeededRng) -> Case {
        let longest = if rng.index(8) == 0 { 300 } else { 6 };
        let size = rng.index(longest);
        let equal = algorithm.equal;
        Case {
            ranks,
            count: rng.index(4 * longest),
            sizes: (0..ranks)
                .map(|_| if equal { size } else { rng.index(longest) })
                .collect(),
            in_place: rng.index(2) == 0 && algorithm.may_be_in_place,
            salt: rng.below(u64::MAX),
            algorithm,
        }
    }

    pub(crate) fn name(&self) -> String {
        let Case {
            algorithm,
            ranks,
            count,
            sizes,
            in_place,
            ..
        } = self;
        let (name, root) = (&algorithm.name, algorithm.root);
        format!(
            "{name}, {ranks} ranks, root {root}, {count} values or {sizes:?}, in place {in_place}"
        )
    }

    /// Returns what a rank contributes to a block.
    fn data(&self, rank: usize, block: usize, values: usize) -> Vec<Value> {
        let mut rng = SeededRng::stream(self.salt, (rank * 64 + block) as u64);
        (0..values)
            .map(|_| [rng.below(256) as u8 | 1, rng.below(256) as u8])
            .collect()
    }

    fn slice(&self, member: usize) -> usize {
        self.algorithm.slices.of().slice(member, self.ranks)
    }

    /// Returns the number of values between two ranks, in operations with a block for every pair.
    fn pair(&self, a: usize, b: usize) -> usize {
        match self.algorithm.kind {
            Kind::Alltoall => self.sizes[a] + self.sizes[b],
            _ => self.sizes[b],
        }
    }

    fn blocks_of(&self, rank: usize) -> impl Iterator<Item = usize> {
        (0..self.ranks).map(move |block| self.pair(rank, block))
    }

    fn whole(&self, rank: usize) -> Vec<Value> {
        self.data(rank, 0, self.count)
    }

    fn all_blocks(&self, rank: usize) -> Vec<Value> {
        let blocks = self.blocks_of(rank).enumerate();
        blocks
            .flat_map(|(block, values)| self.data(rank, block, values))
            .collect()
    }

    fn combined(&self, ranks: impl DoubleEndedIterator<Item = Vec<Value>>) -> Vec<Value> {
        let combine = if self.algorithm.ordered { compose } else { add };
        let sum = |right: Vec<Value>, left: Vec<Value>| {
            left.into_iter()
                .zip(right)
                .map(|(left, right)| combine(left, right))
                .collect()
        };
        ranks.rev().reduce(sum).unwrap_or_default()
    }

    /// Returns what a rank must have in its output, or in its work buffer if that holds the result.
    pub(crate) fn expected(&self, rank: usize) -> Option<Vec<Value>> {
        let Algorithm { kind, root, .. } = self.algorithm;
        let (ranks, own) = (self.ranks, self.sizes.get(rank).copied().unwrap_or(0));
        let start = self.sizes[..rank].iter().sum::<usize>();
        let all = |ranks: std::ops::Range<usize>| self.combined(ranks.map(|rank| self.whole(rank)));
        Some(match kind {
            Kind::Barrier => return None,
            Kind::Broadcast => self.whole(root),
            Kind::Gather if rank == root => {
                let mut members: Vec<_> = (0..ranks).collect();
                members.sort_unstable_by_key(|&member| self.slice(member));
                let given = members
                    .into_iter()
                    .map(|m| self.data(m, 0, self.sizes[self.slice(m)]));
                given.flatten().collect()
            }
            Kind::Scatter => {
                let slice = self.slice(rank);
                self.data(root, slice, self.sizes[slice])
            }
            Kind::Allgather => (0..ranks)
                .flat_map(|other| self.data(other, 0, self.sizes[other]))
                .collect(),
            Kind::Alltoall => (0..ranks)
                .flat_map(|other| self.data(other, rank, self.pair(other, rank)))
                .collect(),
            Kind::Reduce if rank == root => {
                let mut members: Vec<_> = (0..ranks).collect();
                members.sort_unstable_by_key(|&member| self.slice(member));
                self.combined(members.into_iter().map(|member| self.whole(member)))
            }
            Kind::Allreduce => all(0..ranks),
            Kind::ReduceScatter => {
                let sum = self.combined((0..ranks).map(|rank| self.all_blocks(rank)));
                sum[start..start + own].to_vec()
            }
            Kind::Scan => all(0..rank + 1),
            Kind::Exscan if rank > 0 => all(0..rank),
            Kind::Gather | Kind::Reduce | Kind::Exscan => return None,
        })
    }

    pub(crate) fn memory(&self, rank: usize) -> Memory {
        let Algorithm { kind, root, .. } = self.algorithm;
        let at_root = rank == root;
        let (mine, n) = (self.slice(rank), self.ranks);
        let blocks: usize = self.blocks_of(rank).sum();
        let one = self.sizes.get(mine).copied().unwrap_or(0);
        let (input, output) = match kind {
            Kind::Barrier => (Vec::new(), 0),
            Kind::Broadcast => (Vec::new(), self.count),
            Kind::Gather => (self.data(rank, 0, one), if at_root { blocks } else { 0 }),
            Kind::Scatter if at_root => (self.all_blocks(rank), one),
            Kind::Scatter => (Vec::new(), one),
            Kind::Allgather => (self.data(rank, 0, one), blocks),
            Kind::Alltoall => (self.all_blocks(rank), blocks),
            Kind::Reduce | Kind::Allreduce | Kind::Scan => (self.whole(rank), 0),
            Kind::Exscan => (self.whole(rank), self.count),
            Kind::ReduceScatter => (self.all_blocks(rank), one),
        };
        let temporary = match kind {
            Kind::Barrier | Kind::Broadcast => 0,
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall => blocks,
            Kind::ReduceScatter => blocks,
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => self.count,
        };
        let mut output = vec![JUNK; output];
        if kind == Kind::Broadcast && at_root {
            output = self.whole(rank);
        }
        let ends = self.blocks_of(rank).scan(0, |end, values| {
            *end += values * WIDTH;
            Some(*end)
        });
        assert!(n > 0);
        Memory {
            input,
            output,
            work: vec![JUNK; temporary],
            incoming: vec![JUNK; temporary],
            ends: ends.collect(),
        }
    }

    /// Returns the memory as the operation sees it.
    pub(crate) fn parts<'a>(&self, rank: usize, memory: &'a mut Memory) -> OperationBuffers<'a> {
        let Algorithm {
            kind, root, cut, ..
        } = self.algorithm;
        let Memory {
            input,
            output,
            work,
            incoming,
            ends,
        } = memory;
        let old_input = input.clone();
        let blocks = |cells| Blocks {
            cells,
            cut: Cut::At(ends),
        };
        let cut = Cut::Evenly(Segments::into_blocks(self.count, cut), WIDTH);
        let whole = |cells| Blocks { cells, cut };
        let cells =
            [input, output, work, incoming].map(|buffer| SharedBytes::of(buffer.as_mut_slice()));
        let [input, output, work, incoming] = cells;
        let mut parts = match kind {
            Kind::Barrier => OperationBuffers::NONE,
            Kind::Broadcast => OperationBuffers {
                output: whole(output),
                ..OperationBuffers::NONE
            },
            Kind::Gather | Kind::Allgather => OperationBuffers {
                input: Blocks::one(input),
                output: blocks(output),
                work: blocks(work),
                incoming: Blocks::NONE,
            },
            Kind::Scatter | Kind::ReduceScatter => OperationBuffers {
                input: blocks(input),
                output: Blocks::one(output),
                work: blocks(work),
                incoming: blocks(incoming),
            },
            Kind::Alltoall => OperationBuffers {
                input: blocks(input),
                output: blocks(output),
                work: blocks(work),
                incoming: blocks(incoming),
            },
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => OperationBuffers {
                input: whole(input),
                output: whole(output),
                work: whole(work),
                incoming: whole(incoming),
            },
        };
        if self.in_place {
            let slice = |all: SharedBytes<'a>, slice: usize| {
                let start = if slice == 0 { 0 } else { ends[slice - 1] };
                all.part(start, ends[slice])
            };
            match kind {
                Kind::Gather if rank == root => {
                    parts.input = Blocks::one(slice(output, self.slice(rank)))
                }
                Kind::Scatter if rank == root => {
                    parts.output = Blocks::one(slice(input, self.slice(rank)))
                }
                Kind::Allgather => parts.input = Blocks::one(slice(output, rank)),
                Kind::Reduce if rank == root => parts.input = parts.work,
                Kind::Allreduce | Kind::Scan => parts.input = parts.work,
                Kind::Exscan => parts.input = parts.output,
                Kind::ReduceScatter => {
                    let own = slice(input, rank).len();
                    parts.output = Blocks::one(input.part(0, own));
                }
                _ => {}
            }
            if !matches!(kind, Kind::Scatter | Kind::ReduceScatter) {
                parts.input.cells.write(old_input.as_flattened());
            }
        }
        parts
    }

    /// Compares a rank's result, and checks that its input is unchanged.
    pub(crate) fn check(&self, rank: usize, parts: &OperationBuffers<'_>) {
        let read = |cells: SharedBytes<'_>| {
            let mut bytes = vec![0; cells.len()];
            cells.read(&mut bytes);
            bytes
        };
        let result = match self.algorithm.kind {
            Kind::Reduce | Kind::Allreduce | Kind::Scan => parts.work,
            _ => parts.output,
        };
        if let Some(expected) = self.expected(rank) {
            let got = read(result.cells);
            assert_eq!(got, expected.as_flattened(), "rank {rank}: {}", self.name());
        }
        if !self.in_place {
            let input = self.memory(rank).input;
            assert_eq!(
                read(parts.input.cells),
                input.as_flattened(),
                "rank {rank}: input of {}",
                self.name()
            );
        }
    }

    pub(crate) fn operator(&self) -> impl Operator + use<> {
        Combining::by(if self.algorithm.ordered { compose } else { add })
    }
}
