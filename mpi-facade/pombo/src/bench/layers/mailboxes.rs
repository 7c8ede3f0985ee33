//! The two ranks of the layer of mailboxes, as threads. Only `layers` uses it.

use std::thread;
use std::time::Duration;

use pombo_netdrivers::mailbox::{Mailbox, Mailboxes, Message, SizeClasses};
use pombo_netdrivers::shm::Shm;

use super::super::measured_value::Spread;
use super::pair::{Failure, Outcome, Pattern, Rank, measure};

/// The time that the start gets: far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn mailboxes(
    pattern: Pattern,
    size: usize,
    seconds: f32,
) -> Result<Option<Spread>, Failure> {
    let [zero, one] = super::endpoints::channels()?;
    // Each may keep the name of the other's mailbox, so both start at once.
    let ranks = thread::scope(|scope| {
        let other = scope.spawn(|| Posting::start(one));
        let ranks = [
            Posting::start(zero),
            other.join().map_err(|_| "a thread panicked")?,
        ];
        let [zero, one] = ranks;
        Ok::<_, Failure>([zero?, one?])
    })?;
    measure(pattern, size, seconds, ranks).map(Some)
}

/// A rank with a mailbox of its own and the other's. A message is packed, posted, retrieved and unpacked.
struct Posting {
    mine: Mailbox<Shm>,
    to: Mailbox<Shm>,
    sent: Message,
    retrieved: Message,
    longest: usize,
}

impl Posting {
    fn start(channel: Shm) -> Result<Self, Failure> {
        let classes = SizeClasses::default();
        let mailboxes = Mailboxes::new(channel, classes)?;
        let me = mailboxes.me().0;
        let mine = mailboxes.create(&format!("rank {me}"), PATIENCE)?;
        let to = mailboxes.clone_mailbox(&format!("rank {}", 1 - me), PATIENCE)?;
        let (sent, retrieved) = (Message::new(), Message::new());
        let longest = classes.longest();
        let mut rank = Posting {
            mine,
            to,
            sent,
            retrieved,
            longest,
        };
        // Once the other has said so, it has found this mailbox.
        rank.send(&[])?;
        rank.receive(&mut [Vec::new()])?;
        Ok(rank)
    }
}

impl Rank for Posting {
    fn send(&mut self, bytes: &[u8]) -> Outcome {
        self.sent.clear();
        self.sent.pack(bytes);
        match self.sent.packed_len() > self.longest {
            true => self.sent = self.to.post_large(&mut self.sent)?.wait()?,
            false => self.to.post(&mut self.sent)?,
        }
        Ok(())
    }

    fn receive(&mut self, places: &mut [Vec<u8>]) -> Outcome {
        for place in places {
            self.mine.retrieve(&mut self.retrieved)?;
            place.copy_from_slice(self.retrieved.unpack()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailboxes_carry_messages_with_and_without_a_class() {
        for pattern in [Pattern::PingPong, Pattern::Rate, Pattern::Bandwidth] {
            for size in [0, 8, 5000, 200_000] {
                let spread = mailboxes(pattern, size, 0.001).unwrap();
                assert!(spread.is_some_and(|spread| spread.median >= 0.0));
            }
        }
    }
}
