//! Sentences of errors that the texts of their classes end with, without the machinery of formatting: a program that asks
//! for a text carries no more than that. `error_codes` asks for them, and so does `Display`.

use super::Error;
use pombo_job::log::LogLine;

impl Error {
    /// Appends the sentence of an error that is [noted](crate::error_codes::note); nothing for others.
    pub(crate) fn put_sentence(&self, line: &mut LogLine) {
        match *self {
            Self::Truncated {
                sent,
                room,
                source,
                tag,
            } => match (source, tag) {
                (None, _) => line
                    .put("message truncated: it has ")
                    .put_number(sent as i64)
                    .put(" bytes, the receive buffer ")
                    .put_number(room as i64)
                    .put("; receive with a larger count"),
                (Some(source), Some(tag)) => line
                    .put("the message from rank ")
                    .put_number(source)
                    .put(", tag ")
                    .put_number(tag)
                    .put(" has ")
                    .put_number(sent as i64)
                    .put(" bytes, the buffer ")
                    .put_number(room as i64),
                (Some(source), None) => line
                    .put("rank ")
                    .put_number(source)
                    .put(" sends ")
                    .put_number(sent as i64)
                    .put(" bytes, the buffer has ")
                    .put_number(room as i64)
                    .put("; pass the same counts on all ranks"),
            },
            Self::Unequal { sent, room, .. } if sent == room => line.put(
                "another rank is in another collective call, or has left this one by an error: make the same calls in the \
                 same order on all ranks",
            ),
            Self::Unequal { sent, room, source } => {
                line.put("unequal lengths: ").put_number(sent as i64);
                match source {
                    Some(source) => line.put(" bytes come from rank ").put_number(source),
                    None => line.put(" bytes come from another rank"),
                };
                line.put(", ")
                    .put_number(room as i64)
                    .put(" are expected; pass the same counts on all ranks, in the same calls")
            }
            Self::Unsupported { name } => line
                .put(name)
                .put(" is not implemented in this version of Pombo"),
            _ => line,
        };
    }
}
