//! The choice of how long frames are written: by ordinary stores, or past the caches. Only `LongProducer` uses it.
//!
//! An ordinary store fetches its line from where it was used last. How long that takes depends on the distance of the
//! processors, on the size of the caches, and on other load, and it changes within seconds; that of a store past the
//! caches depends on the memory alone. So both are timed, and the better one is used.

/// How a frame is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stores {
    /// By ordinary stores.
    Cached,
    /// By stores past the caches.
    Streamed,
}

/// The times of both ways, and the one to use.
pub(super) struct StoreChoice {
    /// Estimated times in ns for 1024 bytes, of cached and of streamed stores; 0 before the first.
    times: [u64; 2],
    /// The number of the next frame in its epoch.
    frame: u32,
    /// How the last frames were written, and their number.
    last: (Stores, u32),
}

/// Number of frames after which the other way is tried again: some tens of milliseconds.
const EPOCH: u32 = 1 << 14;
/// Number of frames of a trial: two rounds through the largest room.
const TRIAL: u32 = 128;
/// Number of frames that are not timed after a change: the caches have to get used to it.
const SETTLING: u32 = TRIAL / 2;
/// Streamed stores must take less than the inverse of it, as the reader waits for what the caches do not hold.
const FOR_READER: u64 = 3;
/// One of so many frames is timed.
const TIMED: u32 = 8;

impl StoreChoice {
    pub(super) fn new() -> Self {
        Self {
            times: [0; 2],
            // The first trial begins when ordinary stores have settled.
            frame: EPOCH - 4 * SETTLING,
            last: (Stores::Cached, 0),
        }
    }

    /// Returns how the next frame is written, and whether its time is to be told.
    #[inline]
    pub(super) fn next(&mut self) -> (Stores, bool) {
        let [cached, streamed] = self.times;
        let is_trial = self.frame < TRIAL;
        let streams = streamed != 0 && cached > FOR_READER.saturating_mul(streamed);
        let stores = match streams != is_trial {
            true => Stores::Streamed,
            false => Stores::Cached,
        };
        self.frame = (self.frame + 1) % EPOCH;
        match &mut self.last {
            (last, count) if *last == stores => *count = count.wrapping_add(1),
            last => *last = (stores, 0),
        }
        let count = self.last.1;
        (stores, count >= SETTLING && count.is_multiple_of(TIMED))
    }

    /// Learns how many nanoseconds a frame of `len` bytes took. A shorter time counts at once, a longer one by and by, as
    /// it may be an interruption.
    pub(super) fn learn(&mut self, stores: Stores, len: usize, nanoseconds: u64) {
        let time = nanoseconds.saturating_mul(1024) / len.max(1) as u64;
        let known = &mut self.times[stores as usize];
        *known = match *known {
            0 => time,
            known if time < known => time,
            known => known + (time - known).min(known) / 4,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes that many frames that take these times in ns, and returns how many were written past the caches.
    fn streamed(choice: &mut StoreChoice, frames: u32, times: [u64; 2]) -> u32 {
        let mut count = 0;
        for _ in 0..frames {
            let (stores, is_timed) = choice.next();
            count += u32::from(stores == Stores::Streamed);
            if is_timed {
                choice.learn(stores, 16 << 10, times[stores as usize]);
            }
        }
        count
    }

    #[test]
    fn the_faster_way_is_used_and_a_change_is_seen() {
        let mut choice = StoreChoice::new();
        let mut settled = |times| {
            streamed(&mut choice, EPOCH, times);
            streamed(&mut choice, EPOCH, times)
        };
        // The first use of the memory costs more than any way.
        settled([20_000, 20_000]);
        assert_eq!(settled([700, 400]), TRIAL);
        assert_eq!(settled([7000, 1300]), EPOCH - TRIAL);
        assert_eq!(settled([700, 1300]), TRIAL);
    }
}
