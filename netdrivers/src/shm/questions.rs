//! Questions to all ranks of a segment, which each that waits answers with a text: what it waits for. A launcher asks,
//! or any process of the user that has opened the segment. A rank answers each question once, and a rank that computes
//! does not answer. `Shm` and `Segment` offer this module.

use core::sync::atomic::fence;

use alloc::vec::Vec;

use super::futex::Futex;
use super::layout::{ANSWER_WORDS, Answer};
use super::segment::Segment;
use super::sync::{AtomicU32, AtomicU64, Ordering};

/// Largest size in bytes of an answer; the rest is cut off.
pub const MAX_ANSWER: usize = ANSWER_WORDS * size_of::<u64>();

/// The number of a question; numbers increase, and 0 is none.
pub type Question = u32;

impl Segment {
    /// Asks all ranks, and wakes those that sleep.
    pub fn ask(&self) -> Question {
        let question = self.header().question.0.fetch_add(1, Ordering::SeqCst) + 1;
        (0..self.ranks()).for_each(|rank| self.wake(rank));
        question
    }

    /// Wakes a rank that has not answered: where processors are shared, a rank answers only after some fruitless polls,
    /// and it sleeps before each.
    pub fn wake(&self, rank: usize) {
        if rank < self.ranks() {
            let event_count = &self.control(rank).event_count.0;
            event_count.notify_always(&Futex::WAKER);
        }
    }

    /// Returns a rank's answer to that question or a later one, which somebody else may have asked.
    pub fn answer(&self, rank: usize, question: Question) -> Option<Vec<u8>> {
        let slot = (rank < self.ranks()).then(|| self.slot(rank))?;
        let answered = slot.answered.load(Ordering::Acquire);
        if answered < question {
            return None;
        }
        let len = slot.len.load(Ordering::Relaxed) as usize;
        let mut text = Vec::with_capacity(MAX_ANSWER);
        for word in &slot.words {
            text.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        text.truncate(len);
        // The rank may have begun to answer another question meanwhile.
        fence(Ordering::Acquire);
        (slot.answered.load(Ordering::Relaxed) == answered).then_some(text)
    }

    /// Records the number that a rank has in its job, where that spans hosts: who asks names it by that number. A rank
    /// that does not exist is ignored.
    pub fn set_job_rank(&self, rank: usize, number: u16) {
        if rank < self.ranks() {
            let job_rank = &self.status(rank).job_rank;
            job_rank.store(u32::from(number) + 1, Ordering::Release);
        }
    }

    /// Returns the number that a rank has in its job; `None` if nobody has recorded one.
    pub fn job_rank(&self, rank: usize) -> Option<usize> {
        let job_rank = (rank < self.ranks()).then(|| &self.status(rank).job_rank)?;
        Some(job_rank.load(Ordering::Acquire).checked_sub(1)? as usize)
    }

    /// Returns the last question.
    #[inline]
    pub(super) fn question(&self) -> Question {
        self.header().question.0.load(Ordering::Relaxed)
    }

    /// Writes a rank's answer. Only that rank calls it.
    pub(super) fn set_answer(&self, rank: usize, question: Question, text: &[u8]) {
        let slot = self.slot(rank);
        slot.answered.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        let text = text.get(..MAX_ANSWER).unwrap_or(text);
        for (word, bytes) in slot.words.iter().zip(text.chunks(size_of::<u64>())) {
            let mut whole = [0; size_of::<u64>()];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        slot.len.store(text.len() as u32, Ordering::Relaxed);
        slot.answered.store(question, Ordering::Release);
    }
}

const _: () = assert!(size_of::<Answer>() == 2 * size_of::<AtomicU32>() + MAX_ANSWER);
const _: () = assert!(size_of::<AtomicU64>() == size_of::<u64>());
