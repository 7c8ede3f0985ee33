//! After the end of a program: receives that wait are cancelled, what is left is found by probing and received, and
//! then nothing is left, and every place in every pool is free. One way only, not all.

use crate::ending::Ending;
use crate::explore::{Explorer, World};
use crate::rank::{Act, End, Input, Stimulus, Wish};
use crate::wire::Answers;
use pombo_kernel::Config;

const ANYTHING: Wish = Wish {
    source: None,
    tag: None,
};

pub(crate) fn run<C: Config>(
    explorer: &mut Explorer<'_, C>,
    mut world: World,
) -> Result<(), String> {
    let ranks = explorer.program.len();
    for rank in 0..ranks {
        let pending = Ending::read(explorer, world);
        let receives = pending.receives.iter();
        for receive in receives
            .filter(|receive| usize::from(receive.at) == rank && receive.end == End::Pending)
        {
            let cancel = Act::Cancel(receive.operation as u8);
            act(explorer, &mut world, rank, cancel)?;
        }
    }
    settle(explorer, &mut world)?;
    for rank in 0..ranks {
        while find(explorer, &mut world, rank, ANYTHING)? {
            let found = explorer.machine.node(world.nodes[rank]).seen.found.last();
            let number = found.map(|found| found.number);
            act(explorer, &mut world, rank, Act::Take)?;
            settle(explorer, &mut world)?;
            let last = explorer
                .machine
                .node(world.nodes[rank])
                .seen
                .ends
                .last()
                .copied();
            if !matches!(last, Some(End::Received { number: got, .. }) if Some(got) == number) {
                return Err(format!(
                    "afterwards: found {number:?}, but the receive has {last:?}"
                ));
            }
        }
    }
    nothing_is_left(explorer, world)
}

fn nothing_is_left<C: Config>(explorer: &Explorer<'_, C>, world: World) -> Result<(), String> {
    let ending = Ending::read(explorer, world);
    for (rank, state) in ending.ranks.iter().enumerate() {
        if state.seen.ends.contains(&End::Pending) || state.seen.lengths != Some((0, 0, 0)) {
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

/// Probes until it is clear that there is something or nothing. The first probe may only hear that there was nothing
/// when it was asked earlier, the second may have to ask the senders.
pub(crate) fn find<C: Config>(
    explorer: &mut Explorer<'_, C>,
    world: &mut World,
    rank: usize,
    wish: Wish,
) -> Result<bool, String> {
    for _ in 0..2 {
        act(explorer, world, rank, Act::Await(wish))?;
        if !explorer.machine.node(world.nodes[rank]).seen.stalled {
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
    let node = world.nodes[rank];
    let child = explorer.machine.child(node, input);
    world.nodes[rank] = child.map_err(|fault| format!("afterwards: {}", fault.why))?;
    Ok(())
}

/// Everything under way arrives, in some order.
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
