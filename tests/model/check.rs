//! The conditions that must hold when nothing more happens without a call.

use crate::ending::{Ending, Message, Receive};
use crate::epilogue;
use crate::explore::{Explorer, World};
use crate::rank::{Act, End, Found, Wish};
use pombo_kernel::Config;

/// Checks the end of a program, then that nothing is left of it. `at` becomes the world in which a fault was found.
pub(crate) fn end<C: Config>(explorer: &mut Explorer<'_, C>, at: &mut World) -> Result<(), String> {
    let ending = Ending::read(explorer, *at);
    stuck(&ending)?;
    for rank in ending.alive() {
        if let Some(Act::Await(wish) | Act::AwaitMatched(wish)) =
            ending.ranks[usize::from(rank)].next
        {
            probe_again(explorer, *at, &ending, (rank, wish))?;
        }
    }
    offers_have_a_reason(&ending)?;
    let world = *at;
    operations_are_where_they_must_be(&ending)?;
    lengths_are_right(&ending)?;
    // The messages of receives whose scope has ended are invisible: some assignment of them must be correct.
    let taken = visibly_taken(&ending)?;
    some_way(&ending, taken, &mut |ending, takers| {
        fates(ending, takers)?;
        pairs(ending, takers)?;
        places(ending, takers)?;
        probes(ending, takers)
    })?;
    ghosts(explorer, world, &ending)?;
    if explorer.bounds.epilogue && world.dead == 0 {
        epilogue::run(explorer, at)?;
    }
    Ok(())
}

/// The receive that took each message, by the message's index in the list.
type Takers = Vec<Option<usize>>;

fn operations_are_where_they_must_be(ending: &Ending) -> Result<(), String> {
    for message in &ending.messages {
        let Message { number, end, .. } = *message;
        if ending.is_dead(message.from) {
            continue;
        }
        let gone = ending.is_dead(message.to);
        let wrong = match end {
            // A cancel after the match has no effect.
            End::Pending => (message.cancelled && !is_taken(ending, number)) || gone,
            End::Cancelled => !message.cancelled || message.left,
            End::Lost(_) => !gone,
            End::Sent | End::Orphan | End::Copied => false,
            _ => true,
        };
        if wrong {
            return Err(format!("message {number} ends as {end:?}"));
        }
    }
    for (index, receive) in ending.receives.iter().enumerate() {
        if ending.is_dead(receive.at) {
            continue;
        }
        let source_dead = receive.wish.source.is_some_and(|from| ending.is_dead(from));
        let sender_dead = |number: u8| ending.is_dead(number / 32);
        let wrong = match receive.end {
            End::Pending => receive.cancelled || source_dead || receive.taken.is_some(),
            End::Cancelled => !receive.cancelled || receive.taken.is_some(),
            End::Lost(None) => !source_dead,
            End::Lost(Some(number)) => !sender_dead(number),
            End::Revoked(number) => {
                let message = ending.message(number);
                !message.is_some_and(|(_, message)| message.end == End::Orphan)
            }
            End::Received { .. } | End::Taken { .. } | End::Orphan => false,
            _ => true,
        };
        if wrong {
            return Err(format!("receive {index} ends as {:?}", receive.end));
        }
    }
    Ok(())
}

fn lengths_are_right(ending: &Ending) -> Result<(), String> {
    for rank in ending.alive() {
        let state = &ending.ranks[usize::from(rank)];
        let Some((operations, expected, _)) = state.seen.lengths else {
            return Err(format!("rank {rank} rests inside a scope"));
        };
        let all = state.seen.ends.iter().filter(|end| end.is_open()).count();
        let receives = ending.receives.iter();
        let receives = receives.filter(|receive| receive.at == rank && receive.end == End::Pending);
        // Messages without a visible owner: copies, and those that can still be received although their scope has
        // ended.
        let others = ending.messages.iter().filter(|message| {
            let gone = message.left || ending.is_dead(message.to);
            let open = match message.end {
                End::Copied => !took(ending, message.number),
                End::Orphan => is_taken(ending, message.number),
                _ => false,
            };
            message.from == rank && open && !gone
        });
        let wanted = (all + others.count(), receives.count());
        if (operations, expected) != wanted {
            return Err(format!(
                "rank {rank} has {operations} operations, {expected} expected; pending are {wanted:?}"
            ));
        }
    }
    Ok(())
}

