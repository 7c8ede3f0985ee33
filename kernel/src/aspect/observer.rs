//! Counters of a communicator: none ([`Unobserved`]), or [`Statistics`].

/// The policy family.
pub trait Observer: 'static {
    /// The counters.
    type Counters: Counters;
}

/// Counts nothing and takes no bytes.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

/// Counts everything in [`Statistics`].
#[derive(Clone, Copy, Debug)]
pub struct Counting;

impl Observer for Unobserved {
    type Counters = ();
}

impl Observer for Counting {
    type Counters = Statistics;
}

/// An event that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Counter {
    /// A send of this many bytes was accepted.
    Sent(usize),
    /// A receive got this many bytes.
    Received(usize),
    /// A message without a posted receive arrived: its payload in bytes (0 if only announced), and the new length of
    /// the unexpected queue.
    Unexpected(usize, usize),
    /// A receive was appended to the expected queue, whose new length this is.
    Expected(usize),
    /// An operation was opened; this many are open now.
    Operation(usize),
    /// One of the queues was searched.
    Searched,
    /// A peer was notified that messages are held for lack of credit.
    Held,
    /// A peer was asked for a held message.
    Pulled,
    /// A frame was dropped because it violates the protocol.
    Rejected,
}

/// Counters of a communicator.
pub trait Counters {
    /// Creates counters at zero.
    fn new() -> Self;
    /// Counts an event.
    fn count(&mut self, counter: Counter);
    /// Returns the statistics, or `None` if nothing is counted.
    fn statistics(&self) -> Option<Statistics>;
}

impl Counters for () {
    fn new() -> Self {}

    #[inline]
    fn count(&mut self, _: Counter) {}

    fn statistics(&self) -> Option<Statistics> {
        None
    }
}

/// What a communicator has done so far. Counters wrap after 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Statistics {
    /// Sends accepted.
    pub sent: u64,
    /// Bytes of these sends, without headers.
    pub sent_bytes: u64,
    /// Receives that got a message.
    pub received: u64,
    /// Bytes that these receives copied to their buffers.
    pub received_bytes: u64,
    /// Messages that arrived before their receive.
    pub unexpected: u64,
    /// Payload bytes of these messages that went into the pool.
    pub unexpected_bytes: u64,
    /// Largest length of the unexpected queue.
    pub unexpected_high: usize,
    /// Largest length of the expected queue.
    pub expected_high: usize,
    /// Largest number of operations under way or unclaimed.
    pub operations_high: usize,
    /// Searches of the two queues, that is, match attempts.
    pub searches: u64,
    /// Notifications to peers that messages are held for lack of credit.
    pub holds: u64,
    /// Queries to peers for held messages.
    pub pulls: u64,
    /// Frames dropped because they violate the protocol.
    pub rejected: u64,
}

impl Counters for Statistics {
    fn new() -> Self {
        Statistics::default()
    }

    #[inline]
    fn count(&mut self, counter: Counter) {
        let one = |total: &mut u64| *total = total.wrapping_add(1);
        match counter {
            Counter::Sent(bytes) => {
                one(&mut self.sent);
                self.sent_bytes = self.sent_bytes.wrapping_add(bytes as u64);
            }
            Counter::Received(bytes) => {
                one(&mut self.received);
                self.received_bytes = self.received_bytes.wrapping_add(bytes as u64);
            }
            Counter::Unexpected(bytes, waiting) => {
                one(&mut self.unexpected);
                self.unexpected_bytes = self.unexpected_bytes.wrapping_add(bytes as u64);
                self.unexpected_high = self.unexpected_high.max(waiting);
            }
            Counter::Expected(waiting) => self.expected_high = self.expected_high.max(waiting),
            Counter::Operation(open) => self.operations_high = self.operations_high.max(open),
            Counter::Searched => one(&mut self.searches),
            Counter::Held => one(&mut self.holds),
            Counter::Pulled => one(&mut self.pulls),
            Counter::Rejected => one(&mut self.rejected),
        }
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(*self)
    }
}
