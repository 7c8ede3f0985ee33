//! All constants that are times or numbers of bytes and decide between ways to wait, to copy or to compute together, in
//! one table. The packages above the kernel use them too; `.ci/run` finds those elsewhere.
//!
//! The kernel and `pombo-transport` cannot import this module: the kernel's [`SHORT_SLEEP`] and [`COPY_PIECE`] are
//! re-exported here, and the poll intervals of a channel made of others (`REMOTE_POLL_INTERVAL`, `IDLE_POLL_INTERVAL`,
//! `CALM_POLLS`) are in the transport's `composite.rs` and `multicast/with_multicast.rs`.
//!
//! A *poll* checks everything that a rank waits for; numbers of polls count those in a row that found nothing. Times
//! are in nanoseconds, unless the type says otherwise.

use core::ops::{Range, RangeInclusive};
use core::time::Duration;

pub use pombo_kernel::channel::SHORT_SLEEP;
pub use pombo_kernel::memory::COPY_PIECE;

// ---- Ranks of a segment --------------------------------------------------------------------------------------------

/// Polls without a pause: a pause may take longer than a small frame needs to the other core.
pub const RANK_POLLS: u32 = 32;
/// Polls before the first yield, if ranks do not share processors: a tenth of a millisecond.
pub const RANK_SPINS: u32 = 256;
/// Yields before the first sleep, if no other task is ready: together far longer than it takes to wake a rank on
/// another processor. If ranks share processors a yield lets the others work.
pub const RANK_YIELDS: u32 = 1000;
/// As [`RANK_YIELDS`], if the quota of the ranks is less than the time of their processors: idle polling uses it up, so
/// the yields last about as long as a wake-up takes.
pub const QUOTA_YIELDS: u32 = 50;
/// Number of times that one poll without a pause checks the rings of known peers: together some hundred nanoseconds.
pub const LOOKS_PER_POLL: u32 = 64;
/// Time from a rank's own mail to its first look for the answer: longer than the peer has the line before it answers at
/// once. A look meanwhile takes the line back, for which the answer then waits. By turns at 165 ns from core to core, at a
/// pause of 80, 128, 160, 200 and 250 ns 8 bytes took 1.01, 1.03, 1.07, 1.19 and 1.36 times as long as at 96 ns, and in
/// another series 1.18 times at 80.
pub const MAIL_PAUSE: u64 = 96;
/// The same over a short line, of which the last turn tells: by turns, at 80, 96 and 112 ns 8 bytes took 68, 77 and 85 ns
/// at 28 ns from core to core. A pause that each rank found by trial was worse in one case or the other: a look too early
/// costs little over a short line, and two transfers over a long one.
pub const NEAR_MAIL_PAUSE: u64 = 80;
/// Time from a mail to the next one, at most, if the line is short: over a long one, a mail and its answer alone take longer.
pub const NEAR_TURN: u64 = 200;
/// The same for each line of the mail behind the first: turns with 256 bytes take some 320 ns over a short line before
/// anything is gained by that, and 720 over a long one; with 1 KiB 430 and 1000.
pub const NEAR_TURN_LINE: u64 = 40;
/// Time between two looks for a mail.
pub const MAIL_INTERVAL: u64 = 24;
/// Number of looks up to which an answer came soon: then each look for the next one prefetches all of it. Over a line that
/// takes long, a look comes before the answer and would take its lines from the peer that writes them. By turns, 64 bytes
/// took 91 ns with it and 95 without at 47 ns from core to core, 341 and 261 at 185 ns.
pub const PROMPT_LOOKS: u32 = 5;
/// Time for which a rank that has caught up with a burst of frames does not look for the next one. A look that finds nothing
/// takes the line that the sender is writing, which then waits for it to come back; after a pause several frames are there.
/// By turns, at a pause of 300, 600, 900 and 1300 ns, messages of 1 KiB passed at 1.07, 1.19, 1.08 and 1.03 times the rate
/// of before at 44 ns from core to core, and at 1.04, 1.15, 1.22 and 1.24 times at 197 ns; of 8 KiB at 1.00 in all cases,
/// and at 1.04, 1.12, 1.18 and 1.19 times. So it is short where frames come fast, and longer otherwise: by turns, with 600 and
/// 1000 ns messages of 1, 2 and 8 KiB passed at 1.03, 1.02 and 1.00 times the rate that they had with 700 ns at 41 ns from
/// core to core.
pub const BURST_PAUSE: u64 = 600;
/// The same over a line that takes long, as the time since the last pause shows, and after long frames. Time without frames
/// counts there too: the first pause of a burst is often this one.
pub const FAR_BURST_PAUSE: u64 = 1000;
/// Time per KiB of such a burst from which on the line counts as one that takes long: messages of 1 KiB take 100 ns each at
/// 44 ns from core to core, and 340 at 208 ns.
pub const FAR_BURST: u64 = 200;
/// Longest time between two frames of a burst for its sender: some times that of a frame over a line that takes long.
pub const BURST_GAP: u64 = 16_000;
/// Shortest frame in bytes of such a burst: messages of 256 and 512 bytes passed at 0.99 and 0.96 of their rate with it. The
/// frames that follow after [`BURST_FRAMES`] lie in cells, as long ones do: by turns, messages of 1, 2 and 4 KiB passed at
/// 1.28, 1.45 and 1.27 times the rate through the ring at 33 ns from core to core.
pub const BURST_FRAME: usize = 1 << 10;
/// Longest frame of a burst in bytes that stays in the ring over a line that takes long: by turns, at 160 to 220 ns from
/// core to core, messages of 1024, 1300, 1500, 2048 and 4096 bytes passed at 1.36, 1.14, 0.99, 0.67 and 0.58 times the rate
/// through cells, of 1024 bytes both ways at 1.18 times.
pub const FAR_RING_FRAME: usize = 1408;
/// Frames in cells that are shorter than this, in bytes, tell how fast a burst comes, as those in the ring do.
pub const MEDIUM_FRAME: usize = 8 << 10;
/// Number of frames from [`BURST_FRAME`] bytes on, without one of the other side in between, that are a burst: more than those
/// of a message of 64 KiB.
pub const BURST_FRAMES: u32 = 6;
/// Time for which a rank compares its clocks at the start.
pub const TICKS_SAMPLE: u64 = 20_000;
/// Polls of a board before a rank with its own processor does something else, at each of its polls: the first yield comes
/// after 1.4 ms. After 0.1 ms, allgather of 1 KiB and alltoall of 64 KiB took 1.8 and 1.5 times as long on two ranks that
/// compute at random between calls; but a barrier of two ranks on one processor, where the program has put them after the
/// start, took 0.1 ms in place of 1.3.
pub const BOARD_SPINS: u32 = 200;
/// Time for which a rank that shares its processor polls a board before it yields, where that pays: shorter than a yield. By
/// turns, barriers, allreduce and allgather of 8 bytes on 4 ranks of 2 cores took 0.82, 0.84 and 0.79 of the time with it at
/// 30 ns from core to core.
pub const SHARED_BOARD_SPIN: u64 = 300;
/// Time in seconds for which a process that ends by an error writes out what its program has printed.
pub const FLUSH_SECONDS: u32 = 2;
/// The longest sleep at a socket: a waker may die, or have no descriptor left, after it has marked the event count
/// awake.
pub const MAX_SOCKET_SLEEP: Duration = Duration::from_millis(100);

