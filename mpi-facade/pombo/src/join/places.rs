//! The job, as the launcher's side of `pombo join` sees it. `run` has it.

/// What the server needs of its job.
pub(crate) trait Places {
    /// Returns the number of this process's descriptor of the job's memory.
    fn memory(&self) -> i32;
    /// Returns whether the process at that place has left in good order.
    fn has_left(&self, place: usize) -> bool;
    /// Marks the process at that place as dead for all others.
    fn mark_dead(&self, place: usize);
}
