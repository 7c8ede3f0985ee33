//! The numbers by which ranks wait, in one table: how often they look before they yield and sleep, how long they sleep,
//! and how often they look who is gone. Whoever waits above the kernel takes them from here.
//!
//! The kernel and `pombo-transport` may not import this: the kernel's [`SHORT_SLEEP`] is shown here, and the turns of
//! two channels that are one (`REMOTE_POLL_INTERVAL`, `CALM_POLLS`) are in the transport's `composite.rs`.
//!
//! A *poll* is a look at all that a rank waits for; counts of polls are of those in a row that found nothing. Times are
//! nanoseconds, if the type does not say otherwise.

use core::ops::RangeInclusive;
use core::time::Duration;

pub use pombo_kernel::channel::SHORT_SLEEP;

// ---- Ranks of a segment --------------------------------------------------------------------------------------------

/// Polls without a pause: a pause may take longer than a small frame needs to the other core.
pub const RANK_POLLS: u32 = 32;
/// Polls before the first yield, where ranks do not share processors: some microseconds.
pub const RANK_SPINS: u32 = 256;
/// Yields before the first sleep, where nobody else is ready: together far longer than waking a rank on another
/// processor takes. Where ranks share processors a yield lets the others work.
pub const RANK_YIELDS: u32 = 1000;
/// The same where the ranks are granted less time than their processors have: looking in vain uses it up, so about as
/// long as a wake-up takes.
pub const QUOTA_YIELDS: u32 = 50;
/// Looks at the rings of known peers that are one poll without a pause: together some hundred nanoseconds.
pub const LOOKS_PER_POLL: u32 = 64;
/// Looks for what others publish on a board before a rank that has a processor of its own does something else: about as
/// long as two transfers of a line from one processor to another.
pub const BOARD_SPINS: u32 = 200;
/// The longest sleep at a socket: a waker may die, or find no descriptor, when the event count tells already that it
/// woke us.
pub const MAX_SOCKET_SLEEP: Duration = Duration::from_millis(100);

// ---- Ranks that are threads ----------------------------------------------------------------------------------------

/// Polls that only spin. Threads may outnumber the cores, so they are few.
pub const THREAD_SPINS: u32 = 8;
/// Polls after these that yield, before the first sleep.
pub const THREAD_YIELDS: u32 = 32;

// ---- Ranks before a network device ---------------------------------------------------------------------------------

/// Polls before the first yield: ten microseconds where a look is a read of memory, some tens where it is a system
/// call; longer than an answer takes that is under way.
pub const DEVICE_POLLS: u32 = 128;
/// Yields before the first sleep, as long as they pay: far longer than waking a rank on another processor takes.
pub const DEVICE_YIELDS: u32 = 500;

// ---- Yields --------------------------------------------------------------------------------------------------------

/// Polls after which nobody sleeps yet, instead of a yield: who waits may just have had something to do.
pub const NO_SLEEP_POLLS: u32 = 2;
/// A sleep in place of a yield: so early who waits may not yet look for all that it waits for.
pub const BACKOFF_SLEEP: u64 = 1_000_000;
/// Of so many yields one is timed: that takes a tenth of the time of a yield.
pub const SAMPLE_INTERVAL: u8 = 16;
/// A yield takes less where nobody else is ready but ranks that wait.
pub const LONG_YIELD: u64 = 1_000_000;
/// Yields do not pay where of so many two are long, or one soon after a backoff. With fewer long ones a yield still
/// takes less than a sleep, on average.
pub const SUSPECT_YIELDS: u8 = 32;
/// The first backoff after a yield that is hardly long, and in proportion after longer ones: beside tasks of more
/// weight a yield may take seconds. Each one is twice as long as the one before, if a trial of the same length fails.
pub const FIRST_BACKOFF: u64 = 8_000_000;
/// A backoff doubles so often: a trial takes little of the last one.
pub const MAX_GROWTH: u64 = 5;
/// The longest backoff is [`FIRST_BACKOFF`] doubled so often, about half a minute: who has the processor again yields
/// before long.
pub const MAX_EXPONENT: u64 = 12;
/// A sleep where the process may not have as many descriptors as it has, so that it cannot wait for them.
pub const BLIND_SLEEP: u64 = 1_000_000;

// ---- Who is gone ---------------------------------------------------------------------------------------------------

/// Between two looks of a rank without a launcher at the others' processes; also its longest sleep.
pub const PROCESS_CHECK_INTERVAL: u64 = 500_000_000;
/// Polls before a rank that never sleeps asks whether that time is over: a millisecond.
pub const POLLS_PER_PROCESS_CHECK: u32 = 1 << 16;
/// Between two looks at the connections to ranks of other hosts: a system call each.
pub const CONNECTION_CHECK_INTERVAL: u64 = 50_000_000;
/// The longest sleep of a rank that has such connections: so long a death stays unnoticed.
pub const CONNECTION_MAX_SLEEP: u64 = 100_000_000;
/// Polls between two looks at the clock, which says whether a look at connections or the interface is due.
pub const POLLS_PER_CLOCK: u32 = 64;
/// Between two looks at the interface. Whoever only receives learns from nothing else that it carries less.
pub const INTERFACE_CHECK_INTERVAL: u64 = 1_000_000_000;
/// Polls between two looks of a call whether those are gone without whom what it waits for does not come.
pub const LOSS_CHECK_INTERVAL: u32 = 256;
/// After so many polls a rank may sleep in each, so it looks every time who is gone; and it sleeps for multicast groups
/// too: before the network does, which does not hear of them.
pub const SLEEPING_AFTER: u32 = 400;

// ---- Calls that do not wait ----------------------------------------------------------------------------------------

/// So many answers that nothing is over are worth a look at the time.
pub const TESTS_PER_CLOCK: u32 = 32;
/// A program that gets so many of them in less does nothing else meanwhile.
pub const BUSY_TESTS_TIME: u64 = 64_000;
/// A call of such a program takes so long at most, where nothing arrives.
pub const TEST_SLEEP: u64 = 100_000;
/// A thread for progress sleeps so long after it had something to do, and at most.
pub const PROGRESS_PAUSES: (u64, u64) = (50_000, 1_000_000);

// ---- The start and the end of a job --------------------------------------------------------------------------------

/// Ranks wait so long for each other at the start, on one host or several.
pub const BOOTSTRAP_TIMEOUT: Duration = Duration::from_secs(60);
/// A rank says hello at once; whoever does not is not waited for.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(2);
/// Milliseconds between two attempts to find rank 0 on this host: twice as long each time.
pub const BOOTSTRAP_RETRY: RangeInclusive<u64> = 1..=50;
/// Between two attempts to connect to a host that is not reached.
pub const CONNECT_RETRY: u64 = 50_000_000;
/// Before an abort, for a launcher that ends the job at once, and with it what ranks have said and it has not passed
/// on.
pub const OUTPUT_PAUSE: u64 = 200_000_000;
