//! The same operations, written by hand without topologies and schedules.

use crate::log::Log;
use pombo_collective::{Buffer, Executor};

#[inline(always)]
pub(crate) fn binomial_children(rank: usize, n: usize, root: usize, mut f: impl FnMut(usize)) {
    let relative = if rank >= root {
        rank - root
    } else {
        rank + n - root
    };
    let mut bit = if relative == 0 {
        n.next_power_of_two()
    } else {
        relative & relative.wrapping_neg()
    };
    bit >>= 1;
    while bit > 0 {
        let child = relative + bit;
        if child < n {
            f(if child + root >= n {
                child + root - n
            } else {
                child + root
            });
        }
        bit >>= 1;
    }
}

#[inline(always)]
fn arms(n: usize, root: usize, above: usize, below: usize, mut f: impl FnMut(usize)) {
    let (mut above, mut below) = (above, below);
    let mut upward = above >= below;
    while above + below > 0 {
        if below == 0 || (upward && above > 0) {
            f((root + above) % n);
            above -= 1;
            upward = false;
        } else {
            f((root + n - below) % n);
            below -= 1;
            upward = true;
        }
    }
}

#[inline(always)]
pub(crate) fn linear(n: usize, root: usize, f: impl FnMut(usize)) {
    arms(n, root, n - 1 - root, root, f);
}

#[inline(always)]
pub(crate) fn ring(n: usize, root: usize, f: impl FnMut(usize)) {
    arms(n, root, n / 2, (n - 1) / 2, f);
}

#[inline(always)]
pub(crate) fn others(n: usize, root: usize, mut f: impl FnMut(usize)) {
    let mut rank = root;
    for _ in 1..n {
        rank += 1;
        if rank == n {
            rank = 0;
        }
        f(rank);
    }
}

#[inline(always)]
pub(crate) fn turns(n: usize, rank: usize, mut f: impl FnMut(usize, usize)) {
    for step in 1..n {
        let (to, from) = (rank + step, rank + n - step);
        f(
            if to >= n { to - n } else { to },
            if from >= n { from - n } else { from },
        );
    }
}

/// Discards the result of a call that never fails.
#[inline(always)]
fn done<T, E>(result: Result<T, E>) {
    let _ = result;
}

pub(crate) fn broadcast(rank: usize, n: usize, root: usize, log: &mut Log) {
    let data = Buffer::Output.block(0);
    let relative = (rank + n - root) % n;
    if relative != 0 {
        done(log.receive(((relative & (relative - 1)) + root) % n, data));
    }
    binomial_children(rank, n, root, |child| done(log.send(child, data)));
}

pub(crate) fn scatter(root: usize, n: usize, log: &mut Log) {
    others(n, root, |other| {
        done(log.send(other, Buffer::Input.block(other)))
    });
    log.copy(Buffer::Input.block(root), Buffer::Output.block(0));
}

pub(crate) fn alltoall(rank: usize, n: usize, log: &mut Log) {
    log.copy(Buffer::Input.block(rank), Buffer::Output.block(rank));
    turns(n, rank, |to, from| {
        done(log.receive(from, Buffer::Output.block(from)));
        done(log.send(to, Buffer::Input.block(to)));
    });
}

pub(crate) fn allgather(rank: usize, n: usize, log: &mut Log) {
    log.copy(Buffer::Input.block(0), Buffer::Output.block(rank));
    let back = |steps| {
        if steps <= rank {
            rank - steps
        } else {
            rank + n - steps
        }
    };
    let behind = if rank + 1 == n { 0 } else { rank + 1 };
    for step in 1..n {
        done(log.receive(back(1), Buffer::Output.block(back(step))));
        done(log.send(behind, Buffer::Output.block(back(step - 1))));
    }
}