fn took(ending: &Ending, number: u8) -> bool {
    ending
        .receives
        .iter()
        .any(|receive| receive.got() == Some(number) && !receive.waits())
}

/// Returns whether a matched probe has taken the message, which is not yet received.
fn is_taken(ending: &Ending, number: u8) -> bool {
    let mut receives = ending.receives.iter();
    receives.any(|receive| receive.taken == Some(number) && receive.waits())
}

/// Returns the pairs that receives report.
fn visibly_taken(ending: &Ending) -> Result<Takers, String> {
    let mut takers = vec![None; ending.messages.len()];
    for (index, receive) in ending.receives.iter().enumerate() {
        let Some(number) = receive.got() else {
            continue;
        };
        let Some((at, message)) = ending.message(number) else {
            return Err(format!(
                "receive {index} has a message {number} that nobody sent"
            ));
        };
        if let End::Received { len, .. } | End::Taken { len, .. } = receive.end
            && len != message.kind.len()
        {
            return Err(format!("message {number} arrives with {len} bytes"));
        }
        if !receive.could_take(message) {
            return Err(format!(
                "receive {index} took message {number}, which does not match"
            ));
        }
        let other = receive.taken.is_some_and(|taken| taken != number);
        if other || takers[at].replace(index).is_some() {
            return Err(format!("message {number} was taken twice"));
        }
    }
    Ok(takers)
}

/// Returns true if one assignment of messages to receives of dead scopes is correct. Otherwise it reports the fault of
/// the assignment in which these took nothing.
fn some_way(
    ending: &Ending,
    takers: Takers,
    holds: &mut dyn FnMut(&Ending, &Takers) -> Result<(), String>,
) -> Result<(), String> {
    let first = holds(ending, &takers);
    if first.is_ok() {
        return first;
    }
    let orphans = ending.receives.iter().enumerate();
    let orphans = orphans.filter(|(_, receive)| receive.end == End::Orphan);
    for (index, receive) in orphans {
        if takers.contains(&Some(index)) {
            continue;
        }
        // Assignments are tried in order, so that none is tried twice.
        if takers
            .iter()
            .flatten()
            .any(|taker| *taker > index && ending.receives[*taker].end == End::Orphan)
        {
            continue;
        }
        for (at, message) in ending.messages.iter().enumerate() {
            if takers[at].is_none() && receive.could_take(message) {
                let mut takers = takers.clone();
                takers[at] = Some(index);
                if some_way(ending, takers, holds).is_ok() {
                    return Ok(());
                }
            }
        }
    }
    first
}

/// Checks that each message waits for a receive, or that its send has the outcome that its receipt implies.
fn fates(ending: &Ending, takers: &Takers) -> Result<(), String> {
    for (message, taker) in ending.messages.iter().zip(takers) {
        if ending.is_dead(message.to) {
            continue;
        }
        let right = match (message.end, taker) {
            _ if ending.is_dead(message.from) => true,
            (End::Sent, None) => message.left,
            (End::Pending | End::Sent, Some(taker)) if ending.receives[*taker].waits() => {
                (message.end == End::Sent) == message.left
            }
            (End::Sent | End::Orphan | End::Copied, _) => true,
            (_, Some(_)) => false,
            (_, None) => true,
        };
        if !right {
            let Message { number, end, .. } = message;
            return Err(format!(
                "message {number} ends as {end:?}, taken by {taker:?}"
            ));
        }
    }
    Ok(())
}

/// Returns whether this message can still be received.
fn waits(ending: &Ending, takers: &Takers, at: usize) -> bool {
    let message = &ending.messages[at];
    let there = match message.end {
        _ if ending.is_dead(message.to) => false,
        _ if ending.is_dead(message.from) => message.left,
        End::Pending | End::Copied => true,
        End::Sent | End::Orphan => message.left,
        _ => false,
    };
    there && takers[at].is_none()
}