// ---- Ranks that are threads ----------------------------------------------------------------------------------------

/// Polls that only spin: few, as threads may outnumber the cores.
pub const THREAD_SPINS: u32 = 8;
/// Polls after these that yield, before the first sleep.
pub const THREAD_YIELDS: u32 = 32;

// ---- Threads that share mailboxes ----------------------------------------------------------------------------------

/// Looks at a lock that another thread holds before this one sleeps.
pub const LOCK_SPINS: u32 = 200;
/// Looks of a parked thread before its first yield: some microseconds, as the driver may just be taking its message.
pub const PARKED_SPINS: u32 = 1000;
/// Yields after these, before it sleeps: threads may outnumber the cores.
pub const PARKED_YIELDS: u32 = 100;
/// Time for which a receiver thread leaves the channel to threads that make calls: some hundred round trips of theirs, of
/// which its waking takes a few percent.
pub const STAND_BY: Duration = Duration::from_micros(100);
/// The shortest and the longest time between two questions for a name that is not there yet.
pub const LOOKUP_INTERVALS: RangeInclusive<u64> = 200_000..=20_000_000;

// ---- Ranks before a network device ---------------------------------------------------------------------------------

/// Polls before the first yield: ten microseconds if a poll reads memory, some tens if it is a system call; longer than
/// a reply in flight takes.
pub const DEVICE_POLLS: u32 = 128;
/// Yields before the first sleep, as long as they pay: far longer than it takes to wake a rank on another processor.
pub const DEVICE_YIELDS: u32 = 500;
/// Time for which frames to a peer go by UDP after the last full one did, where raw Ethernet carries the others: longer
/// than a burst of frames waits for its receiver.
pub const BULK_HOLD: u64 = 200_000;
/// Polls of raw Ethernet per poll of UDP beside it, which is a system call: together some microseconds.
pub const BULK_POLL_INTERVAL: u32 = 32;
/// Polls of both after bulk has arrived: together some hundred microseconds.
pub const BULK_POLLS: u32 = 512;

