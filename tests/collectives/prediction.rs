//! Tests predictions against the steps themselves, carried out in virtual time: every send takes t_hold at its sender
//! and arrives t_end later, and messages arrive at a rank at intervals of t_hold.

use pombo_collective::model::{Hold, Network, Optimal, Prediction};
use pombo_collective::topology::{Binomial, Chain, Circle, Complete, Rooted, Sequential};
use pombo_collective::{Distributor, Step};
use pombo_netdrivers::fault::SeededRng;
use std::collections::{HashMap, VecDeque};

/// A network whose messages cost a start and a time for each byte.
#[derive(Clone, Copy, Debug)]
struct Net {
    start: Hold,
    byte: Hold,
    combine: u64,
}

impl Network for Net {
    fn message(&self, bytes: usize) -> Hold {
        Hold {
            hold: self.start.hold + self.byte.hold * bytes as u64,
            end: self.start.end + self.byte.end * bytes as u64,
        }
    }

    fn combine(&self, bytes: usize) -> u64 {
        self.combine * bytes as u64
    }
}

/// A rank on its way through its steps.
#[derive(Default)]
struct Clock {
    next: usize,
    now: u64,
    port_free: u64,
    last_arrival: Option<u64>,
    /// When each message is complete; a receive that is not yet matched is its source.
    begun: Vec<Result<u64, usize>>,
}

/// Returns when the last rank has ended; blocks have `block` bytes.
fn simulate(net: &Net, block: usize, ranks: usize, steps: impl Fn(usize) -> Vec<Step>) -> u64 {
    let steps: Vec<_> = (0..ranks).map(steps).collect();
    let mut clocks: Vec<_> = (0..ranks).map(|_| Clock::default()).collect();
    let mut wires: HashMap<(usize, usize), VecDeque<(u64, u64)>> = HashMap::new();
    loop {
        let mut moved = false;
        for (rank, clock) in clocks.iter_mut().enumerate() {
            // Behind the last step all messages are awaited, the sends of which cost nobody time.
            while clock.next <= steps[rank].len() {
                let step = steps[rank].get(clock.next);
                match step {
                    Some(Step::Send { to, piece }) => {
                        let Hold { hold, end } = net.message(piece.blocks * block);
                        let begin = clock.now.max(clock.port_free);
                        clock.port_free = begin + hold;
                        clock.begun.push(Ok(clock.port_free));
                        wires
                            .entry((rank, *to))
                            .or_default()
                            .push_back((begin + end, hold));
                    }
                    Some(Step::Receive { from, .. }) => clock.begun.push(Err(*from)),
                    Some(Step::Combine { left, .. }) => {
                        clock.now += net.combine(left.blocks * block);
                    }
                    Some(Step::Copy { .. }) => {}
                    Some(Step::Await(_)) | None => {
                        let open = match step {
                            Some(Step::Await(open)) => *open,
                            _ => 0,
                        };
                        let until = clock.begun.len().saturating_sub(open);
                        let mut done = clock.now;
                        for index in 0..until {
                            if let Err(from) = clock.begun[index] {
                                let wire = wires.get_mut(&(from, rank));
                                let Some((at, hold)) = wire.and_then(VecDeque::pop_front) else {
                                    break;
                                };
                                let after = clock.last_arrival.map_or(0, |last| last + hold);
                                clock.last_arrival = Some(at.max(after));
                                clock.begun[index] = Ok(at.max(after));
                                if step.is_none() {
                                    done = done.max(at.max(after));
                                }
                            }
                        }
                        if clock.begun[..until].iter().any(Result::is_err) {
                            clock.now = done;
                            break;
                        }
                        if step.is_some() {
                            let complete = clock.begun[..until].iter().flatten().max();
                            done = done.max(complete.copied().unwrap_or(0));
                        }
                        clock.now = done;
                    }
                }
                clock.next += 1;
                moved = true;
            }
        }
        if clocks
            .iter()
            .zip(&steps)
            .all(|(clock, steps)| clock.next > steps.len())
        {
            return clocks.iter().map(|clock| clock.now).max().unwrap_or(0);
        }
        assert!(moved, "the steps wait for each other");
    }
}

/// The sizes of one case.
struct Case {
    net: Net,
    ranks: usize,
    block: usize,
}

