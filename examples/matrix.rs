//! A matrix product on a static group, with collectives and distributors, without MPI, beside its sequential run.
//!
//! ```text
//! cargo build --release --example matrix
//! target/release/examples/matrix threads                        # two threads, 256 rows
//! pombo run -n 2 target/release/examples/matrix 1000            # two processes, 1000 rows
//! pombo run -n 4 target/release/examples/matrix 1000 descending # the last rows for the first member
//! mpiexec.mpich -hosts one,two -n 2 target/release/examples/matrix 1000 # on two hosts
//! ```
//!
//! The processes join a group and freeze it: its collectives are those of `pombo_collective`, over the group's dense
//! ranks. Rank 0 scatters the rows of A, broadcasts B, and gathers the rows of the product. Which rows a member has is
//! the distributor's choice: `ascending`, `descending`, or `rotated`, which is a table.

use pombo_collective::topology::{Ring, Topology};
use pombo_collective::{
    Blocks, CommCall, Cut, Distributor, NoOperator, OperationBuffers, Protocol, Segments,
    SharedBytes, SharedMemory, broadcast, gather, scatter,
};
use pombo_job::group::{
    FrozenGroup, GroupComposition, GroupEndpoint, GroupHeader, Groups, Verdicts,
};
use pombo_kernel::prelude::*;
use pombo_netdrivers::Loopback;
use std::time::{Duration, Instant};

type Composition = GroupComposition<64, 1024>;
type Comm<'buf, L> = GroupEndpoint<L, Composition, SharedMemory<'buf>>;
type Failed = Box<dyn std::error::Error>;

/// The time that an operation on groups gets: far more than it takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A collective operation on the group: its ranks are the group's.
struct OnGroup<'a>(&'a FrozenGroup, u16);

impl Protocol<GroupHeader> for OnGroup<'_> {
    fn header(&self) -> GroupHeader {
        self.0.header(self.1)
    }

    fn pattern(&self, from: Peer) -> Select<GroupHeader> {
        self.0.pattern(self.1, from)
    }

    fn peer(&self, rank: usize) -> Peer {
        self.0.peer(rank).expect("a rank of the group")
    }
}

/// Returns these rows of A times B, whose rows have `n` numbers.
fn multiply(rows: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut product = vec![0.0; rows.len()];
    for (row, into) in rows.chunks(n).zip(product.chunks_mut(n)) {
        for (factor, b) in row.iter().zip(b.chunks(n)) {
            for (sum, number) in into.iter_mut().zip(b) {
                *sum += factor * number;
            }
        }
    }
    product
}

/// Returns the numbers of shared memory.
fn numbers(bytes: SharedBytes<'_>) -> Vec<f64> {
    let mut copy = vec![0; bytes.len()];
    bytes.read(&mut copy);
    copy.chunks_exact(8)
        .map(|number| f64::from_ne_bytes(number.try_into().expect("8 bytes")))
        .collect()
}

fn bytes(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(f64::to_ne_bytes).collect()
}

