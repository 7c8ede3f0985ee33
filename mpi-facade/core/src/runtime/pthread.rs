//! The functions of the C library's threads that the runtime needs, in safe wrappers, and values behind a mutex.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
#[cfg(feature = "progress-thread")]
use core::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr::{null, null_mut},
    sync::atomic::{AtomicU64, Ordering},
};

/// A mutex of the C library.
struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: pthread functions access a mutex from several threads, and only through its address.
unsafe impl Sync for Mutex {}

static MUTEX: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Ownership of the lock by this thread. It is not `Send`, as it must stay on its thread.
pub(super) struct Locked(PhantomData<*mut ()>);

/// Waits for the lock. The thread that holds it would deadlock.
pub(super) fn lock() -> Locked {
    // SAFETY: the mutex is a static, so it is valid.
    unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) };
    Locked(PhantomData)
}

/// Takes the lock if no thread holds it, including this one.
pub(super) fn try_lock() -> Option<Locked> {
    // SAFETY: the mutex is a static, so it is valid.
    let taken = unsafe { libc::pthread_mutex_trylock(MUTEX.0.get()) } == 0;
    taken.then(|| Locked(PhantomData))
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: this thread has locked the mutex, once for each `Locked`; the mutex is a static.
        unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) };
    }
}

/// A value of the process that calls use one at a time, also before `MPI_Init` and after `MPI_Finalize`.
pub(crate) struct Global<T> {
    mutex: Mutex,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that holds the mutex uses the value, which is not bound to a thread.
unsafe impl<T: Send> Sync for Global<T> {}

impl<T> Global<T> {
    /// Makes it of a value.
    pub(crate) const fn new(value: T) -> Self {
        let mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        let value = UnsafeCell::new(value);
        Global { mutex, value }
    }

    /// Runs a function on the value, which must not use it again.
    pub(crate) fn with<R>(&'static self, call: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the mutex is part of a static, so it is valid.
        unsafe { libc::pthread_mutex_lock(self.mutex.0.get()) };
        // SAFETY: this thread holds the mutex until the reference is gone.
        let outcome = call(unsafe { &mut *self.value.get() });
        // SAFETY: this thread has locked the mutex, which is part of a static.
        unsafe { libc::pthread_mutex_unlock(self.mutex.0.get()) };
        outcome
    }
}

/// Returns a number that no other living thread of this process has; never 0.
pub(super) fn this_thread() -> usize {
    // SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Yields the processor to other threads.
pub(super) fn yield_now() {
    // SAFETY: sched_yield has no preconditions.
    unsafe { libc::sched_yield() };
}

/// Registers a function that runs first in forked child processes; it may do what a child of a process with threads
/// may. Without memory for the registration it is not called.
pub(super) fn in_children(child: extern "C" fn()) {
    // SAFETY: the callback is a plain function, which is valid for the whole process.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
}

/// The thread that [`start`] has started, until it is joined; else 0, which is no thread's number.
#[cfg(feature = "progress-thread")]
static THREAD: AtomicU64 = AtomicU64::new(0);

/// Starts the library's thread with all signals blocked, as they belong to the program; the caller's mask is unchanged.
/// The error is the system's.
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
    // SAFETY: the successful call has filled it.
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

/// Returns whether the thread exists.
#[cfg(feature = "progress-thread")]
pub(super) fn has_started() -> bool {
    THREAD.load(Ordering::Relaxed) != 0
}
