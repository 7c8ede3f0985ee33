//! Writes this rank's long payloads: by ordinary stores or past the caches, whichever [`StoreChoice`] finds cheaper. Only
//! `collective` uses it.
//!
//! Some payloads are timed: the writer measures its writing, and each reader adds the time of its reading to a word of the
//! writer's board. Together that is what the payload costs all ranks, of which some may share a processor.

use pombo_kernel::memory::Part;

use super::board::{Board, BoardMemory};
use super::store_choice::{StoreChoice, Stores};
use crate::wait;

/// The room of a payload.
pub struct Room<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) stores: Stores,
}

/// A payload whose reading is timed.
struct TimedPayload {
    /// The number of its round.
    round: u64,
    len: usize,
    stores: Stores,
    /// How many nanoseconds writing it took.
    written: u64,
}

/// How this rank writes payloads.
pub(super) struct PayloadWriter {
    choice: StoreChoice,
    /// The timed payload whose cost is not known yet.
    timed: Option<TimedPayload>,
}

impl Room<'_> {
    /// Copies a part of a frame to `at`.
    pub fn put(&mut self, at: usize, part: Part<'_>) {
        let into = &mut self.bytes[at..at + part.len()];
        match self.stores {
            #[cfg(target_arch = "x86_64")]
            Stores::Streamed => super::streaming_copy::stream_parts(&[part], into),
            _ => part.copy_to(0, into),
        }
    }
}

impl PayloadWriter {
    pub(super) fn new() -> Self {
        Self {
            choice: StoreChoice::new(),
            timed: None,
        }
    }

    /// Writes the next payload of `len` bytes. Returns false if there is no room.
    pub(super) fn write<P: BoardMemory>(
        &mut self,
        board: &mut Board<P>,
        len: usize,
        f: impl FnOnce(&mut Room<'_>),
    ) -> bool {
        if !board.has_room(len) {
            return false;
        }
        let (stores, mut is_timed) = self.choice.next(len.div_ceil(1 << 10) as u32);
        if is_timed {
            self.learn(board);
            is_timed = self.timed.is_none();
        }
        let began = is_timed.then(wait::now);
        let filled = board.fill(len, |bytes| f(&mut Room { bytes, stores }));
        if let Some(began) = began {
            let (round, written) = (board.time_next(), wait::now() - began);
            self.timed = Some(TimedPayload {
                round,
                len,
                stores,
                written,
            });
        }
        filled.is_some()
    }

    /// Learns what the timed payload cost, if all ranks have released it.
    fn learn<P: BoardMemory>(&mut self, board: &Board<P>) {
        let Some(timed) = &self.timed else { return };
        let began = wait::now();
        if let Some(spent) = board.spent(timed.round) {
            self.choice
                .learn_distance(wait::now().saturating_sub(began));
            let time = timed.written.saturating_add(spent);
            self.choice.learn(timed.stores, false, timed.len, time);
            self.timed = None;
        }
    }
}