/// Checks that no message and no receive that match each other both violate the order.
fn pairs(ending: &Ending, takers: &Takers) -> Result<(), String> {
    for (at, message) in ending.messages.iter().enumerate() {
        let exists = takers[at].is_some() || waits(ending, takers, at);
        for (index, receive) in ending.receives.iter().enumerate() {
            let got = takers.iter().position(|taker| *taker == Some(index));
            let idle = receive.end == End::Cancelled
                || (receive.end == End::Orphan && got.is_none())
                || ending.is_dead(receive.at);
            if !exists || idle || got == Some(at) || !receive.could_take(message) {
                continue;
            }
            let message_content = takers[at].is_some_and(|earlier| earlier < index);
            let receive_content = got.is_some_and(|got| {
                let other = &ending.messages[got];
                other.from != message.from || got < at
            });
            if !message_content && !receive_content {
                return Err(format!(
                    "message {} and receive {index} should have met",
                    message.number
                ));
            }
        }
    }
    Ok(())
}

/// Checks that the pool holds the messages that were not taken, as far as credit permits, and that every other cell is
/// available to its sender again. A message held back for a matched probe stays, with all messages behind it.
fn places(ending: &Ending, takers: &Takers) -> Result<(), String> {
    for at in ending.alive() {
        let mut all = 0;
        for from in 0..ending.ranks.len() as u8 {
            let waiting = ending
                .messages
                .iter()
                .enumerate()
                .filter(|(index, message)| {
                    (message.from, message.to) == (from, at) && waits(ending, takers, *index)
                })
                .take_while(|(_, message)| !ending.open.contains(&(at, message.number)));
            let aside = ending
                .messages
                .iter()
                .zip(takers)
                .filter(|(message, taker)| {
                    let aside = taker.is_some_and(|taker| ending.receives[taker].waits());
                    (message.from, message.to) == (from, at) && aside && message.left
                });
            let kept = (waiting.count() + aside.count()).min(ending.credit);
            all += kept;
            let credit = ending.credit_left(from, at);
            if !ending.is_dead(from) && credit != ending.credit as i64 - kept as i64 {
                return Err(format!(
                    "{from} has {credit} places at {at}, where {kept} messages of it wait"
                ));
            }
        }
        let unexpected = ending.ranks[usize::from(at)].seen.lengths.map(|all| all.2);
        if unexpected != Some(all) {
            return Err(format!(
                "rank {at} has {unexpected:?} messages in its pool, not {all}"
            ));
        }
    }
    Ok(())
}

/// Checks that a rank that has not completed its program has a reason.
fn stuck(ending: &Ending) -> Result<(), String> {
    for rank in ending.alive() {
        match ending.ranks[usize::from(rank)].next {
            None => {}
            // `probe_again` checks these acts.
            Some(Act::Await(_) | Act::AwaitMatched(_)) => {}
            Some(Act::Send { to, .. }) if ending.credit_left(rank, to) == 0 => {}
            act => return Err(format!("rank {rank} does not go on with {act:?}")),
        }
    }
    Ok(())
}

/// Checks that a message is held back only for a matched probe without success.
fn offers_have_a_reason(ending: &Ending) -> Result<(), String> {
    for &(at, number) in &ending.open {
        let Some((_, message)) = ending.message(number) else {
            return Err(format!("rank {at} was offered {number}, which nobody sent"));
        };
        let lost = ending.is_dead(at) || ending.is_dead(message.from);
        let mut vain = ending.vain.iter();
        if !lost && !vain.any(|(rank, wish)| *rank == at && wish.fits(message)) {
            return Err(format!("rank {at} keeps an offer of message {number} open"));
        }
    }
    Ok(())
}

/// Checks that a repeated probe finds a waiting message.
fn probe_again<C: Config>(
    explorer: &mut Explorer<'_, C>,
    mut world: World,
    ending: &Ending,
    (rank, wish): (u8, Wish),
) -> Result<(), String> {
    let takers = visibly_taken(ending)?;
    let waiting = (0..ending.messages.len()).any(|at| {
        let message = &ending.messages[at];
        message.to == rank && wish.fits(message) && waits(ending, &takers, at)
    });
    let lost = wish.source.is_some_and(|source| ending.is_dead(source));
    let matched = matches!(
        ending.ranks[usize::from(rank)].next,
        Some(Act::AwaitMatched(_))
    );
    let over = epilogue::find(explorer, &mut world, rank.into(), wish, matched)?;
    match (over, waiting || lost) {
        (false, true) => Err(format!("rank {rank} probes for {wish:?} in vain")),
        (true, false) => Err(format!("rank {rank} finds {wish:?}, which nobody sent")),
        _ => Ok(()),
    }
}

