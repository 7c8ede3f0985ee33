//! Selects the processor on which a rank begins. The system often starts the ranks of a job on one processor. As long
//! as they poll for messages, all are busy, have just run, and are not migrated for 100 ms and more. So each rank moves
//! once, when it joins; from then on the system schedules it freely. `bootstrap` calls it.

use core::mem::size_of_val;
use pombo_netdrivers::shm::Segment;
use rustix::fs::fstat;

/// A set of processors in the system's form on 64-bit machines. With more than 4096 processors no rank moves.
type Mask = [u64; 64];

/// Moves this thread to a processor of its own, if there are enough allowed ones. `place` is the number of ranks before
/// this one on this machine. The first rank's processor depends on the job, so that concurrent jobs do not all begin on
/// the same one. If the system refuses, only time is lost.
#[cold]
pub(super) fn spread(place: usize, ranks: usize, job: u64) {
    let Some(allowed) = allowed().filter(|_| ranks > 1) else {
        return;
    };
    let count = processors(&allowed).count();
    let chosen = match count {
        // There is no other processor.
        0 | 1 => None,
        _ => processors(&allowed).nth(begin(job, place, count)),
    };
    if let Some(processor) = chosen
        && run_on(&only(processor))
    {
        run_on(&allowed);
    }
}

/// Returns a number that all ranks of a segment know, and no other job has: the inode of its file.
#[cold]
pub(super) fn number_of(segment: &Segment) -> u64 {
    fstat(segment).map_or(0, |file| file.st_ino)
}

/// Returns the processor, of `count`.
fn begin(job: u64, place: usize, count: usize) -> usize {
    // Multiplication sends neighbouring job numbers to different processors.
    let first = job.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    (first as usize + place) % count
}

/// Returns the numbers of the processors in a set.
fn processors(mask: &Mask) -> impl Iterator<Item = usize> {
    (0..64 * mask.len()).filter(|number| mask[number / 64] >> (number % 64) & 1 == 1)
}

fn only(processor: usize) -> Mask {
    let mut mask = [0; _];
    mask[processor / 64] = 1 << (processor % 64);
    mask
}

fn allowed() -> Option<Mask> {
    let mut mask: Mask = [0; _];
    // SAFETY: the set is valid for its size, and the call writes no more; 0 is this thread.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (known == 0).then_some(mask)
}

/// Moves this thread to a set of processors; returns whether the system has done so.
fn run_on(mask: &Mask) -> bool {
    // SAFETY: the set is valid for its size, and the call only reads; 0 is this thread.
    unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_begin_on_processors_of_their_own() {
        let mut allowed: Mask = only(4095);
        allowed[0] = 0b1010_0000;
        let all: alloc::vec::Vec<usize> = processors(&allowed).collect();
        assert_eq!(all, [5, 7, 4095]);
        assert!(
            all.iter()
                .all(|number| processors(&only(*number)).eq([*number]))
        );
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
