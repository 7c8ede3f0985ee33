//! The epilogue of a program: waiting receives are cancelled, the remaining messages are found by probing and received,
//! and then nothing is left, and every cell in every pool is free. The epilogue explores one order of events only.

use crate::ending::Ending;
use crate::explore::{Explorer, World};
use crate::header::LONGEST;
use crate::rank::{Act, End, Input, Stimulus, Wish};
use crate::wire::Answers;
use pombo_kernel::Config;

const ANYTHING: Wish = Wish {
    source: None,
    tag: None,
};

/// Runs the epilogue, with matched probes if the program has such. `world` becomes the one in which a fault was found.
pub(crate) fn run<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
) -> Result<(), String> {
    let ranks = explorer.program.len();
    for rank in 0..ranks {
        let pending = Ending::read(explorer, *world);
        let receives = pending
            .receives
            .iter()
            .filter(|receive| usize::from(receive.at) == rank);
        for receive in receives {
            match receive.end {
                End::Pending => {
                    let cancel = Act::Cancel(receive.operation as u8);
                    act(explorer, world, rank, cancel)?;
                }
                End::Taken { .. } => obtain(explorer, world, rank)?,
                _ => {}
            }
        }
    }
    settle(explorer, world)?;
    let matched = explorer.probes_and_takes();
    for rank in 0..ranks {
        while find(explorer, world, rank, ANYTHING, matched)? {
            let seen = explorer.machine.vertex(world.vertices[rank]).seen.clone();
            let number = match (seen.ends.last(), seen.found.last()) {
                (Some(End::Taken { number, .. }), _) if matched => *number,
                (_, Some(found)) if !matched => found.number,
                _ => return Err("afterwards: a probe found nothing".into()),
            };
            match matched {
                true => obtain(explorer, world, rank)?,
                false => act(explorer, world, rank, Act::Take)?,
            }
            settle(explorer, world)?;
            let seen = &explorer.machine.vertex(world.vertices[rank]).seen;
            let last = seen.ends.last();
            if !matches!(last, Some(End::Received { number: got, .. }) if *got == number) {
                return Err(format!(
                    "afterwards: found {number:?}, but the receive has {last:?}"
                ));
            }
        }
    }
    nothing_is_left(explorer, *world)
}

fn obtain<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
    rank: usize,
) -> Result<(), String> {
    let room = LONGEST as u8;
    act(explorer, world, rank, Act::Obtain { room })
}

fn nothing_is_left<C: Config>(explorer: &Explorer<'_, C>, world: World) -> Result<(), String> {
    let ending = Ending::read(explorer, world);
    for (rank, state) in ending.ranks.iter().enumerate() {
        let open = state.seen.ends.iter().any(End::is_open);
        if open || state.seen.lengths != Some((0, 0, 0)) {
            return Err(format!(
                "afterwards: rank {rank} still has {:?}",
                state.seen
            ));
        }
        for other in 0..ending.ranks.len() {
            let credit = ending.credit_left(rank as u8, other as u8);
            if credit != ending.credit as i64 {
                return Err(format!("afterwards: {rank} has {credit} places at {other}"));
            }
        }
    }
    Ok(())
}

/// Probes until it is known whether there is a message. The first probe may only get an answer to an earlier query, the
/// second may have to query the senders.
pub(crate) fn find<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
    rank: usize,
    wish: Wish,
    matched: bool,
) -> Result<bool, String> {
    let again = match matched {
        true => Act::AwaitMatched(wish),
        false => Act::Await(wish),
    };
    for _ in 0..2 {
        act(explorer, world, rank, again)?;
        if !explorer.machine.vertex(world.vertices[rank]).seen.stalled {
            return Ok(true);
        }
        settle(explorer, world)?;
    }
    Ok(false)
}

fn act<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
    rank: usize,
    act: Act,
) -> Result<(), String> {
    step(explorer, world, rank, Stimulus::Act(act))
}

fn step<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
    rank: usize,
    stimulus: Stimulus,
) -> Result<(), String> {
    let answers = Answers::default();
    let input = Input { stimulus, answers };
    let vertex = world.vertices[rank];
    let child = explorer.machine.child(vertex, input);
    world.vertices[rank] = child.map_err(|fault| format!("afterwards: {}", fault.why))?;
    Ok(())
}

/// Delivers everything under way, in some order.
fn settle<C: Config>(explorer: &mut Explorer<'_, C>, world: &mut World) -> Result<(), String> {
    for _ in 0..1000 {
        let next = (0..explorer.program.len()).find_map(|rank| {
            if world.is_dead(rank) {
                return None;
            }
            let stimuli = explorer.stimuli(*world, rank);
            let mut stimuli = stimuli.into_iter();
            let stimulus = stimuli.find(|stimulus| !matches!(stimulus, Stimulus::Act(_)));
            Some((rank, stimulus?))
        });
        match next {
            Some((rank, stimulus)) => step(explorer, world, rank, stimulus)?,
            None => return Ok(()),
        }
    }
    Err("afterwards: the ranks never come to rest".into())
}
