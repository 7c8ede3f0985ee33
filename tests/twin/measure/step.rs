//! Counts the instructions that a call executes: the processor's trap flag makes each of them a signal. It takes no
//! right and no performance counter, and gives the same number every time.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static STEPS: AtomicU64 = AtomicU64::new(0);

extern "C" fn stepped(_: libc::c_int) {
    STEPS.fetch_add(1, Relaxed);
}

/// Before the first [`count`].
pub(crate) fn prepare() {
    // SAFETY: all zeros is a valid `sigaction`: no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = stepped as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler only adds to an atomic number, which a signal handler may do; nothing is asked back.
    let done = unsafe { libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) };
    assert_eq!(done, 0, "sigaction");
}

/// What a call executes, and what it returns.
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
