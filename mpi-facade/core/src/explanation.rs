//! What a rank that waits says about itself when the launcher asks: the call and where the program made it, what it
//! waits for and since when, and what its queues hold. It costs nothing before a question but a look at a word in shared
//! memory by a rank that has found nothing for long.
//!
//! The answer is one JSON object of at most [`MAX_ANSWER`] bytes; `pombo explain` reads it:
//!
//! ```json
//! {"world_rank":0,"call":"MPI_Recv","caller":"heat+0x12ab","quiet_ns":3000000000,
//!  "since_ns":52000000000,"under_way":false,
//!  "waits_for":[{"operation":"receive","rank":1,"tag":5,"communicator":"MPI_COMM_WORLD"}],"more":0,
//!  "posted":[],"posted_total":1,"unexpected":[{"operation":"message","rank":1,"tag":6,"bytes":4,"communicator":
//!  "MPI_COMM_WORLD"}],"unexpected_total":1}
//! ```
//!
//! `rank` and `tag` are missing where any is wanted; `bytes` where they are unknown. `since_ns` is the time of the
//! monotonic clock at which anything arrived last; `under_way` tells whether another host has not acknowledged all that
//! this rank sent to it.

use crate::comm::Comms;
use crate::constants::{Comm, MPI_COMM_SELF, MPI_COMM_WORLD, Request};
use crate::message_header::{MpiHeader, MpiPattern};
use crate::request::ticket;
use crate::runtime::world::World;
use alloc::vec::Vec;
use pombo_job::call_site::{CallSite, call_site};
use pombo_job::{Launcher, WorldChannel};
use pombo_kernel::Peer;
use pombo_kernel::facade::Awaited;
use pombo_kernel::text::{Hexadecimal, WriteText, fill};
use pombo_netdrivers::shm::{MAX_ANSWER, Question, Shm};
use pombo_netdrivers::tuning::SLEEPING_AFTER;
use pombo_netdrivers::wait::now;

/// Most entries of each list in an answer.
const ENTRIES: usize = 8;
/// Most bytes of a communicator's name in an answer.
const NAME: usize = 48;

/// The wait of the current call.
#[derive(Default)]
pub(crate) struct WaitRecord {
    /// Number of polls without success at the last look, and the time of the first of them at which it was long.
    idle: u32,
    since: u64,
    /// What the call waits for, while an answer is being written.
    awaited: Option<Vec<Entry>>,
}

/// A message or an operation.
struct Entry {
    operation: &'static str,
    /// The context, from which the communicator follows.
    context: u32,
    peer: Option<Peer>,
    tag: Option<u32>,
    bytes: Option<u64>,
}

impl Entry {
    fn of_communicator(operation: &'static str, context: u32) -> Self {
        Entry {
            operation,
            context,
            peer: None,
            tag: None,
            bytes: None,
        }
    }

    fn of_pattern(operation: &'static str, pattern: MpiPattern) -> Self {
        let (peer, tag) = pattern.wanted();
        Entry {
            operation,
            context: pattern.context(),
            peer,
            tag,
            bytes: None,
        }
    }

    fn of_message(
        operation: &'static str,
        peer: Peer,
        header: MpiHeader,
        bytes: Option<u64>,
    ) -> Self {
        Entry {
            operation,
            context: header.context.get(),
            peer: Some(peer),
            tag: Some(header.tag.get()),
            bytes,
        }
    }
}

/// Notes that a call has polled `idle` times without success, and answers an open question; `describe` adds what the
/// call waits for. Calls that wait do this at intervals.
#[cold]
pub(crate) fn attend(world: &mut World, idle: u32, describe: impl FnOnce(&mut World)) {
    let record = &mut world.wait_record;
    if idle < SLEEPING_AFTER {
        return;
    }
    // Each wait comes by the first of these counts: one that ends right after it must not look as the next one does.
    if idle <= SLEEPING_AFTER || idle < record.idle || record.since == 0 {
        record.since = now();
    }
    record.idle = idle;
    let Some(question) = asked_in(world).open_question() else {
        return;
    };
    world.wait_record.awaited = Some(Vec::new());
    describe(world);
    answer(world, question);
}

/// Adds a request to the answer that is being written, if there is one and if it is a message.
#[cold]
pub(crate) fn add_request(world: &mut World, request: Request) {
    if world.wait_record.awaited.is_some()
        && let Some(awaited) = ticket(request).and_then(|it| world.kernel.awaited(it))
    {
        add(
            world,
            match awaited {
                Awaited::Message(pattern) => Entry::of_pattern("receive", pattern),
                Awaited::Data(peer, header) => {
                    Entry::of_message("data of a receive", peer, header, None)
                }
                Awaited::Receiver(peer, header) => Entry::of_message("send", peer, header, None),
            },
        );
    }
}

/// Adds the message of a probe.
#[cold]
pub(crate) fn add_probe(world: &mut World, pattern: MpiPattern) {
    add(world, Entry::of_pattern("probe", pattern));
}

/// Adds a collective operation of the communicator with that context.
#[cold]
pub(crate) fn add_collective(world: &mut World, context: u32) {
    add(world, Entry::of_communicator("collective", context));
}

/// Adds a generalized request, which other threads may complete.
#[cold]
pub(crate) fn add_generalized(world: &mut World) {
    add(
        world,
        Entry::of_communicator("generalized request", u32::MAX),
    );
}

fn add(world: &mut World, entry: Entry) {
    if let Some(awaited) = &mut world.wait_record.awaited {
        awaited.push(entry);
    }
}

/// Returns the memory in which this rank is asked: the launcher's, or that of the ranks of this host.
fn asked_in(world: &mut World) -> &mut Shm {
    let World {
        launcher, kernel, ..
    } = world;
    match launcher.as_mut().and_then(Launcher::shm) {
        Some(shm) => shm,
        None => kernel.channel_mut().memory(),
    }
}

