//! What simulated devices and wires can do. For `sim` alone; tests set it.

/// What a simulated device takes. Every bound is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceLimits {
    /// The longest frame in bytes; less than [`MIN_MTU`](pombo_kernel::network::MIN_MTU) counts as that.
    pub mtu: usize,
    /// Frames that wait for one wire; beyond it [`ChannelError::Full`](pombo_kernel::ChannelError::Full).
    pub tx_queue: usize,
    /// Frames that wait to be polled at a peer; beyond it they are lost.
    pub rx_queue: usize,
}

impl Default for DeviceLimits {
    fn default() -> Self {
        DeviceLimits {
            mtu: 1500,
            tx_queue: 1024,
            rx_queue: 1024,
        }
    }
}

/// One direction between two peers. Each has a wire of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkParameters {
    /// How long a bit is under way, in nanoseconds.
    pub latency: u64,
    /// Bytes per second; 0 counts as 1. A frame takes one nanosecond at least.
    pub bandwidth: u64,
    /// Bytes that every frame takes on the wire beside its own.
    pub overhead: u64,
}

impl Default for LinkParameters {
    /// Gigabit Ethernet behind a switch.
    fn default() -> Self {
        LinkParameters {
            latency: 10_000,
            bandwidth: 125_000_000,
            overhead: 38,
        }
    }
}
