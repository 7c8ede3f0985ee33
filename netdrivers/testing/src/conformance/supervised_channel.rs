//! Ranks over a network that can lose frames, as the tests of drivers run them: a reliable channel, and a supervisor
//! that reports who has left, as a launcher does.

use pombo_kernel::channel::{Channel, ChannelError, Event, WaitSet};
use pombo_kernel::header::Peer;
use pombo_kernel::network::Network;
use pombo_netdrivers::HeapStorage;
use pombo_transport::reliable::{Arrived, Reliable, Windows};
use std::sync::{Arc, Mutex};
use std::thread::panicking;

/// Reports which peers have left, and drives what a network needs besides.
pub trait Supervisor: 'static {
    /// Returns the peers that have left, in order; a rank adds itself when it leaves.
    fn departed(&self) -> &Mutex<Vec<Peer>>;

    /// Called before every poll.
    fn before_poll(&self) {}

    /// Called before every wait.
    fn before_wait(&self) {}

    /// Called when a rank has left. A sleeping rank does not see the list, so the supervisor must wake it.
    fn on_departure(&self) {}
}

/// A rank with a supervisor: it leaves when its frames have arrived, and the others are notified.
pub struct SupervisedChannel<N: Network, Z: Windows, L: Supervisor> {
    channel: Reliable<N, Z, HeapStorage>,
    supervisor: Arc<L>,
    reported: usize,
}

impl<N: Network, Z: Windows, L: Supervisor> SupervisedChannel<N, Z, L> {
    /// Wraps a network.
    ///
    /// # Panics
    /// The network has more peers than the windows have places.
    pub fn new(network: N, supervisor: Arc<L>) -> Self {
        SupervisedChannel {
            channel: Reliable::new(network, 0x5eed).expect("places for all peers"),
            supervisor,
            reported: 0,
        }
    }

    /// Returns the reliable channel.
    pub fn reliable(&self) -> &Reliable<N, Z, HeapStorage> {
        &self.channel
    }

    /// Returns the reliable channel, for measurements: without this wrapper it does not learn who has left.
    pub fn reliable_mut(&mut self) -> &mut Reliable<N, Z, HeapStorage> {
        &mut self.channel
    }

    /// Returns whether a rank has left since the last poll. The wake-up for it may have come during that poll, after
    /// the poll had read the list and before it looked for frames.
    fn has_pending(&self) -> bool {
        let departed = self
            .supervisor
            .departed()
            .lock()
            .expect("nobody panics with it");
        departed.len() > self.reported
    }
}

impl<N: Network, Z: Windows, L: Supervisor> Channel for SupervisedChannel<N, Z, L> {
    type Arrival<'a> = Arrived<'a, N::Frame<'a>>;

    pombo_kernel::channel_defaults! { poll_with, wait_timeout, wait_with }
    pombo_kernel::forward_channel! { channel: me, peers, limit, supports_single_copy, favours_early_data, try_send, set_corked, now }

    fn poll(&mut self, f: impl FnMut(Event<Self::Arrival<'_>>)) -> Result<bool, ChannelError> {
        let departed = self
            .supervisor
            .departed()
            .lock()
            .expect("nobody panics with it");
        for peer in &departed[self.reported..] {
            self.channel.declare_lost(*peer);
        }
        self.reported = departed.len();
        drop(departed);
        self.supervisor.before_poll();
        self.channel.poll(f)
    }

    fn wait(&mut self, idle: u32) -> Result<(), ChannelError> {
        self.supervisor.before_wait();
        match self.has_pending() {
            true => Ok(()),
            false => self.channel.wait(idle),
        }
    }

    fn wait_sources(&mut self) -> Option<WaitSet> {
        self.supervisor.before_wait();
        let most = if self.has_pending() { 0 } else { u64::MAX };
        Some(self.channel.wait_sources()?.at_most(most))
    }
}

impl<N: Network, Z: Windows, L: Supervisor> Drop for SupervisedChannel<N, Z, L> {
    fn drop(&mut self) {
        let mut idle = 0;
        while !panicking() && !self.channel.is_settled() {
            match self.poll(|_| ()) {
                Ok(true) => idle = 0,
                _ => self.wait(idle).expect("it is up"),
            }
            idle += 1;
        }
        if let Ok(mut departed) = self.supervisor.departed().lock() {
            departed.push(self.channel.me());
        }
        self.supervisor.on_departure();
    }
}
