//! The table of the variables that MPI reads, except those that select algorithms, which are in
//! [`crate::collective::TABLE`]. Bounds and defaults of the composition come from there.

use crate::collective::{message_times, parse_sites};
use crate::message_header;
use pombo_job::settings::{Values, numbers, variables, whole, words};
use pombo_netdrivers::shm::SingleCopy;

variables! {
    UNEXPECTED_CREDIT: numbers!("a whole number", 1, message_header::CREDIT as usize),
        default words!("", message_header::CREDIT as usize),
        "unexpected messages that a rank keeps for each peer";
    EAGER_LIMIT: numbers!("a number of bytes", 0, message_header::EAGER), default words!("", message_header::EAGER),
        "the longest message that is sent without asking";
    SEND_BUFFER_BYTES: Values::BYTES, default words!("", message_header::SEND_BUFFER_BYTES),
        "what copies of short messages take in a rank at most, so that their sends return at once";
    SHM_SINGLE_COPY: SINGLE_COPY, default "auto",
        "which long messages, or from how many bytes on, the receiver reads from the sender's memory instead of through \
         the ring";
    SHM_RING_RESTART: Values::SWITCH, default "1",
        "1: a sender goes back to the beginning of its ring while the receiver is close behind";
    DIRECT_RECEIVE: Values::SWITCH, default "1",
        "0: blocking receives always go through the queues, also while those are empty";
    SHM_MAIL: Values::SWITCH, default "1",
        "0: short messages between two ranks that answer each other go through their rings alone";
    SHM_BURST_PAUSE: Values::SWITCH, default "1",
        "0: a rank that has caught up with a burst of messages looks for the next one at once";
    SHM_BURST_CELLS: Values::SWITCH, default "1",
        "0: messages of 1 to 5 KiB that follow each other without an answer go through the ring, as single ones do";
    SHM_PASSED_CELLS: Values::SWITCH, default "1",
        "0: no answer to a long message of this rank is written to where the message was, and communicators with this rank exchange no blocks in cells that change hands";
    EARLY_DATA: Values::SWITCH, default "1",
        "0: no data of an announced message leave before the receiver asks for them";
    SITES: SITE_LIST, default "hosts",
        "the site of every rank, as in 0,0,1,1, for the algorithm two_level; the last one holds for further ranks";
    ADAPTIVE_EVERY: numbers!("a whole number", 0, 1_000_000), default "16",
        "the algorithm adaptive adapts its tree in every so many calls on a communicator; 0: never";
    ADAPTIVE_THRESHOLD: numbers!("per cent", 0, 75), default "50",
        "how far the latency of a link must be from the one that the tree was adapted to";
    PROGRESS_THREAD: Values::SWITCH, default "0",
        "1: a thread of every rank serves the others while the program computes";
    NETWORK_TIMES: message_times::VALUES, default "none, or what the library was built with",
        "set by the launcher: what messages cost on some networks, by which collective operations choose their algorithms";
}

const SINGLE_COPY: Values = Values {
    must: "auto, never, always, or a number of bytes",
    fits: |text| single_copy(text).is_some(),
    ..Values::ANY
};

const SITE_LIST: Values = Values {
    must: "numbers separated by commas",
    fits: |text| parse_sites(text).is_some(),
    ..Values::ANY
};

/// Parses which messages are received by single copy.
pub(crate) fn single_copy(text: &str) -> Option<SingleCopy> {
    Some(match text {
        "auto" => SingleCopy::Auto,
        "never" => SingleCopy::Never,
        "always" => SingleCopy::AtLeast(0),
        bytes => SingleCopy::AtLeast(whole(bytes.as_bytes())?),
    })
}
