//! The processor on which a rank begins. The system often starts the ranks of a job on one processor. As long as they
//! look for messages all are busy, have just run, and are left where they are, for 100 ms and more. So each rank moves
//! once, when it joins; from then on the system moves it as it likes. `place` calls it.

use core::mem::{size_of_val, zeroed};
use pombo_netdrivers::shm::Segment;

/// A set of processors as the system takes it on 64-bit machines. Where there are more than 4096, nobody moves.
type Mask = [u64; 64];

/// Moves this thread to a processor of its own, as far as there are enough of those that it may run on: `place` counts
/// the ranks on this machine that come before it, and the first one's processor depends on the job, so that jobs beside
/// each other do not all begin on the same. Where the system refuses, only time is lost.
#[cold]
pub(super) fn spread(place: usize, ranks: usize, job: u64) {
    let Some(allowed) = allowed().filter(|_| ranks > 1) else {
        return;
    };
    let count: u32 = allowed.iter().map(|word| word.count_ones()).sum();
    if count > 1 && run_on(&only(&allowed, begin(job, place, count))) {
        run_on(&allowed);
    }
}

/// A number that all ranks of a segment know, and no other job: that of its file.
#[cold]
pub(super) fn number_of(segment: &Segment) -> u64 {
    // SAFETY: zeros are a valid record.
    let mut record: libc::stat = unsafe { zeroed() };
    // SAFETY: the segment's own descriptor, and a place for the answer, which stays zero on an error.
    unsafe { libc::fstat(segment.fd(), &mut record) };
    record.st_ino
}

/// Which of that many processors.
fn begin(job: u64, place: usize, count: u32) -> u32 {
    // Neighbours of one number go to different places.
    let first = job.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    ((first + place as u64) % u64::from(count)) as u32
}

/// The set of one: the processor with that number among these.
fn only(allowed: &Mask, mut number: u32) -> Mask {
    let mut one = [0; _];
    for (word, from) in one.iter_mut().zip(allowed) {
        let mut left = *from;
        while left != 0 {
            let lowest = left & left.wrapping_neg();
            if number == 0 {
                *word = lowest;
                return one;
            }
            number -= 1;
            left ^= lowest;
        }
    }
    one
}

fn allowed() -> Option<Mask> {
    let mut mask: Mask = [0; _];
    // SAFETY: the set is valid for its size, and the call writes no more; 0 is this thread.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (known == 0).then_some(mask)
}

/// Whether the system has moved this thread there.
fn run_on(mask: &Mask) -> bool {
    // SAFETY: the set is valid for its size, and the call only reads; 0 is this thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_begin_on_processors_of_their_own() {
        let mut allowed: Mask = [0; _];
        (allowed[0], allowed[63]) = (0b1010_0000, 1 << 63);
        let of = |number| {
            let one = only(&allowed, number);
            assert_eq!(one.iter().map(|word| word.count_ones()).sum::<u32>(), 1);
            one.iter().position(|word| *word != 0).map(|at| (at, one[at]))
        };
        assert_eq!(of(0), Some((0, 0b10_0000)));
        assert_eq!(of(1), Some((0, 0b1000_0000)));
        assert_eq!(of(2), Some((63, 1 << 63)));
        for job in [0, 7, u64::MAX] {
            let mut taken = [0, 1, 2].map(|place| begin(job, place, 3));
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2], "job {job}");
        }
        let firsts = (0..64).map(|job| begin(job, 0, 64));
        assert!(firsts.collect::<alloc::collections::BTreeSet<_>>().len() > 16);
    }

    #[test]
    fn who_has_moved_may_run_where_it_could_before() {
        let before = allowed();
        for place in 0..3 {
            spread(place, 3, 5);
            assert_eq!(allowed(), before);
        }
    }
}