// ---- Yields --------------------------------------------------------------------------------------------------------

/// First polls that never sleep, where a yield would: the caller may just have been busy.
pub const NO_SLEEP_POLLS: u32 = 2;
/// A sleep in place of a yield: so early the rank may not yet poll everything that it waits for.
pub const BACKOFF_SLEEP: u64 = 1_000_000;
/// One of so many yields is timed: timing costs a tenth of a yield.
pub const SAMPLE_INTERVAL: u8 = 16;
/// A yield takes less than this if only waiting ranks are ready besides.
pub const LONG_YIELD: u64 = 1_000_000;
/// Yields do not pay if two of so many are long, or one soon after a backoff. With fewer long ones a yield still takes
/// less than a sleep on average.
pub const SUSPECT_YIELDS: u8 = 32;
/// The first backoff after a yield just above [`LONG_YIELD`], and proportionally more after longer ones: beside tasks
/// of higher weight a yield may take seconds. Each backoff is twice as long as the previous one if the trial after that
/// fails.
pub const FIRST_BACKOFF: u64 = 4_000_000;
/// Number of times that a backoff doubles: a trial takes a small part of the longest one, and when other tasks end, ranks
/// soon yield again.
pub const MAX_GROWTH: u64 = 3;
/// Exponent of the longest backoff: [`FIRST_BACKOFF`] doubled so often is about half a minute, so a rank that has the
/// processor again soon yields again.
pub const MAX_EXPONENT: u64 = 13;
/// A sleep if the process' descriptor limit is below the number of its descriptors, so that it cannot wait for them.
pub const BLIND_SLEEP: u64 = 1_000_000;

// ---- Dead ranks ----------------------------------------------------------------------------------------------------

/// Interval at which a rank without a launcher checks the others' processes; also its longest sleep.
pub const PROCESS_CHECK_INTERVAL: u64 = 500_000_000;
/// Polls before a rank that never sleeps checks whether that interval is over: a millisecond.
pub const POLLS_PER_PROCESS_CHECK: u32 = 1 << 16;
/// Interval of the checks of connections to ranks of other hosts: each is a system call.
pub const CONNECTION_CHECK_INTERVAL: u64 = 50_000_000;
/// The longest sleep of a rank with such connections: the longest time for which a death stays undetected.
pub const CONNECTION_MAX_SLEEP: u64 = 100_000_000;
/// Polls between two readings of the clock, which tells whether a check of connections or the interface is due.
pub const POLLS_PER_CLOCK: u32 = 64;
/// Interval of the checks of the interface. A rank that only receives learns of a smaller MTU by no other means.
pub const INTERFACE_CHECK_INTERVAL: u64 = 1_000_000_000;
/// Polls of a call between two checks whether the peers that it waits for are lost.
pub const LOSS_CHECK_INTERVAL: u32 = 256;
/// Number of polls after which a rank may sleep in each, so it checks for lost ranks every time, and it sleeps for
/// multicast groups too: it must be below the polls after which the network sleeps, which does not know the groups.
pub const SLEEPING_AFTER: u32 = 400;

// ---- Calls that do not wait ----------------------------------------------------------------------------------------

/// Number of unsuccessful tests per reading of the clock.
pub const TESTS_PER_CLOCK: u32 = 32;
/// A program that makes so many tests in less time does nothing else meanwhile.
pub const BUSY_TESTS_TIME: u64 = 64_000;
/// The longest time that a test of such a program takes, if nothing arrives.
pub const TEST_SLEEP: u64 = 100_000;
/// The shortest and the longest sleep of a progress thread: the shortest follows an event.
pub const PROGRESS_PAUSES: (u64, u64) = (50_000, 1_000_000);

// ---- The start and the end of a job --------------------------------------------------------------------------------

