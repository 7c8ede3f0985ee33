//! What the driver needs of the machine beside its device. Images implement it.

/// The processor that a driver runs on.
pub trait Processor: 'static {
    /// Returns the time in nanoseconds of a monotonic clock with an arbitrary start.
    fn now(&self) -> u64;

    /// Waits until an interrupt of the device, or until [`Processor::now`] has reached `until`; an early return is
    /// always allowed. Without interrupts it returns at once.
    fn sleep(&mut self, until: u64);
}
