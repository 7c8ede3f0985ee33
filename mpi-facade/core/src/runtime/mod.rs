//! The runtime of a process, between a C call and MPI's state.
//!
//! - [`world`]: that state, and the only access to it. Every call that needs it enters here.
//! - [`lock`]: serialises calls where several threads may be inside MPI.
//! - [`callback`]: callbacks of the program, and what they may call.
//! - [`lock_free_queries`]: functions that any thread may call at any time, and [`phase`], which answers them.
//! - [`progress`]: how a call waits; `progress_thread` makes progress between calls.
//! - `pthread`: the functions of the C library's threads that all this needs.
//!
//! # Levels of thread support
//! `MPI_Init_thread` sets the level. Up to `MPI_THREAD_SERIALIZED` the world is in one atomic pointer, and a call takes
//! it by a plain load and store: the fast path. Where threads may call concurrently, and where there is a progress
//! thread, the world is behind the lock; a call then finds the pointer null and takes the slow path. So the fast path
//! does not pay for the slow one.
//!
//! `MPI_THREAD_MULTIPLE` is not granted yet. A waiting call keeps the lock, so threads of a rank that wait for each
//! other would deadlock. And calls of several steps (`MPI_Comm_dup`) assume that no other call runs.

pub(crate) mod callback;
mod lock;
pub(crate) mod lock_free_queries;
pub(crate) mod phase;
mod progress;
#[cfg(feature = "progress-thread")]
pub(crate) mod progress_thread;
pub(crate) mod pthread;
#[cfg(test)]
mod tests;
pub(crate) mod world;