/// Time for which ranks wait for each other at the start, on one host or several.
pub const BOOTSTRAP_TIMEOUT: Duration = Duration::from_secs(60);
/// Time after which a rank that waits for others on its host says so.
pub const BOOTSTRAP_NOTICE: Duration = Duration::from_secs(5);
/// Time for which a rank waits for the hello of another, which is due immediately.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(2);
/// Milliseconds between two attempts to find rank 0 on this host, doubled each time.
pub const BOOTSTRAP_RETRY: RangeInclusive<u64> = 1..=50;
/// Time between two attempts to connect to an unreachable host.
pub const CONNECT_RETRY: u64 = 50_000_000;
/// Pause before an abort: a launcher may end the job immediately and drop output of ranks that it has not yet
/// forwarded.
pub const OUTPUT_PAUSE: u64 = 200_000_000;

// ---- Copies in shared memory, in bytes ------------------------------------------------------------------------------

/// Frames from this length on, in bytes, lie beside the ring, also single ones, if all ranks have processors of their own. By
/// turns, messages of 4 and 6 KiB took 1.18 and 0.83 of the time through the ring at 30 ns from core to core, and in few turns
/// 0.97 and 0.82 at 200 ns.
pub const LONG_FRAME: usize = 5 << 10;
/// Payloads of boards from this length on, in bytes, are stored as long frames are.
pub const LONG_PAYLOAD: usize = 8 << 10;
/// Size in bytes of a mail line, one per pair of ranks, of which a word is no frame's: a message of 1 KiB fits in with its
/// head. By turns, one of 256 bytes took 0.72 and one of 1 KiB 0.85 of the time through the ring at 55 ns from core to
/// core, 0.65 and 0.90 at 182 ns.
pub const MAIL: usize = 1152;
/// Longest mail in bytes whose answer is prefetched so: 256 bytes and a head. At 44 ns from core to core, such an answer
/// took 0.90 of the time that it took without, and one of 1 KiB 1.03.
pub const PREFETCHED_ANSWER: usize = 312;
/// Sizes in bytes of messages for which a single copy is faster if ranks share processors: for shorter ones the system
/// call costs more, and longer ones leave the caches on the way.
pub const SINGLE_COPY_BYTES: Range<usize> = 256 << 10..4 << 20;
/// Size in bytes from which on a single copy is faster if ranks have processors of their own, both send at once, and the line
/// between them is a long one. By turns, with all messages in single copies, those of 256 KiB, 1 MiB and 4 MiB passed both ways
/// at 0.97, 1.38 and 1.44 times the rate at 180 to 220 ns from core to core, those of 1 and 4 MiB at 0.93 and 0.81 times at 30 ns.
pub const BOTH_WAYS_SINGLE_COPY: usize = 512 << 10;
/// Bytes of the cells that a rank uses for its long frames, to whichever ranks they go, in multiples of the size of a
/// processor's second cache: when a cell is written again, its lines have left that of its writer and that of its reader,
/// and a shared cache answers sooner than another processor's. At 30 ns from core to core, messages of 64 KiB through a room
/// of 0.125, 0.5, 1, 2 and 4 times that size took 1.98, 1.49, 1.14, 1.00 and 0.98 of the time, and windows of messages of
/// 8 KiB passed at 0.5, 0.7, 0.9, 1.00 and 0.92 of the rate; frames that fill half of their cells use half of it.
pub const LONG_FRAMES_ROOM: usize = 3;
/// Number of long frames that a rank receives before it gives cells again, at first, where both ranks have given more than
/// their second caches hold or cells come back unused: by turns, at 160 to 200 ns from core to core, windows of messages of
/// 64 KiB both ways passed at 0.76 to 0.83 of the rate if they gave on; those of 8 KiB, which fit, at 1.15 to 1.25 times the rate
/// of frames only lent.
pub const LENT_FRAMES: u32 = 1 << 10;
/// The most of them, after tries that brought nothing: those windows passed at 0.86 to 0.93 of the rate of frames only lent,
/// 0.96 to 0.99 at 25 to 30 ns. With 65536, latency of 64 KiB in turns of 50 ms after such windows gained nothing any more.
pub const MOST_LENT_FRAMES: u32 = 1 << 14;
/// Number of long frames in cells that change hands from one look that tells the distance to the next.
pub const FRAMES_PER_LOOK: u32 = 64;
/// Time in ns of a look at a line that another processor has written, with that of the clock, from which on the line is a
/// long one: such looks took 40 to 50 at 25 to 35 ns from core to core, and 130 to 150 at 165 to 200 ns.
pub const FAR_LINE: u64 = 90;
/// The size in bytes of a second cache where the processor does not tell it.
pub const USUAL_SECOND_CACHE: usize = 1 << 20;
/// Most bytes of these cells of a rank.
pub const LONG_FRAMES_OF_RANK: usize = 4 << 20;
/// Most bytes of the cells of all ranks of a host, as long as each has the fewest.
pub const LONG_FRAMES_OF_HOST: usize = 32 << 20;
/// Bytes of a long frame that are gathered before they are stored past the caches: they stay in the first cache.
pub const STREAMED_BLOCK: usize = 1 << 10;
/// Bytes of a single copy that go through the stack at a time if the destination is not contiguous.
pub const REMOTE_READ_CHUNK: usize = 16 << 10;

