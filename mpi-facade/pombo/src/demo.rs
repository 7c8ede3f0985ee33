//! `pombo demo`: compiles the heat solver of `examples/ported` as a user would, runs it, and
//! tells what it took. `cli` calls it.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::run::{self, Context, Request};
use crate::{compiler, library};

const SOURCE: &str = include_str!("../../../examples/ported/heat.c");
const DECK: &str = include_str!("../../../examples/ported/heat.deck");
/// What heat.c writes into its working directory.
const PICTURE: &str = "heat.ppm";

/// Leaves program, input and picture in `directory`.
pub(crate) fn main(directory: &Path, ranks: usize) -> Result<u8, Error> {
    fs::create_dir_all(directory).map_err(Error::file("make directory", directory))?;
    let directory = directory
        .canonicalize()
        .map_err(Error::file("open", directory))?;
    let (source, program) = (directory.join("heat.c"), directory.join("heat"));
    put(&source, SOURCE)?;
    put(&directory.join("heat.deck"), DECK)?;
    let picture = directory.join(PICTURE);
    // A picture of an earlier demo must not pass for this one's.
    if picture.exists() {
        fs::remove_file(&picture).map_err(Error::file("remove", &picture))?;
    }
    println!("compiling {}", source.display());
    compiler::compile(&source, &program)?;
    println!("running it on {ranks} ranks: mpirun -n {ranks} ./heat heat.deck");
    let code = run::launch(&request(&directory, ranks))?;
    if code == 0 {
        picture
            .metadata()
            .map_err(Error::file("find the picture", &picture))?;
        println!("the picture is {}", picture.display());
        costs(&program)?;
    }
    Ok(code)
}

fn request(directory: &Path, ranks: usize) -> Request {
    Request {
        contexts: vec![Context {
            ranks,
            directory: Some(directory.to_owned()),
            environment: Vec::new(),
            program: "./heat".into(),
            arguments: vec!["heat.deck".into()],
        }],
        tag: false,
        bind: false,
    }
}

/// What the job's composition costs in bytes.
fn costs(program: &Path) -> Result<(), Error> {
    let library = library::find()?;
    for (what, file) in [("program", program), ("library", library.file())] {
        let size = fs::metadata(file).map_err(Error::file("look at", file))?;
        println!("{what}: {} bytes on disk", size.len());
    }
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::file("write", path))
}
