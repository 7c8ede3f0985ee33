//! The exchange of texts through the memory file of `pombo run`, for ranks that are not to communicate through memory:
//! they exchange addresses there, and detach. Only `bootstrap` uses it.

use super::JobError;
use super::launcher_text::ExchangedText;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pombo_kernel::channel::{Arrival, Channel, ChannelError, Event};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::shm::Shm;

/// All ranks of a job, attached to the launcher's memory file.
pub(crate) struct ShmExchange {
    shm: Box<Shm>,
    /// Texts of every rank that this one has not read: at most those of two rounds.
    received: Vec<Vec<ExchangedText>>,
}

impl ShmExchange {
    pub(super) fn new(shm: Box<Shm>) -> Self {
        let mut received = Vec::new();
        received.resize_with(shm.peers(), Vec::new);
        ShmExchange { shm, received }
    }

    pub(super) fn rank(&self) -> usize {
        self.shm.me().index()
    }

    /// Publishes a text and returns one of each rank, in rank order.
    pub(super) fn exchange(
        &mut self,
        own: &ExchangedText,
    ) -> Result<Vec<ExchangedText>, Box<JobError>> {
        let ranks = self.received.len() as u16;
        for to in (0..ranks).map(Peer) {
            self.send(to, own.as_bytes())?;
        }
        let mut idle = 0;
        while self.received.iter().any(Vec::is_empty) {
            self.progress(&mut idle)?;
        }
        let mut all = Vec::new();
        for received in &mut self.received {
            all.push(received.remove(0));
        }
        Ok(all)
    }

    fn send(&mut self, to: Peer, word: &[u8]) -> Result<(), Box<JobError>> {
        let (parts, mut idle) = ([Part::Bytes(word)], 0);
        loop {
            match self.shm.send_slowly(to, &parts) {
                Err(ChannelError::Full) => self.progress(&mut idle)?,
                sent => return sent.map_err(wrong),
            }
        }
    }

    fn progress(&mut self, idle: &mut u32) -> Result<(), Box<JobError>> {
        let (received, mut lost) = (&mut self.received, None);
        let any = self.shm.poll(|event| match event {
            Event::Arrival(frame) => {
                let mut word = Vec::new();
                frame.for_each_chunk(0, frame.len(), |piece| word.extend_from_slice(piece));
                let word = core::str::from_utf8(&word).unwrap_or_default();
                received[frame.from().index()].push(ExchangedText::from(word));
            }
            Event::PeerLost(peer) => lost = Some(peer),
            _ => {}
        });
        if let Some(peer) = lost.filter(|peer| self.received[peer.index()].is_empty()) {
            return Err(Box::new(JobError::Ended { rank: peer.index() }));
        }
        *idle = if any.map_err(wrong)? { 0 } else { *idle + 1 };
        match *idle {
            0 => Ok(()),
            idle => self.shm.wait(idle - 1).map_err(wrong),
        }
    }

    pub(super) fn shm_mut(&mut self) -> &mut Shm {
        &mut self.shm
    }

    pub(super) fn finish(&mut self) {
        self.shm.finish();
    }
}

fn wrong(error: ChannelError) -> Box<JobError> {
    Box::new(match error {
        ChannelError::PeerLost(peer) => JobError::Ended { rank: peer.index() },
        error => JobError::Kernel(pombo_kernel::Error::Channel(error)),
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use alloc::format;
    use pombo_netdrivers::shm;
    use std::thread;

    fn word(round: usize, rank: usize) -> ExchangedText {
        crate::fixed_string::text!("{} of {}", round, rank)
    }

    #[test]
    fn everybody_gets_every_text_round_by_round() {
        let job = format!("assembly-{}", std::process::id());
        let ranks = (0..3).map(|rank| {
            let job = job.clone();
            thread::spawn(move || {
                let shm = shm::bootstrap(&job, rank, 3, 7).expect("they meet");
                let mut exchange = ShmExchange::new(Box::new(shm));
                for round in 0..50 {
                    let received = exchange.exchange(&word(round, rank));
                    let expected: Vec<_> = (0..3).map(|from| word(round, from)).collect();
                    assert_eq!(received, Ok(expected));
                }
                exchange.finish();
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks
            .into_iter()
            .for_each(|rank| rank.join().expect("no panic"));
    }

    #[test]
    fn one_who_ends_is_named() {
        let job = format!("assembly-end-{}", std::process::id());
        let other = job.clone();
        let gone = thread::spawn(move || drop(shm::bootstrap(&other, 1, 2, 7)));
        let mut exchange =
            ShmExchange::new(Box::new(shm::bootstrap(&job, 0, 2, 7).expect("they meet")));
        assert_eq!(
            exchange.exchange(&ExchangedText::from("word")),
            Err(Box::new(JobError::Ended { rank: 1 }))
        );
        gone.join().expect("no panic");
    }
}
