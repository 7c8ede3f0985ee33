//! The runtime of a process: what stands between a C call and MPI's state.
//!
//! - [`world`]: that state, and the only way to it. Every call that needs it enters here.
//! - [`lock`]: whom calls wait for where several threads may be inside MPI.
//! - [`callback`]: functions of the program that MPI calls, and what these may call.
//! - [`lock_free_queries`]: what any thread may ask at any time, and [`phase`], from which it is answered.
//! - [`progress`]: how a call waits; `progress_thread`: who makes progress while no call does.
//! - `pthread`: what all that needs of the C library's threads.
//!
//! # Levels of thread support
//! The level is a value, set by `MPI_Init_thread`. Up to `MPI_THREAD_SERIALIZED` the world lies in the open, and a call takes
//! it by a plain load and store. Where threads may call at once, and where there is a thread for progress, it lies
//! behind the lock; who looks for it in the open finds nothing and takes the long way. So the short way pays nothing for
//! the long one.
//!
//! `MPI_THREAD_MULTIPLE` is not granted yet. A call that waits keeps the lock: threads of a rank that wait for each other
//! would wait for ever. And calls of several steps (`MPI_Comm_dup`) count on being alone.

pub(crate) mod callback;
mod lock;
pub(crate) mod lock_free_queries;
pub(crate) mod phase;
mod progress;
#[cfg(feature = "progress-thread")]
pub(crate) mod progress_thread;
mod pthread;
#[cfg(test)]
mod tests;
pub(crate) mod world;
