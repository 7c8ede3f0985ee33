//! `pombo demo`: compiles the heat solver of `examples/ported` as a user would, runs it, and reports its cost. `cli`
//! calls it.

mod traffic_and_sizes;

use std::fs;
use std::path::{Path, PathBuf};

use pombo_job::settings;

use crate::compiler;
use crate::console::tell;
use crate::error::Error;
use crate::run::{self, Context, Request};

const SOURCE: &str = include_str!("../../../../examples/ported/heat.c");
const DECK: &str = include_str!("../../../../examples/ported/heat.deck");

/// The demo's files, all in one directory.
struct Files {
    directory: PathBuf,
    source: PathBuf,
    program: PathBuf,
    deck: PathBuf,
    /// The picture that heat.c writes into its working directory.
    picture: PathBuf,
    /// The file to which the library appends at the end of every rank.
    traffic: PathBuf,
}

/// Creates program, input and picture in `directory`.
pub(crate) fn main(directory: &Path, ranks: usize) -> Result<u8, Error> {
    let files = Files::prepare(directory)?;
    tell(&format!("compiling {}", files.source.display()));
    compiler::compile(&files.source, &files.program, "-O2")?;
    tell(&format!("mpirun -n {ranks} ./heat heat.deck"));
    let code = run::launch(&request(&files, ranks))?;
    if code == 0 {
        tell(&traffic_and_sizes::report(&files.traffic)?);
        let picture = &files.picture;
        fs::metadata(picture).map_err(Error::file("find the picture", picture))?;
        tell(&format!("picture   {}", picture.display()));
    }
    Ok(code)
}

impl Files {
    fn prepare(directory: &Path) -> Result<Files, Error> {
        fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
        let directory = directory
            .canonicalize()
            .map_err(Error::file("open", directory))?;
        let files = Files {
            source: directory.join("heat.c"),
            program: directory.join("heat"),
            deck: directory.join("heat.deck"),
            picture: directory.join("heat.ppm"),
            traffic: directory.join("heat.traffic"),
            directory,
        };
        // Files of an earlier demo must not be taken for this one's.
        for old in [&files.picture, &files.traffic] {
            if old.exists() {
                fs::remove_file(old).map_err(Error::file("remove", old))?;
            }
        }
        for (path, text) in [(&files.source, SOURCE), (&files.deck, DECK)] {
            fs::write(path, text).map_err(Error::file("write", path))?;
        }
        Ok(files)
    }
}

fn request(files: &Files, ranks: usize) -> Request {
    Request {
        contexts: vec![Context {
            ranks,
            directory: Some(files.directory.clone()),
            environment: vec![(
                settings::STATS_FILE.name().into(),
                files.traffic.clone().into(),
            )],
            program: "./heat".into(),
            arguments: vec!["heat.deck".into()],
        }],
        ..Request::default()
    }
}
