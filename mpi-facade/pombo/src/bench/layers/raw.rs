//! What the machine needs for the messages of `bench.c` without a library: raw copies between two processes. Only
//! `layers` uses it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::bench_process::Session;
use super::super::limited_command::Jobs;
use super::super::program;
use crate::compiler;
use crate::error::Error;

const HEADER: &str = include_str!("raw_mpi.h");

/// A method by which payload goes from one process to another, as `raw_mpi.h` has it.
pub(super) struct RawCopy {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// The value of RAW_METHOD.
    macro_name: &'static str,
    /// The largest message in bytes: for longer ones it is no limit of the machine.
    pub(super) most: u64,
}

pub(super) const COPIES: [RawCopy; 4] = [
    RawCopy {
        name: "mail",
        meaning: "raw lines that hold payload and a sequence word",
        macro_name: "MAILBOX",
        most: 1 << 10,
    },
    RawCopy {
        name: "copies",
        meaning: "raw copies in and out",
        macro_name: "PLAIN",
        most: u64::MAX,
    },
    RawCopy {
        name: "streamed",
        meaning: "raw copies in, past the caches, and out",
        macro_name: "STREAMED",
        most: u64::MAX,
    },
    RawCopy {
        name: "single-copy",
        meaning: "raw copies out of the other process",
        macro_name: "SINGLE",
        most: u64::MAX,
    },
];

impl RawCopy {
    /// Compiles the program in this directory and starts it.
    pub(super) fn start<'a>(
        &self,
        directory: &Path,
        jobs: &'a Jobs,
    ) -> Result<Session<'a>, String> {
        let program = self.compile(directory).map_err(|error| error.to_string())?;
        Session::start(jobs, &program, 2, Command::new(&program)).map_err(|end| format!("it {end}"))
    }

    fn compile(&self, directory: &Path) -> Result<PathBuf, Error> {
        let source = program::prepare(directory)?;
        let include = source.with_file_name("raw");
        fs::create_dir_all(&include).map_err(Error::file("make directory", &include))?;
        let header = include.join("mpi.h");
        fs::write(&header, HEADER).map_err(Error::file("write", &header))?;
        let program = include.join(self.macro_name.to_lowercase());
        let mut search = OsString::from("-I");
        search.push(&include);
        let method = format!("-DRAW_METHOD={}", self.macro_name);
        compiler::compile_plain(&source, &program, &["-O3".into(), search, method.into()])?;
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::Task;
    use super::*;

    #[test]
    fn every_copy_carries_messages() {
        let jobs = Jobs::new().unwrap();
        for copy in COPIES {
            let directory = std::env::temp_dir().join(format!("pombo-raw-{}", std::process::id()));
            let mut session = copy.start(&directory, &jobs).unwrap();
            for (name, size) in [
                ("latency", 0),
                ("latency", 100),
                ("bandwidth", 100 << 10),
                ("bidirectional", 100 << 10),
                ("rate-equal-tags", 8),
                ("barrier", 0),
                ("bcast", 3000),
                ("reduce", 8),
                ("allreduce", 3000),
                ("allgather", 70_000),
                ("alltoall", 70_000),
            ] {
                let figure = session.measure(&Task::new(name, size), 0.001);
                assert!(figure.is_some(), "{} {name} {size}", copy.name);
            }
            fs::remove_dir_all(&directory).unwrap();
        }
    }
}