// ---- Collective operations, in bytes --------------------------------------------------------------------------------

/// Bytes of the payloads in which data goes over boards from one rank to others. By turns, 64 KiB to one other rank took
/// 0.89 and 0.93 of the time by messages in payloads of 16 KiB, 0.88 and 0.87 in payloads of 32 KiB, and 0.91 and 0.89 in one
/// payload, at 42 and 195 ns from core to core; what ranks exchange goes fastest in as few payloads as possible.
pub const PIPELINED_PAYLOAD: usize = 32 << 10;
/// Number of payloads that each of more than two ranks publishes for all others before it reads: as many cells are used, and
/// stay in the caches. On 8 ranks of 2 cores that computed between calls, all-to-all of 64 KiB took 0.88 of the time that it
/// took with 8, calls and computing together; two ranks take longer with 2 than with 8, and so do reductions of 8 ranks.
pub const EXCHANGED_AHEAD: usize = 2;
/// Bytes of a segment in which algorithm `chain` sends long messages, and two ranks what one of them combines.
pub const CHAIN_SEGMENT: usize = 32 << 10;
/// Bytes of all ranks' contributions together up to which one rank combines all of them.
pub const WHOLE_REDUCTION: usize = 32 << 10;
/// Bytes between what a reduction combines and what it prefetches. By turns, the reduction of 64 KiB by two ranks took 0.98
/// of the time with it at 45 ns from core to core, at 1, 2 and 4 KiB, and 0.87, 0.82 and 0.77 at 197 ns.
pub const COMBINED_AHEAD: usize = 4 << 10;
/// Most bytes that go from one of two such ranks to the other, or are combined there, as one short message of each: it
/// fits into the channel's line for short messages, which takes one transfer where a board takes two. By turns, 128 bytes
/// to 1 KiB took 0.62 to 0.96 of the time over boards at 42 ns from core to core, and 0.70 to 0.88 at 188 ns.
pub const PAIR_DIRECT: usize = 1 << 10;
/// The same for blocks that two such ranks exchange without combining them. Blocks of 8 to 64 bytes took 0.77 to 1.0 of
/// the time over boards at 27 ns from core to core, and 0.65 to 0.96 at 200 ns; blocks of 256 bytes and 1 KiB took 1.01 to
/// 1.10 at 42 ns, and 1.04 to 1.12 at 188 ns.
pub const PAIR_EXCHANGED: usize = 64;
/// The largest piece of scratch memory that is kept for the next operation.
pub const KEPT_SCRATCH: usize = 4 << 20;
/// Nanoseconds that ranks wait for each other's first frames.
pub const CAST_TRIAL: u64 = 1_000_000_000;

// ---- Casts to named groups, in nanoseconds --------------------------------------------------------------------------

/// Time for which a message waits until it can leave as one frame to all hosts: longer than losses take to be repaired.
pub const CAST_PATIENCE: u64 = 20_000_000;
/// Time for which messages do not wait after one did in vain: processes that compute do not take theirs meanwhile.
pub const CAST_BACK_OFF: u64 = 200_000_000;

// ---- Adaptive trees, in nanoseconds ---------------------------------------------------------------------------------

/// Least time between two probes of a link.
pub const PROBE_INTERVAL: u64 = 20_000_000;
/// Time between two polls that matters to no latency between hosts.
pub const LATENCY_NOISE: u64 = 100_000;
/// Time for which the frames of a freed communicator's tree are still taken: other ranks free it later.
pub const FREED_TREE: u64 = 1_000_000_000;

/// Whether this build has what is there for speed alone. A rank without it never looks for a mail, so none is sent to it,
/// and refuses to read the memory of others, who send copies then.
pub const FAST_PATHS: bool = cfg!(feature = "fast-paths");
