//! Runs the collective operations of this project over the point-to-point calls of a foreign MPI, each against that
//! library's own collective call. Run it under its mpiexec with any number of ranks; rank 0 prints "ok foreign-mpi".

mod functions;

use functions::{Data, Foreign};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use pombo_collective::topology::{
    Binomial, Chain, Circle, Complete, Hypercube, Linear, Ring, Rooted, Topology,
};
use pombo_collective::{self as collective, Distributor, Execution, Step};

fn main() {
    let universe = mpi::initialize().expect("MPI starts once");
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    for values in [0, 1, 7, 1000, 100_000] {
        for root in [0, ranks - 1, ranks / 2] {
            rooted(&world, rank, ranks, root, values);
        }
        rootless(&world, rank, ranks, values);
    }
    interleaved(&world, rank, ranks);
    world.barrier();
    if rank == 0 {
        println!("ok foreign-mpi");
    }
}

/// Returns value `index` of a rank.
fn value(rank: usize, index: usize) -> i64 {
    (rank * 1_000_003 + index * 7) as i64
}

fn values(rank: usize, count: usize) -> Vec<i64> {
    (0..count).map(|index| value(rank, index)).collect()
}

/// Runs an operation to its end and returns its buffers.
fn run(world: &SimpleCommunicator, steps: impl Iterator<Item = Step>, data: Data) -> Data {
    let mut functions = Foreign::new(world.as_raw(), 1, data);
    let mut running = Execution::new(steps);
    while !running.poll(&mut functions).expect("the other MPI works") {}
    functions.finish()
}

fn rooted(world: &SimpleCommunicator, rank: usize, ranks: usize, root: usize, count: usize) {
    let process = world.process_at_rank(root as i32);
    let is_root = rank == root;

    let mut theirs = if is_root {
        values(root, count)
    } else {
        vec![0; count]
    };
    let cut = 1 + count / 500;
    let data = Data::default().output(theirs.clone(), cut);
    let ours = run(
        world,
        collective::broadcast(Rooted::new(Chain, rank, ranks, root), cut),
        data,
    );
    process.broadcast_into(&mut theirs);
    assert_eq!(ours.output, theirs, "broadcast");

    let own = values(rank, count);
    let mut theirs = vec![0; if is_root { count * ranks } else { 0 }];
    let data = Data::default()
        .input(own.clone(), 1)
        .output(theirs.clone(), ranks);
    let gather = collective::gather(Ring::new(ranks), rank, root, Distributor::Ascending);
    let ours = run(world, gather, data);
    match is_root {
        true => process.gather_into_root(&own[..], &mut theirs[..]),
        false => process.gather_into(&own[..]),
    }
    assert_eq!(ours.output, theirs, "gather");

    let mut sum = vec![0; if is_root { count } else { 0 }];
    let data = Data::default().input(own.clone(), 1).temporary(count, 1);
    let ours = run(
        world,
        collective::reduce(Linear::new(ranks).tree(rank, root), 1),
        data,
    );
    match is_root {
        true => process.reduce_into_root(&own[..], &mut sum[..], SystemOperation::sum()),
        false => process.reduce_into(&own[..], SystemOperation::sum()),
    }
    assert!(!is_root || ours.work == sum, "reduce");
}

fn rootless(world: &SimpleCommunicator, rank: usize, ranks: usize, count: usize) {
    let own = values(rank, count);
    let mut sum = vec![0; count];
    world.all_reduce_into(&own[..], &mut sum[..], SystemOperation::sum());
    let data = |cut| {
        Data::default()
            .input(own.clone(), cut)
            .temporary(count, cut)
    };
    let doubling = run(world, collective::allreduce_recursive_doubling(rank, ranks), data(1));
    assert_eq!(doubling.work, sum, "all-reduce by doubling");
    let halves = Hypercube::within(ranks).ranks();
    let halving = run(
        world,
        collective::allreduce_rabenseifner(rank, ranks),
        data(halves),
    );
    assert_eq!(halving.work, sum, "all-reduce by halving");
    let circle = Circle::new(Ring::new(ranks), rank);
    let round = run(world, collective::allreduce_ring(circle), data(ranks));
    assert_eq!(round.work, sum, "all-reduce on the circle");

    let mut theirs = vec![0; count * ranks];
    world.all_gather_into(&own[..], &mut theirs[..]);
    let data = Data::default()
        .input(own, 1)
        .output(vec![0; count * ranks], ranks);
    let ours = run(world, collective::allgather_recursive_doubling(rank, ranks), data);
    assert_eq!(ours.output, theirs, "all-gather");

    let all = values(rank, count * ranks);
    let mut theirs = vec![0; count * ranks];
    world.all_to_all_into(&all[..], &mut theirs[..]);
    let data = Data::default()
        .input(all, ranks)
        .output(vec![0; count * ranks], ranks);
    let circle = Circle::new(Complete::new(ranks), rank);
    let ours = run(world, collective::alltoall(circle, 2), data);
    assert_eq!(ours.output, theirs, "all-to-all");
}

/// Runs two operations that even and odd ranks begin in opposite orders.
fn interleaved(world: &SimpleCommunicator, rank: usize, ranks: usize) {
    let tree = Rooted::new(Binomial, rank, ranks, 0);
    let broadcast = Data::default().output(if rank == 0 { vec![42] } else { vec![0] }, 1);
    let mut first = Foreign::new(world.as_raw(), 11, broadcast);
    let sum = Data::default().input(vec![rank as i64], 1).temporary(1, 1);
    let mut second = Foreign::new(world.as_raw(), 12, sum);
    let mut one = Execution::new(collective::broadcast(tree, 1));
    let mut two = Execution::new(collective::allreduce_recursive_doubling(rank, ranks));
    let works = "the other MPI works";
    let mut over = [false; 2];
    while over != [true; 2] {
        if rank % 2 == 0 {
            over[0] = one.poll(&mut first).expect(works);
            over[1] = two.poll(&mut second).expect(works);
        } else if !over[1] {
            over[1] = two.poll(&mut second).expect(works);
        } else {
            over[0] = one.poll(&mut first).expect(works);
        }
    }
    assert_eq!(first.finish().output, [42]);
    assert_eq!(second.finish().work, [(ranks * (ranks - 1) / 2) as i64]);
}
