//! The launcher's look at its own ranks: at intervals for deadlocks, and where the user asks.

use std::time::{Duration, Instant};

use pombo_netdrivers::shm::Segment;

use super::inquiry::{Inquiry, PATIENCE, POLL_INTERVAL};
use super::text::text;
use super::verdict::{Verdict, Watch};

/// Time between two looks for a deadlock.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);
/// How long such a look waits for answers: a rank that computes gives none.
pub(super) const BRIEF: Duration = Duration::from_millis(150);

/// Asks the ranks without making the launcher wait.
pub(crate) struct Watcher {
    next: Instant,
    open: Option<Inquiry>,
    /// Whether the user wants to see the answers.
    is_wanted: bool,
    watch: Watch,
}

/// What the answers say.
pub(crate) enum Finding {
    /// All ranks wait for each other: the text says for what.
    Deadlock(String),
    /// What every rank waits for, as the user has asked.
    Report(String),
}

impl Watcher {
    pub(crate) fn new() -> Watcher {
        Watcher {
            next: Instant::now() + INTERVAL,
            open: None,
            is_wanted: false,
            watch: Watch::default(),
        }
    }

    /// Asks for the user.
    pub(crate) fn ask(&mut self, segment: &Segment) {
        self.is_wanted = true;
        self.open = Some(Inquiry::begin(segment));
        self.next = Instant::now();
    }

    /// Returns when [`Watcher::turn`] has something to do.
    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    /// Asks if it is time to, or looks for answers; returns what they say when they are there.
    pub(crate) fn turn(&mut self, segment: &Segment) -> Option<Finding> {
        if Instant::now() < self.next {
            return None;
        }
        let inquiry = self.open.get_or_insert_with(|| Inquiry::begin(segment));
        let patience = if self.is_wanted { PATIENCE } else { BRIEF };
        let Some(ranks) = inquiry.poll(segment, patience) else {
            self.next = Instant::now() + POLL_INTERVAL;
            return None;
        };
        self.open = None;
        self.next = Instant::now() + INTERVAL;
        if std::mem::take(&mut self.is_wanted) {
            return Some(Finding::Report(text(&ranks)));
        }
        match self.watch.judge(&ranks) {
            Verdict::Deadlock(who) => Some(Finding::Deadlock(who)),
            Verdict::None | Verdict::Known => None,
        }
    }
}