/// Multiplies in this process, one member of a group of all.
fn run<L: Verdicts>(
    channel: L,
    (n, order): (usize, &str),
    leave: impl for<'buf> FnOnce(Comm<'buf, L>) -> Result<(), Error>,
) -> Result<(), Failed> {
    let matrix = |seed: usize| bytes((0..n * n).map(move |at| ((at * seed) % 19) as f64 - 9.0));
    let (mut a, mut b, mut c) = (matrix(7), vec![0; 8 * n * n], vec![0; 8 * n * n]);
    let (mut rows, mut product) = (vec![0; 8 * n * n], vec![0; 8 * n * n]);
    let [a, b, c] = [&mut a, &mut b, &mut c].map(|memory| SharedBytes::new(memory));
    let [rows, product] = [&mut rows, &mut product].map(|memory| SharedBytes::new(memory));

    let mut comm = Comm::two(channel)?;
    let mut groups = Groups::new(&comm)?;
    let all = comm.peers();
    groups.join(&mut comm, "workers", TIMEOUT)?;
    let group = groups.freeze(&mut comm, "workers", all as u16, TIMEOUT)?;
    let rank = group.rank(comm.me()).ok_or("no member")?;
    if rank == 0 {
        b.write(&matrix(11));
    }

    let rotated: Vec<usize> = (0..all).map(|rank| (rank + 1) % all).collect();
    let slices = match order {
        "ascending" => Distributor::Ascending,
        "descending" => Distributor::Descending,
        "rotated" => Distributor::Slices(&rotated),
        _ => return Err("the order is ascending, descending or rotated".into()),
    };
    // Slice i is block i of the rows, in blocks of nearly equal size.
    let by_rows = Cut::Evenly(Segments::into_blocks(n, all), 8 * n);
    let slice = slices.slice(rank, all);
    let [first, end] = [slice, slice + 1].map(|slice| Segments::into_blocks(n, all).start(slice));
    let [rows, product] = [rows, product].map(|memory| memory.part(0, 8 * n * (end - first)));

    groups.barrier(&mut comm, "workers", all as u16, TIMEOUT)?;
    let begin = Instant::now();
    let ring = Ring::new(all);
    let steps = scatter(ring, rank, 0, slices);
    let memory = OperationBuffers {
        input: Blocks {
            cells: a,
            cut: by_rows,
        },
        output: Blocks::one(rows),
        ..OperationBuffers::NONE
    };
    CommCall::new(steps, OnGroup(&group, 1), memory, NoOperator).wait(&mut comm.port::<0>())?;
    let steps = broadcast(ring.tree(rank, 0), 1);
    let memory = OperationBuffers {
        output: Blocks::one(b),
        ..OperationBuffers::NONE
    };
    CommCall::new(steps, OnGroup(&group, 2), memory, NoOperator).wait(&mut comm.port::<0>())?;
    product.write(&bytes(multiply(&numbers(rows), &numbers(b), n)));
    let steps = gather(ring, rank, 0, slices);
    let memory = OperationBuffers {
        input: Blocks::one(product),
        output: Blocks {
            cells: c,
            cut: by_rows,
        },
        ..OperationBuffers::NONE
    };
    CommCall::new(steps, OnGroup(&group, 3), memory, NoOperator).wait(&mut comm.port::<0>())?;
    let together = begin.elapsed();

    if rank == 0 {
        let begin = Instant::now();
        let alone = multiply(&numbers(a), &numbers(b), n);
        let sequential = begin.elapsed();
        if alone != numbers(c) {
            return Err("the products differ".into());
        }
        println!("{n} x {n}, {order}: {all} members have the product of one");
        let speed_up = sequential.as_secs_f64() / together.as_secs_f64();
        eprintln!("{together:.1?} together, {sequential:.1?} alone: speed-up {speed_up:.2}");
    }
    groups.barrier(&mut comm, "workers", all as u16, TIMEOUT)?;
    Ok(leave(comm)?)
}

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let order = words.get(1).map_or("ascending", |word| word);
    if words.first().is_some_and(|word| word == "threads") {
        return std::thread::scope(|scope| {
            let rank = |channel| {
                scope.spawn(|| {
                    run::<Loopback>(channel, (256, order), |_| Ok(()))
                        .map_err(|error| error.to_string())
                })
            };
            let ranks: Vec<_> = Loopback::world(2).into_iter().map(rank).collect();
            let mut ended = ranks
                .into_iter()
                .map(|rank| rank.join().expect("no rank panics"));
            Ok(ended.try_for_each(|ended| ended)?)
        });
    }
    let n = words.first().map_or(Ok(512), |word| word.parse())?;
    if n == 0 {
        return Err("a matrix has one row or more".into());
    }
    let joined = pombo_job::enter::<GroupHeader, Composition, 64>()?;
    run(joined.channel, (n, order), |comm| {
        pombo_job::leave_groups(comm, joined.launcher)
    })
}
