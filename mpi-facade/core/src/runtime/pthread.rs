//! What the runtime needs of the C library's threads. All of it is safe to call; the reasons stand here.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
#[cfg(feature = "progress-thread")]
use core::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr::{null, null_mut},
    sync::atomic::{AtomicU64, Ordering},
};

/// A lock of the C library's.
struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be used by several threads, through its address alone.
unsafe impl Sync for Mutex {}

static MUTEX: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// This thread has the one lock while it lives. It stays on its thread, as a pointer does.
pub(super) struct Locked(PhantomData<*mut ()>);

/// Waits for the lock. Who has it must not ask: it would wait for itself.
pub(super) fn lock() -> Locked {
    // SAFETY: the mutex lives for ever.
    unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) };
    Locked(PhantomData)
}

/// The lock if nobody has it, not even this thread.
pub(super) fn try_lock() -> Option<Locked> {
    // SAFETY: the mutex lives for ever.
    let taken = unsafe { libc::pthread_mutex_trylock(MUTEX.0.get()) } == 0;
    taken.then(|| Locked(PhantomData))
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: this thread has locked it, once for each `Locked`; the mutex lives for ever.
        unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) };
    }
}

/// A number that no other living thread of this process has. Never 0.
pub(super) fn this_thread() -> usize {
    // SAFETY: no demands.
    unsafe { libc::pthread_self() as usize }
}

/// Lets others have the processor.
pub(super) fn yield_now() {
    // SAFETY: no demands.
    unsafe { libc::sched_yield() };
}

/// From now on children of this process begin with that function, which may do what a child of a process with threads
/// may. Without memory to note it they go unnoticed.
pub(super) fn in_children(child: extern "C" fn()) {
    // SAFETY: a plain function, which lives for ever.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// The thread that [`start`] has started, until it is joined; else 0, which is no thread's.
#[cfg(feature = "progress-thread")]
static THREAD: AtomicU64 = AtomicU64::new(0);

/// Starts the one thread of the library's own, with all signals blocked, for they are the program's; the caller keeps
/// its own set. An error is the system's.
#[cfg(feature = "progress-thread")]
pub(super) fn start(run: extern "C" fn(*mut c_void) -> *mut c_void) -> Result<(), c_int> {
    let mut thread = MaybeUninit::uninit();
    let (mut all, mut own) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the sets are filled before they are read; the thread takes no argument.
    let made = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), own.as_mut_ptr());
        let made = libc::pthread_create(thread.as_mut_ptr(), null(), run, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, own.as_ptr(), null_mut());
        made
    };
    if made != 0 {
        return Err(made);
    }
    // SAFETY: the call has filled it.
    THREAD.store(unsafe { thread.assume_init() }, Ordering::Relaxed);
    Ok(())
}

/// Waits for the end of that thread, if there is one.
#[cfg(feature = "progress-thread")]
pub(super) fn join() {
    let thread = THREAD.swap(0, Ordering::Relaxed);
    if thread != 0 {
        // SAFETY: the thread was started, and is joined once.
        unsafe { libc::pthread_join(thread, null_mut()) };
    }
}

/// Is there such a thread?
#[cfg(feature = "progress-thread")]
pub(super) fn has_started() -> bool {
    THREAD.load(Ordering::Relaxed) != 0
}
