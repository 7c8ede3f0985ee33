//! Limits of simulated devices and links. Only `sim` uses them; tests set them.

/// The capacity of a simulated device. Every bound is at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceLimits {
    /// The longest frame in bytes; a value below [`MIN_MTU`](pombo_kernel::network::MIN_MTU) counts as that.
    pub mtu: usize,
    /// Number of frames that wait for one link; beyond it [`ChannelError::Full`](pombo_kernel::ChannelError::Full).
    pub tx_queue: usize,
    /// Number of frames that wait to be polled at a peer; beyond it they are lost.
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

/// One direction between two peers. Each direction has a link of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkParameters {
    /// Propagation delay of a bit, in nanoseconds.
    pub latency: u64,
    /// Bytes per second; 0 counts as 1. A frame takes at least one nanosecond.
    pub bandwidth: u64,
    /// Bytes that every frame takes on the link in addition to its own.
    pub overhead: u64,
}

impl Default for LinkParameters {
    /// Returns the parameters of gigabit Ethernet behind a switch.
    fn default() -> Self {
        LinkParameters {
            latency: 10_000,
            bandwidth: 125_000_000,
            overhead: 38,
        }
    }
}
