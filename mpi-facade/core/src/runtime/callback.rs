//! Callbacks of the program, and which functions of MPI they may call.
//!
//! An operation (`MPI_Op_create`) runs inside a call that then uses its result: [`run`] marks that. The standard
//! forbids communication there (MPI 5.0, section 6.9.5). Functions that need only objects of this process
//! ([`local`](super::world::local)), those of [`lock_free_queries`](super::lock_free_queries) and `MPI_Abort` work; all
//! others are refused with an error that names the callback, before they have any effect.
//!
//! Attribute functions and error handlers may call all of MPI: the standard forbids nothing there (sections 7.7 and
//! 9.3), and programs free their own communicators in attribute functions and communicate in error handlers. So both
//! run where no call has the world: an error handler as the last step of a call, see
//! [`raise`](crate::errhandler::raise); an attribute function between two steps. Only a call that cannot release the
//! world runs them here. The functions of a generalized request run inside a call that lends them the world
//! ([`World::lend`](super::world::World::lend)). An error of a refused call goes to predefined handlers; a handler of the program is not called
//! inside a callback that runs here.

use super::pthread::this_thread;
use crate::error::Callback;
use crate::objects::Objects;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// The kind of callback that runs, as a number.
static KIND: AtomicU8 = AtomicU8::new(0);
/// The thread that it runs on; 0: none runs. There is at most one, as its call has the world.
static THREAD: AtomicUsize = AtomicUsize::new(0);
/// The objects that local functions use meanwhile; null while one uses them.
static LENT: AtomicPtr<Objects> = AtomicPtr::new(null_mut());

const ALL: [Callback; 3] = [
    Callback::Operation,
    Callback::Attribute,
    Callback::ErrorHandler,
];

/// Runs a callback inside a call. Local functions that it calls use `objects`.
pub(crate) fn run<R>(callback: Callback, objects: &mut Objects, function: impl FnOnce() -> R) -> R {
    let _outer = Outer {
        kind: KIND.swap(callback as u8, Ordering::Relaxed),
        thread: THREAD.swap(this_thread(), Ordering::Relaxed),
        lent: LENT.swap(objects, Ordering::Relaxed),
    };
    function()
}

/// The state of the outer callback, restored on drop. A local function may run another callback (`MPI_Reduce_local`).
struct Outer {
    kind: u8,
    thread: usize,
    lent: *mut Objects,
}

impl Drop for Outer {
    fn drop(&mut self) {
        KIND.store(self.kind, Ordering::Relaxed);
        THREAD.store(self.thread, Ordering::Relaxed);
        LENT.store(self.lent, Ordering::Relaxed);
    }
}

/// Returns the callback that this thread is in, inside a call.
pub(crate) fn current() -> Option<Callback> {
    let here = THREAD.load(Ordering::Relaxed) == this_thread();
    here.then(|| ALL[usize::from(KIND.load(Ordering::Relaxed)) % ALL.len()])
}

/// Takes the objects lent to this thread's callback, until [`give_back`]; meanwhile they are unavailable to
/// others.
pub(super) fn take_lent() -> Option<NonNull<Objects>> {
    current()?;
    NonNull::new(LENT.swap(null_mut(), Ordering::Relaxed))
}

/// Returns objects taken by [`take_lent`].
pub(super) fn give_back(lent: NonNull<Objects>) {
    LENT.store(lent.as_ptr(), Ordering::Relaxed);
}