fn answer(world: &mut World, question: Question) {
    let awaited = world.wait_record.awaited.take().unwrap_or_default();
    let Json(text) = text(world, &awaited);
    asked_in(world).answer(question, &text);
}

/// What an answer tells.
struct Answer<'a> {
    me: Peer,
    site: CallSite,
    since: u64,
    under_way: bool,
    awaited: &'a [Entry],
    /// The first receives without a message, and the number of all.
    posted: (Vec<Entry>, usize),
    /// The first messages without a receive, and the number of all.
    unexpected: (Vec<Entry>, usize),
}

/// Returns the answer. It is complete: where names are so long that the lists do not fit, they have fewer entries.
fn text(world: &mut World, awaited: &[Entry]) -> Json {
    let is_entry = |name: &str| name.starts_with("MPI_") || name.starts_with("PMPI_");
    let (mut posted, mut unexpected) = (Vec::new(), Vec::new());
    let posted_total = world.kernel.for_each_posted(|pattern| {
        if posted.len() < ENTRIES {
            posted.push(Entry::of_pattern("receive", pattern));
        }
    });
    let unexpected_total = world.kernel.for_each_unexpected(|envelope| {
        if unexpected.len() < ENTRIES {
            let (peer, bytes) = (envelope.peer(), envelope.len() as u64);
            let entry = Entry::of_message("message", peer, envelope.header(), Some(bytes));
            unexpected.push(entry);
        }
    });
    let answer = Answer {
        me: world.kernel.me(),
        site: call_site(is_entry).unwrap_or_default(),
        since: world.wait_record.since,
        under_way: world.kernel.channel().has_frames_under_way(),
        awaited,
        posted: (posted, posted_total),
        unexpected: (unexpected, unexpected_total),
    };
    let comms = &mut world.objects.comms;
    let mut entries = ENTRIES;
    loop {
        let text = answer.text(comms, entries);
        if text.0.len() <= MAX_ANSWER || entries == 0 {
            return text;
        }
        entries /= 2;
    }
}

impl Answer<'_> {
    /// Returns the answer with at most that many entries in each list.
    fn text(&self, comms: &mut Comms, entries: usize) -> Json {
        let mut text = Json(Vec::with_capacity(MAX_ANSWER));
        let function = self.site.function.as_str();
        fill!(
            &mut text,
            "{\"world_rank\":{},\"call\":\"{}\",\"caller\":",
            self.me,
            function.strip_prefix('P').unwrap_or(function)
        );
        text.put_string(self.site.caller.as_bytes().iter().copied());
        let under_way = if self.under_way { "true" } else { "false" };
        let since = self.since;
        fill!(
            &mut text,
            ",\"quiet_ns\":{},\"since_ns\":{},\"under_way\":{},\"waits_for\":",
            now().saturating_sub(since),
            since,
            under_way
        );
        write_list(&mut text, comms, self.awaited, entries);
        let more = self.awaited.len().saturating_sub(entries);
        fill!(&mut text, ",\"more\":{},\"posted\":", more);
        write_list(&mut text, comms, &self.posted.0, entries);
        fill!(
            &mut text,
            ",\"posted_total\":{},\"unexpected\":",
            self.posted.1
        );
        write_list(&mut text, comms, &self.unexpected.0, entries);
        fill!(&mut text, ",\"unexpected_total\":{}}", self.unexpected.1);
        text
    }
}

fn write_list(text: &mut Json, comms: &mut Comms, entries: &[Entry], most: usize) {
    text.write_text("[");
    for (place, entry) in entries.iter().take(most).enumerate() {
        fill!(
            text,
            "{}{\"operation\":\"{}\"",
            if place == 0 { "" } else { "," },
            entry.operation
        );
        // Tags of collective operations are the library's own.
        let tag = entry.tag.filter(|_| entry.context.is_multiple_of(2));
        if let Some(tag) = tag {
            fill!(text, ",\"tag\":{}", tag);
        }
        if let Some(bytes) = entry.bytes {
            fill!(text, ",\"bytes\":{}", bytes);
        }
        if let Some((comm, record)) = comms.of_context(entry.context) {
            if let Some(peer) = entry.peer {
                fill!(text, ",\"rank\":{}", record.rank_of(peer));
            }
            text.write_text(",\"communicator\":");
            write_communicator(text, comm, record.name.as_deref());
        }
        text.write_text("}");
    }
    text.write_text("]");
}

/// Writes the name of a communicator, or its handle if it has none.
fn write_communicator(text: &mut Json, comm: Comm, name: Option<&[u8]>) {
    match (name, comm) {
        (Some(name), _) => text.put_string(name[..name.len().min(NAME)].escape_ascii()),
        (None, MPI_COMM_WORLD) => text.write_text("\"MPI_COMM_WORLD\""),
        (None, MPI_COMM_SELF) => text.write_text("\"MPI_COMM_SELF\""),
        (None, Comm(handle)) => fill!(text, "\"0x{}\"", Hexadecimal(handle as u64, 1)),
    }
}

/// A text of JSON.
struct Json(Vec<u8>);

impl WriteText for Json {
    fn write_text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }
}

impl Json {
    /// Appends ASCII letters as a string of JSON: what it cannot hold becomes `?`.
    fn put_string(&mut self, of: impl Iterator<Item = u8>) {
        self.0.push(b'"');
        for letter in of {
            match letter {
                b'"' | b'\\' => self.0.extend([b'\\', letter]),
                b' '.. => self.0.push(letter),
                _ => self.0.push(b'?'),
            }
        }
        self.0.push(b'"');
    }
}