/// Checks that a probe names the message that a receive posted in its place would have taken.
fn probes(ending: &Ending, takers: &Takers) -> Result<(), String> {
    for rank in ending.alive() {
        let found = &ending.ranks[usize::from(rank)].seen.found;
        for found in found {
            probe(ending, takers, rank, found)?;
        }
    }
    Ok(())
}

fn probe(ending: &Ending, takers: &Takers, rank: u8, found: &Found) -> Result<(), String> {
    let Found { number, len, .. } = *found;
    let Some((at, message)) = ending.message(number) else {
        return Err(format!("a probe found message {number}, which nobody sent"));
    };
    let same = (message.to, message.kind.len(), message.tag) == (rank, len, found.tag);
    if !same || !found.wish.fits(message) {
        return Err(format!(
            "a probe found message {number} for {:?}",
            found.wish
        ));
    }
    let before = |at: usize| {
        takers[at].is_some_and(|taker| {
            let taker = &ending.receives[taker];
            taker.at == rank && taker.operation < found.operations
        })
    };
    if before(at) {
        return Err(format!("a probe found message {number}, which was taken"));
    }
    for (earlier, other) in ending.messages[..at].iter().enumerate() {
        let exists = takers[earlier].is_some() || waits(ending, takers, earlier);
        let comes_first = (other.from, other.to) == (message.from, rank);
        if comes_first && exists && found.wish.fits(other) && !before(earlier) {
            return Err(format!(
                "a probe found message {number}, but {} comes first",
                other.number
            ));
        }
    }
    let mut later = ending.ranks[usize::from(rank)].seen.found.iter();
    if later.any(|later| later.operations == found.operations && later.inputs > found.inputs) {
        return Ok(());
    }
    let take = ending.receives.iter().enumerate().find(|(_, receive)| {
        receive.at == rank && receive.operation == found.operations && receive.is_take
    });
    if let Some((index, receive)) = take {
        let exists = takers[at].is_some() || waits(ending, takers, at);
        if exists && receive.end != End::Orphan && takers[at] != Some(index) {
            return Err(format!("a probe found message {number}, a receive did not"));
        }
    }
    Ok(())
}

/// Checks that a probe does not name a message after the arrival of a frame that its sender sent when the cancel was
/// complete. Frames of third ranks are not considered.
fn ghosts<C: Config>(
    explorer: &Explorer<'_, C>,
    world: World,
    ending: &Ending,
) -> Result<(), String> {
    let machine = &*explorer.machine;
    for rank in ending.alive().map(usize::from) {
        for found in &ending.ranks[rank].seen.found {
            let Found { number, inputs, .. } = *found;
            let message = ending.message(number);
            if !message.is_some_and(|(_, message)| message.end == End::Cancelled) {
                continue;
            }
            let (from, operation) = (usize::from(number / 32), usize::from(number % 32));
            let sender = machine.path(world.vertices[from]);
            let over = sender.iter().find(|vertex| {
                machine.vertex(**vertex).seen.ends.get(operation) == Some(&End::Cancelled)
            });
            let sent = over.map_or(usize::MAX, |vertex| {
                machine.vertex(*vertex).sent[rank].len()
            });
            let probe = machine.path(world.vertices[rank])[inputs];
            if usize::from(machine.vertex(probe).taken[from]) > sent {
                return Err(format!(
                    "a probe found message {number}, which was cancelled before"
                ));
            }
        }
    }
    Ok(())
}

impl Wish {
    pub(crate) fn fits(self, message: &Message) -> bool {
        self.source.is_none_or(|source| source == message.from)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

impl Receive {
    fn could_take(&self, message: &Message) -> bool {
        self.at == message.to && self.wish.fits(message)
    }

    fn got(&self) -> Option<u8> {
        match self.end {
            End::Received { number, .. } | End::Revoked(number) | End::Lost(Some(number)) => {
                Some(number)
            }
            _ => self.taken,
        }
    }

    /// Returns whether the message waits to be received after a matched probe.
    fn waits(&self) -> bool {
        matches!(self.end, End::Taken { .. })
    }
}