impl Case {
    /// The prediction is what the steps take.
    fn exact<I: Iterator<Item = Step>>(
        &self,
        name: &str,
        predicted: u64,
        steps: impl Fn(usize) -> I,
    ) {
        let (net, ranks) = (self.net, self.ranks);
        let taken = simulate(&net, self.block, ranks, |rank| steps(rank).collect());
        assert_eq!(predicted, taken, "{name}: {ranks} ranks, {net:?}");
    }

    /// Neither is more than twice the other: the prediction counts some messages as one, or leaves out some waits.
    fn near<I: Iterator<Item = Step>>(
        &self,
        name: &str,
        predicted: u64,
        steps: impl Fn(usize) -> I,
    ) {
        let (net, ranks) = (self.net, self.ranks);
        let taken = simulate(&net, self.block, ranks, |rank| steps(rank).collect());
        let fits = taken <= 2 * predicted && predicted <= 2 * taken;
        assert!(
            fits,
            "{name}: {ranks} ranks, {net:?}: {predicted} for {taken}"
        );
    }

    /// The steps take no longer than predicted, and more than half of that: some ranks begin a later part while others
    /// still work on the one before.
    fn bound<I: Iterator<Item = Step>>(
        &self,
        name: &str,
        predicted: u64,
        steps: impl Fn(usize) -> I,
    ) {
        let (net, ranks) = (self.net, self.ranks);
        let taken = simulate(&net, self.block, ranks, |rank| steps(rank).collect());
        let fits = taken <= predicted && predicted <= 2 * taken;
        assert!(
            fits,
            "{name}: {ranks} ranks, {net:?}: {predicted} for {taken}"
        );
    }
}

