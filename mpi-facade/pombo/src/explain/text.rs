//! The reports of all ranks as text.

use std::fmt::{self, Display, Formatter, Write};

use super::rank_report::{Operation, RankReport, Wait};

/// Returns the reports, a line for each rank and what follows for those that wait.
pub(crate) fn text(ranks: &[RankReport]) -> String {
    let mut text = String::new();
    for report in ranks {
        // Writing to a string does not fail.
        let _ = write_rank(&mut text, report);
    }
    text
}

fn write_rank(text: &mut String, report: &RankReport) -> fmt::Result {
    match report {
        RankReport::NotJoined { rank } => writeln!(text, "rank {rank} has not called MPI_Init"),
        RankReport::Busy { rank } => {
            writeln!(text, "rank {rank} does not wait: it computes or tests")
        }
        RankReport::Left { rank } => writeln!(text, "rank {rank} has called MPI_Finalize"),
        RankReport::Dead { rank } => writeln!(text, "rank {rank} has ended"),
        RankReport::Unknown { rank } => writeln!(
            text,
            "rank {rank} has not been heard of: it has not called MPI_Init, or its host tells nothing"
        ),
        RankReport::Waiting { rank, wait } => write_wait(text, *rank, wait),
    }
}

fn write_wait(text: &mut String, rank: usize, wait: &Wait) -> fmt::Result {
    write!(text, "rank {rank} waits in {}", wait.function())?;
    if !wait.caller.is_empty() {
        write!(text, ", called at {}", wait.caller)?;
    }
    let seconds = wait.quiet_ns as f64 / 1e9;
    writeln!(text, "; nothing has arrived for {seconds:.1} s")?;
    write_list(
        text,
        "waits for",
        &wait.waits_for,
        wait.waits_for.len() + wait.more,
    )?;
    write_list(text, "posted receives", &wait.posted, wait.posted_total)?;
    write_list(
        text,
        "unexpected messages",
        &wait.unexpected,
        wait.unexpected_total,
    )
}

fn write_list(text: &mut String, name: &str, some: &[Operation], all: usize) -> fmt::Result {
    if all == 0 {
        return Ok(());
    }
    writeln!(text, "  {name}: {all}")?;
    for operation in some {
        writeln!(text, "    {operation}")?;
    }
    match all > some.len() {
        true => writeln!(text, "    and {} more", all - some.len()),
        false => Ok(()),
    }
}

impl Wait {
    /// Returns the name of the function that waits.
    pub(crate) fn function(&self) -> &str {
        match self.call.as_str() {
            "" => "a function of MPI",
            name => name,
        }
    }
}

/// Writes, for example, "receive (source 1, any tag), MPI_COMM_WORLD".
impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if let Some(arguments) = self.arguments() {
            write!(f, " ({arguments})")?;
        }
        if let Some(bytes) = self.bytes {
            write!(f, ", {bytes} bytes")?;
        }
        match &self.communicator {
            Some(name) => write!(f, ", {name}"),
            None => Ok(()),
        }
    }
}

impl Operation {
    /// Returns the rank and the tag as arguments of a call; none if the operation has neither.
    pub(crate) fn arguments(&self) -> Option<String> {
        let side = match self.operation.as_str() {
            "send" => "dest",
            "receive" | "probe" | "message" | "data of a receive" => "source",
            _ => return None,
        };
        let rank = match self.rank {
            Some(rank) => format!("{side} {rank}"),
            None => format!("any {side}"),
        };
        Some(match self.tag {
            Some(tag) => format!("{rank}, tag {tag}"),
            None => format!("{rank}, any tag"),
        })
    }
}
