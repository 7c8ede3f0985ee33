//! Counts the instructions that a call executes: the processor's trap flag turns each of them into a signal. Counting
//! needs no privilege and no performance counter, and gives the same number every time.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static STEPS: AtomicU64 = AtomicU64::new(0);

extern "C" fn stepped(_: libc::c_int) {
    STEPS.fetch_add(1, Relaxed);
}

/// Installs the signal handler; must be called before the first [`count`].
pub(crate) fn prepare() {
    // SAFETY: all zeros is a valid `sigaction`: no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = stepped as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler only adds to an atomic number, which a signal handler may do; the old action is not
    // requested.
    let done = unsafe { libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) };
    assert_eq!(done, 0, "sigaction");
}

/// Returns the number of instructions that a call executes, and its result.
#[inline(always)]
pub(crate) fn count<R>(call: impl FnOnce() -> R) -> (u64, R) {
    let before = STEPS.load(Relaxed);
    // SAFETY: it sets the trap flag and changes no other; the stack is as it was.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = call();
    // SAFETY: it clears the trap flag and changes no other; the stack is as it was.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    (STEPS.load(Relaxed) - before, result)
}