#[test]
fn predictions_are_what_the_steps_take() {
    use pombo_collective as engine;
    let mut rng = SeededRng::new(17);
    for round in 0..300 {
        let mut times = |most: u64, byte: u64| {
            let hold = 1 + rng.below(most);
            // Sends that wait for a reply may hold longer than the message takes.
            let longer = if round % 2 == 0 { hold } else { 0 };
            Hold {
                hold: byte.min(hold),
                end: longer + rng.below(most) + 1,
            }
        };
        let net = Net {
            start: times(40, u64::MAX),
            byte: times(3, 1),
            combine: round % 3,
        };
        let (ranks, block) = (2 + round as usize % 18, 8);
        let case = Case { net, ranks, block };
        let all = ranks * block;
        let says = Prediction::new(&net, ranks);
        let complete = Complete::new(ranks);
        let circle = |rank| Circle::new(complete, rank);
        let binomial = |rank| Rooted::new(Binomial, rank, ranks, 0);
        let chain = |rank| Rooted::new(Chain, rank, ranks, 0);
        let flat = |rank| Rooted::new(Sequential, rank, ranks, 0);
        let table = Optimal::<32>::new(net.message(block));
        let best = |rank| Rooted::new(&table, rank, ranks, 0);

        case.exact("barrier_dissemination", says.barrier_dissemination(), |r| {
            engine::barrier_dissemination(circle(r))
        });
        case.exact("barrier_tree", says.barrier_tree(Binomial), |r| {
            engine::barrier_tree(binomial(r))
        });
        case.exact(
            "broadcast, binomial",
            says.broadcast(Binomial, block, 1),
            |r| engine::broadcast(binomial(r), 1),
        );
        case.exact("broadcast, optimal", table.latency(ranks), |r| {
            engine::broadcast(best(r), 1)
        });
        for segments in [1, 2, 7] {
            let bytes = segments * block;
            case.exact(
                "broadcast, chain",
                says.broadcast(Chain, bytes, segments),
                |r| engine::broadcast(chain(r), segments),
            );
            case.exact(
                "broadcast, flat",
                says.broadcast(Sequential, bytes, segments),
                |r| engine::broadcast(flat(r), segments),
            );
            case.exact(
                "broadcast, segments",
                says.broadcast(Binomial, bytes, segments),
                |r| engine::broadcast(binomial(r), segments),
            );
        }
        case.exact("scatter", says.scatter(block), |r| {
            engine::scatter(complete, r, 0, Distributor::Ascending)
        });
        case.exact("gather", says.gather(block), |r| {
            engine::gather(complete, r, 0, Distributor::Ascending)
        });
        case.exact("scatter_tree", says.scatter_tree(Binomial, block), |r| {
            engine::scatter_tree(binomial(r), r)
        });
        case.exact("allgather", says.allgather(block), |r| {
            engine::allgather(circle(r))
        });
        case.exact("allreduce_ring", says.allreduce_ring(all), |r| {
            engine::allreduce_ring(circle(r))
        });
        case.exact(
            "reduce_scatter_ring",
            says.reduce_scatter_ring(block),
            |r| engine::reduce_scatter_ring(circle(r)),
        );
        case.exact("alltoall_bruck", says.alltoall_bruck(block), |r| {
            engine::alltoall_bruck(r, ranks)
        });
        for ahead in [1, 2, 5, 100] {
            case.exact("alltoall", says.alltoall(block, ahead), |r| {
                engine::alltoall(circle(r), ahead)
            });
            case.exact("spread_out", says.allgather_spread_out(block, ahead), |r| {
                engine::allgather_spread_out(circle(r), ahead)
            });
        }
        case.exact("reduce, binomial", says.reduce(Binomial, block, 1), |r| {
            engine::reduce(binomial(r), 1)
        });
        case.exact("reduce, chain", says.reduce(Chain, block, 1), |r| {
            engine::reduce(chain(r), 1)
        });
        case.exact("reduce_line", says.reduce_line(block), |r| {
            engine::reduce_line(r, ranks, 0, Distributor::Ascending)
        });
        let cube = block << ranks.ilog2();
        let doubling = says.allreduce_recursive_doubling(block);
        let halving = says.allreduce_rabenseifner(cube);
        let doubles = |rank| engine::allreduce_recursive_doubling(rank, ranks);
        let halves = |rank| engine::allreduce_rabenseifner(rank, ranks);
        if ranks.is_power_of_two() {
            case.exact("allreduce_recursive_doubling", doubling, doubles);
            case.exact("allreduce_rabenseifner", halving, halves);
        } else {
            case.bound("allreduce_recursive_doubling", doubling, doubles);
            case.bound("allreduce_rabenseifner", halving, halves);
        }
        case.exact("scan", says.scan(block), |r| engine::scan(r, ranks));
        case.exact("exscan", says.exscan(block), |r| engine::exscan(r, ranks));

        case.bound(
            "reduce_scatter",
            says.reduce_scatter(Binomial, block),
            |r| engine::reduce_scatter(binomial(r), complete, r),
        );
        let two_parts = says.broadcast_scatter_allgather(Binomial, all);
        case.bound("broadcast_scatter_allgather", two_parts, |r| {
            engine::broadcast_scatter_allgather(binomial(r), circle(r))
        });
        let doubling = says.allgather_recursive_doubling(block);
        case.near("allgather_recursive_doubling", doubling, |r| {
            engine::allgather_recursive_doubling(r, ranks)
        });
        for segments in [2, 7] {
            let bytes = segments * block;
            case.near(
                "reduce, segments",
                says.reduce(Binomial, bytes, segments),
                |r| engine::reduce(binomial(r), segments),
            );
        }
        if ranks == 2 {
            for segments in [1, 2, 7] {
                let predicted = says.reduce_pair(segments * block, segments);
                case.exact("reduce_pair", predicted, |r| {
                    engine::reduce_pair(1 - r, r == 0, segments)
                });
            }
        }
        case.bound("barrier", says.barrier(Binomial), |r| {
            engine::barrier(complete, r)
        });
        case.bound(
            "allgather_linear",
            says.allgather_linear(Binomial, block),
            |r| engine::allgather_linear(binomial(r), complete, r),
        );
        case.bound("allreduce", says.allreduce(Binomial, block, 1), |r| {
            engine::allreduce(binomial(r), 1)
        });
        case.bound("gather_tree", says.gather_tree(Binomial, block), |r| {
            engine::gather_tree(binomial(r), r)
        });
        case.bound(
            "scan_recursive_doubling",
            says.scan_recursive_doubling(block),
            |r| engine::scan_recursive_doubling(r, ranks),
        );
        case.bound(
            "exscan_recursive_doubling",
            says.exscan_recursive_doubling(block),
            |r| engine::exscan_recursive_doubling(r, ranks),
        );
    }
}
