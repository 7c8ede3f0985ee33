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
//! `MPI_Init_thread` sets the level. Up to `MPI_THREAD_FUNNELED` the world is in one atomic pointer, and a call takes
//! it by a plain load and store: the fast path. With `MPI_THREAD_SERIALIZED` it is in another one, from which a call
//! takes it by an exchange: a thread that calls at the wrong time gets an error in place of a corrupt queue. Where
//! threads may call concurrently, and where there is a progress thread, the world is behind the lock. Calls of these two
//! kinds find the first pointer null and take the slow path, so the fast path does not pay for it.
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
