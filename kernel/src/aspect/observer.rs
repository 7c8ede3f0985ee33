//! What a communicator counts about itself: nothing ([`Unobserved`]), or [`Statistics`].

/// The policy family.
pub trait Observer: 'static {
    /// Where it counts.
    type Counters: Counters;
}

/// Counts nothing; takes no bytes.
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

/// Something worth counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Counter {
    /// A send was taken, of so many bytes.
    Sent(usize),
    /// A receive got so many bytes.
    Received(usize),
    /// A message came that nobody had asked for, with so many bytes of payload (none if it was announced); so many
    /// wait now.
    Unexpected(usize, usize),
    /// A receive was put into the expected queue, which is so long now.
    Expected(usize),
    /// An operation was opened; there are so many now.
    Operation(usize),
    /// One of the queues was searched.
    Searched,
    /// A peer was told that messages are held for want of credit.
    Held,
    /// A peer was asked for a held message.
    Pulled,
    /// A frame was dropped because no rule explains it.
    Rejected,
}

/// Counts.
pub trait Counters {
    /// Nothing counted yet.
    fn new() -> Self;
    /// Counts.
    fn count(&mut self, counter: Counter);
    /// What was counted, if anything is.
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
    /// Sends taken.
    pub sent: u64,
    /// Their bytes, without headers.
    pub sent_bytes: u64,
    /// Receives that got a message.
    pub received: u64,
    /// The bytes that went into their buffers.
    pub received_bytes: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// The payload bytes that took place in the pool.
    pub unexpected_bytes: u64,
    /// The longest that the unexpected queue was.
    pub unexpected_high: usize,
    /// The longest that the expected queue was.
    pub expected_high: usize,
    /// The most operations under way or unclaimed.
    pub operations_high: usize,
    /// Searches of the two queues: match attempts.
    pub searches: u64,
    /// Times that a peer was told that messages are held for want of credit.
    pub holds: u64,
    /// Questions for held messages.
    pub pulls: u64,
    /// Frames dropped because no rule explains them.
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
