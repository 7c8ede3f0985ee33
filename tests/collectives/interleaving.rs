//! Tests many operations at a time: a rank that keeps polling all of them completes all of them, in whatever order they
//! began.

use crate::algorithms::algorithms;
use crate::case::Case;
use crate::channels::Members;
use crate::common::{Hosted, Tagged};
use pombo_collective::topology::{Binomial, Rooted};
use pombo_collective::{
    self as collective, Blocks, Combining, CommCall, NoOperator, OperationBuffers, SharedBytes,
    SharedMemory,
};
use pombo_kernel::{Communicator, Peer};
use pombo_netdrivers::Loopback;
use pombo_netdrivers::fault::SeededRng;

type Comm<'buf> = Communicator<Tagged, Loopback, SharedMemory<'buf>, Hosted>;

fn comms<'buf>(ranks: usize) -> Vec<Comm<'buf>> {
    let channels = Loopback::world(ranks as u16).into_iter();
    channels
        .map(|channel| Comm::new(channel).expect("few peers"))
        .collect()
}

/// Runs hundreds of different operations at once, which begin in another order on every rank.
#[test]
fn hundreds_in_flight() {
    for ranks in [2, 5, 8] {
        let mut rng = SeededRng::stream(11, ranks as u64);
        let mut many = Vec::new();
        while many.len() < 600 {
            many.extend(algorithms(ranks, &mut rng));
        }
        let case = |algorithm| Case::new(algorithm, ranks, &mut rng);
        let cases: Vec<_> = many.into_iter().map(case).collect();
        let mut memory: Vec<Vec<_>> = (0..ranks)
            .map(|rank| cases.iter().map(|case| case.memory(rank)).collect())
            .collect();
        let peers: Vec<_> = (0..ranks as u16).collect();
        let mut comms = comms(ranks);
        let parts: Vec<Vec<_>> = memory
            .iter_mut()
            .enumerate()
            .map(|(rank, memory)| {
                let both = cases.iter().zip(memory);
                both.map(|(case, memory)| case.parts(rank, memory))
                    .collect()
            })
            .collect();
        let mut worlds: Vec<Vec<_>> = (0..ranks)
            .map(|rank| {
                let mut calls: Vec<_> = cases
                    .iter()
                    .enumerate()
                    .map(|(operation, case)| {
                        let operation = operation as i32;
                        let members = Members {
                            operation,
                            peers: peers.clone(),
                        };
                        let (steps, own) =
                            (case.algorithm.steps(rank), parts[rank][operation as usize]);
                        CommCall::new(steps, members, own, case.operator())
                    })
                    .collect();
                // The order in which this rank begins and polls the operations.
                for i in 1..calls.len() {
                    calls.swap(i, rng.index(i + 1));
                }
                calls
            })
            .collect();
        let begun = worlds[0].len();
        assert!(begun >= 600, "{begun}");
        let mut rounds = 0;
        while worlds.iter().any(|calls| !calls.is_empty()) {
            for (calls, comm) in worlds.iter_mut().zip(&mut comms) {
                calls.retain_mut(|call| !call.poll(comm).expect("nothing fails"));
            }
            rounds += 1;
            assert!(rounds < 100_000, "some never end");
        }
        for (rank, parts) in parts.iter().enumerate() {
            for (case, parts) in cases.iter().zip(parts) {
                case.check(rank, parts);
            }
        }
    }
}

/// Runs ranks as threads; each begins the operations of two groups in its own order and waits for one, then for the
/// other. Blocking calls in these orders would deadlock.
#[test]
fn opposite_orders_on_two_groups() {
    const RANKS: usize = 4;
    let threads: Vec<_> = Loopback::world(RANKS as u16)
        .into_iter()
        .enumerate()
        .map(|(rank, channel)| {
            std::thread::spawn(move || {
                let (mut first, mut second) = ([rank as u8; 1], [10 * rank as u8; 1]);
                let (mut work, mut incoming) = ([0; 1], [0; 1]);
                {
                    let (first, second) =
                        (SharedBytes::new(&mut first), SharedBytes::new(&mut second));
                    let (work, incoming) =
                        (SharedBytes::new(&mut work), SharedBytes::new(&mut incoming));
                    let mut comm = Comm::new(channel).expect("few peers");
                    let members = |operation| Members {
                        operation,
                        peers: vec![3, 2, 1, 0],
                    };
                    let tree = Rooted::new(Binomial, RANKS - 1 - rank, RANKS, 1);
                    let output = OperationBuffers {
                        output: Blocks::one(first),
                        ..OperationBuffers::NONE
                    };
                    let steps = collective::broadcast(tree, 1);
                    let mut one = CommCall::new(steps, members(1), output, NoOperator);
                    let sum = OperationBuffers {
                        input: Blocks::one(second),
                        work: Blocks::one(work),
                        incoming: Blocks::one(incoming),
                        ..OperationBuffers::NONE
                    };
                    let steps = collective::allreduce_recursive_doubling(RANKS - 1 - rank, RANKS);
                    let add = Combining::by(|a: u8, b: u8| a.wrapping_add(b));
                    let mut two = CommCall::new(steps, members(2), sum, add);
                    if rank % 2 == 0 {
                        one.poll(&mut comm).expect("it works");
                        two.wait(&mut comm).expect("it works");
                        one.wait(&mut comm).expect("it works");
                    } else {
                        two.poll(&mut comm).expect("it works");
                        one.wait(&mut comm).expect("it works");
                        two.wait(&mut comm).expect("it works");
                    }
                    // Other ranks may still need this rank's progress to receive its messages.
                    let steps = collective::barrier_tree(Rooted::new(Binomial, rank, RANKS, 0));
                    let all = Members {
                        operation: 3,
                        peers: vec![0, 1, 2, 3],
                    };
                    CommCall::new(steps, all, OperationBuffers::NONE, NoOperator)
                        .wait(&mut comm)
                        .expect("it works");
                    while !comm.is_flushed() {
                        comm.check_messages().expect("it works");
                    }
                }
                (first, work)
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), ([2], [60]));
    }
}

/// An operation whose partner is lost ends with an error and leaves nothing under way; the communicator stays usable.
#[test]
fn an_operation_with_a_lost_rank_fails() {
    let mut data = [0_u8; 4];
    let cells = SharedBytes::new(&mut data);
    let mut comms = comms(2);
    drop(comms.remove(1));
    let tree = Rooted::new(Binomial, 0, 2, 1);
    let members = Members {
        operation: 1,
        peers: vec![0, 1],
    };
    let parts = OperationBuffers {
        output: Blocks::one(cells),
        ..OperationBuffers::NONE
    };
    let mut call = CommCall::new(collective::broadcast(tree, 1), members, parts, NoOperator);
    let error = call.wait(&mut comms[0]).expect_err("nobody sends");
    assert_eq!(error, pombo_kernel::Error::PeerLost(Peer(1)));
    let alone = Members {
        operation: 2,
        peers: vec![0],
    };
    let steps = collective::barrier_tree(Rooted::new(Binomial, 0, 1, 0));
    CommCall::new(steps, alone, OperationBuffers::NONE, NoOperator)
        .wait(&mut comms[0])
        .expect("alone");
}
