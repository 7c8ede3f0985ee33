//! When a rank looks for the answer to its mail. A look that comes too early takes the line from the peer that is about to
//! write there. `Connection` uses it.

use crate::tuning::PROMPT_LOOKS;
use crate::wait::clock::{self, LookTiming};

/// The looks for the answer to the last mail.
#[derive(Default)]
pub(super) struct AnswerWait {
    /// When the last mail was written, in ticks.
    mailed: u64,
    /// When the next look is due, in ticks; 0 if the last one has found the answer.
    next_look: u64,
    /// Number of looks since the mail was written; those before its answer decide [`is_prompt`](Self::is_prompt).
    looks: u32,
    /// The last answer took few looks.
    pub(super) is_prompt: bool,
}

impl AnswerWait {
    /// Notes that a mail was written at that time, with so many lines behind the first, and returns whether the line to the
    /// peer is short, by the time of the last turn.
    #[inline(never)]
    pub(super) fn begin(&mut self, now: u64, lines: usize, timing: &LookTiming) -> bool {
        self.is_prompt = self.looks <= PROMPT_LOOKS;
        self.looks = 0;
        let turn = now.wrapping_sub(self.mailed);
        self.mailed = now;
        self.next_look = now + timing.pause(turn);
        turn <= timing.near_turn + lines as u64 * timing.near_line
    }

    /// Returns whether to look at that time, and counts the look. The answer was not found.
    #[inline(always)]
    pub(super) fn is_due(&mut self, now: u64, timing: &LookTiming) -> bool {
        let is_due = clock::is_due(self.next_look, now, timing.pause);
        if is_due {
            self.next_look = now + timing.interval;
            self.looks = self.looks.saturating_add(1);
        }
        is_due
    }

    /// Notes that a look has found the answer.
    #[inline(always)]
    pub(super) fn found(&mut self) {
        self.next_look = 0;
    }

    /// Returns whether the answer was found.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.next_look == 0
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{AnswerWait, LookTiming, PROMPT_LOOKS};

    const TIMING: LookTiming = LookTiming {
        pause: 100,
        near_pause: 80,
        near_turn: 200,
        near_line: 40,
        interval: 10,
        burst: 0,
        far_burst: 0,
        far_kib: 0,
        gap: 0,
    };

    /// Writes a mail and looks for its answer until so many looks were made, the last of which finds it; returns when the
    /// first one was.
    fn turn(answer: &mut AnswerWait, begin: u64, count: u32) -> u64 {
        answer.begin(begin, 0, &TIMING);
        let times = (begin + 1..).filter(|now| answer.is_due(*now, &TIMING));
        let looks: Vec<_> = times.take(count as usize).collect();
        assert!(looks.windows(2).all(|pair| pair[1] - pair[0] == 10));
        answer.found();
        assert!(answer.is_over());
        looks[0] - begin
    }

    #[test]
    fn the_pause_follows_the_time_of_the_last_turn() {
        let mut answer = AnswerWait::default();
        assert_eq!(turn(&mut answer, 1000, 1), 100);
        assert_eq!(turn(&mut answer, 1200, 3), 80);
        assert_eq!(turn(&mut answer, 1401, 2), 100);
        assert_eq!(turn(&mut answer, 1500, 1), 80);
    }

    #[test]
    fn a_short_line_takes_short_turns() {
        for (lines, longest) in [(0, 200), (1, 240), (17, 880)] {
            let mut answer = AnswerWait::default();
            answer.begin(1000, lines, &TIMING);
            assert!(answer.begin(1000 + longest, lines, &TIMING));
            assert!(!answer.begin(1000 + 2 * longest + 1, lines, &TIMING));
        }
    }

    #[test]
    fn an_answer_is_prompt_after_few_looks() {
        let mut answer = AnswerWait::default();
        for (count, is_prompt) in [(PROMPT_LOOKS, true), (PROMPT_LOOKS + 1, false), (1, true)] {
            turn(&mut answer, 1000, count);
            answer.begin(5000, 0, &TIMING);
            assert_eq!(answer.is_prompt, is_prompt);
        }
    }

    /// As when the machine sleeps or moves.
    #[test]
    fn a_clock_that_goes_back_makes_no_wait_longer() {
        let mut answer = AnswerWait::default();
        answer.begin(1000, 0, &TIMING);
        assert!(!answer.is_due(1099, &TIMING));
        assert!(answer.is_due(500, &TIMING));
        assert!(answer.is_due(1 << 60, &TIMING));
    }
}
