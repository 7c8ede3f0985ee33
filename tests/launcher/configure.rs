//! Tests `pombo configure` with the programs of `tests/c/configure`, each of which names the composition that it needs
//! in its first line: as a source, and as an object, whose constants do not show. Then what `mpicc --minimal` links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, directory, finish, pombo, with_suite_settings};

/// Returns a path of the repository.
fn repository(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join(path)
}

fn source(name: &str) -> PathBuf {
    repository("tests/c/configure").join(name)
}

fn configure(arguments: &[&str], files: &[&Path]) -> Outcome {
    finish(pombo(["configure"]).args(arguments).args(files))
}

/// Returns the composition of files as the programs name it: the level of datatypes, and what is on.
fn composition(files: &[&Path]) -> String {
    let outcome = configure(&["--emit", "toml"], files);
    assert_eq!((outcome.code, &*outcome.err), (0, ""), "{files:?}");
    let table: toml::Table = toml::from_str(&outcome.out).unwrap();
    let table = &table["composition"];
    let mut words = vec![table["datatypes"].as_str().unwrap()];
    for name in ["rendezvous", "buffering", "any-source", "any-tag"] {
        words.extend(table[name].as_bool().unwrap().then_some(name));
    }
    words.extend(Some(table["matcher"].as_str().unwrap()).filter(|matcher| *matcher != "linear"));
    for name in [
        "collectives",
        "in-place",
        "hosts",
        "heterogeneous",
        "diagnostics",
    ] {
        words.extend(table[name].as_bool().unwrap().then_some(name));
    }
    words.join(" ")
}

/// Returns what the first line of a program expects of its source and of its object.
fn expected(source: &Path) -> (String, String) {
    let text = fs::read_to_string(source).unwrap();
    let line = text.lines().next().unwrap();
    let expected = line
        .strip_prefix("/* source: ")
        .and_then(|line| line.strip_suffix(" */"));
    let (of_source, of_object) = expected.unwrap().split_once("; object: ").unwrap();
    (of_source.to_owned(), of_object.to_owned())
}

fn wrapper(source: &Path) -> &'static str {
    match source.extension().unwrap() == "c" {
        true => "mpicc",
        false => "mpicxx",
    }
}

fn compile(source: &Path, options: &[&str], to: &Path) {
    let mut command = pombo([wrapper(source)]);
    let outcome = finish(command.args(options).arg("-o").arg(to).arg(source));
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

#[test]
fn every_program_has_what_it_needs() {
    let place = directory("configure");
    let entries = fs::read_dir(source(""))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = entries
        .filter(|path| path.extension().unwrap() != "h")
        .collect();
    assert!(sources.len() >= 30);
    let mut wrong = String::new();
    let mut check = |what: &str, path: &Path, found: String, expected: &str| {
        if found != expected {
            wrong += &format!("{what} {}: {found}, not {expected}\n", path.display());
        }
    };
    for source in &sources {
        let (of_source, of_object) = expected(source);
        check("source", source, composition(&[source]), &of_source);
        let object = place.join(source.file_name().unwrap()).with_extension("o");
        compile(source, &["-c", "-O1"], &object);
        check("object", source, composition(&[&object]), &of_object);
        // The source tells the constants of its object.
        check(
            "both",
            source,
            composition(&[&object, source]),
            joint(&of_source, &of_object),
        );
    }
    assert_eq!(wrong, "");
}

/// Returns what a program needs by source and object together: everything if the object says so.
fn joint<'a>(of_source: &'a str, of_object: &'a str) -> &'a str {
    match of_object.starts_with("full rendezvous buffering") {
        true => of_object,
        false => of_source,
    }
}

/// However an object was compiled, and in a program, an address that is taken is told from a call.
#[test]
fn calls_and_addresses_in_code_of_all_kinds() {
    let place = directory("configure-code");
    let everything = expected(&source("pointer.c")).1;
    for options in [
        "-O0",
        "-O2 -fno-pic -no-pie",
        "-O2 -fPIC",
        "-O2 -fno-plt",
        "-O2 -g -fPIE -pie",
        "-Os -Wl,-z,now",
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        for (name, expected) in [
            ("ints.c", expected(&source("ints.c")).1),
            ("pointer.c", everything.clone()),
            ("pointer_in_table.c", everything.clone()),
            ("pointer_compared.c", everything.clone()),
            ("lookup.c", everything.clone()),
        ] {
            let (object, program) = (place.join("program.o"), place.join("program"));
            compile(&source(name), &[&options[..], &["-c"]].concat(), &object);
            assert_eq!(composition(&[&object]), expected, "{name} {options:?}");
            compile(&source(name), &options, &program);
            // A program does not tell a call without the table of calls from an address.
            let expected = match options.contains(&"-fno-plt") {
                true => everything.clone(),
                false => expected,
            };
            assert_eq!(
                composition(&[&program]),
                expected,
                "program of {name} {options:?}"
            );
        }
    }
}

#[test]
fn archives_and_programs_of_several_files() {
    let place = directory("configure-archive");
    let (object, archive, thin) = (
        place.join("ints.o"),
        place.join("libints.a"),
        place.join("libthin.a"),
    );
    compile(&source("ints.c"), &["-c"], &object);
    for (kind, archive) in [("rcs", &archive), ("rcsT", &thin)] {
        let mut ar = Command::new("ar");
        let outcome = finish(ar.arg(kind).arg(archive).arg(&object));
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let alone = "basic rendezvous any-source any-tag";
    assert_eq!(composition(&[&archive]), alone);
    assert_eq!(composition(&[&thin]), alone);
    // Its own source is among the files; another one does not tell its constants.
    assert_eq!(
        composition(&[&archive, &source("ints.c")]),
        "basic rendezvous"
    );
    assert_eq!(composition(&[&archive, &source("bytes.c")]), alone);
    assert_eq!(
        composition(&[&source("bytes.c"), &source("barrier.c")]),
        "none rendezvous collectives"
    );
    let outcome = configure(&[], &[&archive]);
    assert!(
        outcome.out.contains("MPI_Send, ") && outcome.out.contains("libints.a(ints.o)"),
        "{outcome:?}"
    );
    assert!(
        outcome
            .out
            .contains("its source is not given: basic types at least"),
        "{outcome:?}"
    );
}

/// What a program does not call itself, a library that it needs may call.
#[test]
fn libraries_that_a_program_needs() {
    let place = directory("configure-library");
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let inner = write(
        "inner.c",
        "#include <mpi.h>\nint inner(void) { return MPI_Barrier(MPI_COMM_WORLD); }\n",
    );
    let outer = write(
        "outer.c",
        "#include <dlfcn.h>\nint inner(void);\nint outer(void) { return inner() + !dlopen(\"x\", 1); }\n",
    );
    let main = write(
        "main.c",
        "#include <mpi.h>\nint outer(void);\nint main(void) { MPI_Init(0, 0); return outer(); }\n",
    );
    let (libinner, libouter, program) = (
        place.join("libinner.so"),
        place.join("libouter.so"),
        place.join("main"),
    );
    let at = format!("-L{}", place.display());
    let path = format!("-Wl,-rpath,{}", place.display());
    compile(&inner, &["-shared", "-fPIC"], &libinner);
    for (file, to, library) in [(&outer, &libouter, "-linner"), (&main, &program, "-louter")] {
        let shared: &[&str] = if file == &outer {
            &["-shared", "-fPIC"]
        } else {
            &[]
        };
        let mut command = pombo(["mpicc"]);
        let outcome = finish(
            command
                .args(shared)
                .arg("-o")
                .arg(to)
                .arg(file)
                .args([&at, &path, library]),
        );
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    assert_eq!(composition(&[&program]), "none rendezvous collectives");
    fs::remove_file(&libinner).unwrap();
    let outcome = configure(&[], &[&program]);
    assert!(
        outcome
            .out
            .contains("full       libinner.so, a library that is not found, "),
        "{outcome:?}"
    );
    let outcome = finish(
        pombo(["mpicc", "--minimal", "-show", "-louter"])
            .arg(&at)
            .arg(&main),
    );
    let why = "--minimal takes every part of MPI: libinner.so, a library that is not found, ";
    assert!(outcome.err.contains(why), "{outcome:?}");
    // For a link it is a file beside others.
    compile(&inner, &["-shared", "-fPIC"], &libinner);
    let outcome = finish(
        pombo(["mpicc", "--minimal", "-show", "-linner"])
            .arg(&at)
            .arg(&main),
    );
    assert!(
        outcome.out.contains("libmpi_abi.a") || outcome.err.contains("is not installed"),
        "{outcome:?}"
    );
}

/// A library that makes datatypes counts, wherever the linker finds it: the name of the composition says so.
#[test]
fn libraries_of_the_system_and_of_the_linkers_options() {
    let place = directory("configure-system");
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let vector = write(
        "vector.c",
        "#include <mpi.h>\nint vector(MPI_Datatype *t) { return MPI_Type_vector(2, 1, 2, MPI_INT, t); }\n",
    );
    let main = write(
        "main.c",
        "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n",
    );
    let library = place.join("libvector.so");
    compile(&vector, &["-shared", "-fPIC"], &library);
    let minimal = |option: &str| {
        let mut command = pombo(["mpicc", "--minimal", "-show"]);
        let outcome = finish(
            command
                .env("LIBRARY_PATH", &place)
                .arg(&main)
                .arg(option)
                .arg("-lm"),
        );
        outcome.out + &outcome.err
    };
    for option in ["-lvector", "-l:libvector.so", "-Wl,-lvector"] {
        assert!(minimal(option).contains("pombo/layouts/"), "{option}");
    }
    let named = format!("-Wl,--as-needed,{}", library.display());
    assert!(minimal(&named).contains("pombo/layouts/"), "{named}");
    assert!(minimal("-O1").contains("pombo/base/"));
}

#[test]
fn each_decision_has_a_cause() {
    let outcome = configure(&[], &[&source("pasted_names.c")]);
    assert_eq!((outcome.code, &*outcome.err), (0, ""));
    let lines: Vec<&str> = outcome.out.lines().collect();
    let file = source("pasted_names.c");
    for (name, value, cause) in [
        (
            "datatypes",
            "basic",
            format!("MPI_FLOAT, {}:13", file.display()),
        ),
        (
            "rendezvous",
            "yes",
            format!("MPI_Send, {}:13", file.display()),
        ),
        (
            "buffering",
            "no",
            "no call of MPI_Bsend or MPI_Buffer_attach".into(),
        ),
        (
            "any-source",
            "yes",
            format!("MPI_ANY_SOURCE, {}:14", file.display()),
        ),
        ("any-tag", "no", "no MPI_ANY_TAG".into()),
        (
            "matcher",
            "linear",
            "at most one receive is posted at a time".into(),
        ),
        ("collectives", "no", "no collective call".into()),
        ("in-place", "no", "no collective call with data".into()),
        (
            "hosts",
            "no",
            "no file tells; --hosts if ranks are on several hosts".into(),
        ),
    ] {
        let line = format!("{name:<14}{value:<11}{cause}");
        assert!(lines.contains(&&*line), "{line}\n{}", outcome.out);
    }
    let outcome = configure(&[], &[&source("lookup.c")]);
    assert!(
        outcome
            .out
            .contains("full       dlsym, which finds functions when the program runs, "),
        "{outcome:?}"
    );
    let outcome = configure(&[], &[&source("pointer.c")]);
    assert!(
        outcome.out.contains("the address of MPI_Barrier, "),
        "{outcome:?}"
    );
}

#[test]
fn what_no_file_tells() {
    let file = source("bytes.c");
    let features = |options: &[&str]| {
        let outcome = configure(&[&["--emit", "features"], options].concat(), &[&file]);
        (outcome.code, outcome.out.trim_end().to_owned(), outcome.err)
    };
    let hosts = "rendezvous,hosts".into();
    assert_eq!(features(&["--hosts"]), (0, hosts, String::new()));
    let (code, out, _) = features(&[]);
    assert!(code == 0 && !out.contains("hosts"), "{out}");
    let both = "layouts,rendezvous,hosts,heterogeneous".into();
    assert_eq!(features(&["--heterogeneous"]), (0, both, String::new()));
    for (longest, expected) in [
        ("8192", "rendezvous = false"),
        ("8193", "rendezvous = true"),
    ] {
        let outcome = configure(&["--emit", "toml", "--longest", longest], &[&file]);
        assert!(outcome.out.contains(expected), "{outcome:?}");
    }
    let outcome = configure(
        &["--emit", "toml", "--longest", "1"],
        &[&source("synchronous.c")],
    );
    assert!(outcome.out.contains("rendezvous = true"), "{outcome:?}");
    let short = configure(&["--emit", "features", "--longest", "8192"], &[&file]);
    assert_eq!(short.out.trim_end(), "", "{short:?}");
}

/// The smallest library serves a program whose calls are all in it and whose messages are short; else the cause is told.
#[test]
fn the_smallest_library_by_calls_and_lengths() {
    let ping_pong = repository("mpi-facade/pombo/src/size/ping_pong.c");
    for (file, longest, because) in [
        (&ping_pong, "8192", "yes        --longest says 8192 bytes"),
        (&ping_pong, "8193", "no         --longest says 8193 bytes"),
        (&source("barrier.c"), "0", "yes        "),
        (&source("bytes.c"), "8", "no         MPI_COMM_SELF, "),
        (&source("synchronous.c"), "1", "no         MPI_Ssend, "),
        (&source("reduced_bytes.c"), "1", "no         MPI_"),
    ] {
        let outcome = configure(&["--longest", longest], &[file]);
        let line = format!("basic         {because}");
        assert!(outcome.out.starts_with(&line), "{line}: {outcome:?}");
    }
    let without_length = configure(&[], &[&ping_pong]);
    let because = "basic         no         no file tells how long messages are";
    assert!(
        without_length.out.starts_with(because),
        "{without_length:?}"
    );
    let command = configure(&["--emit", "command", "--longest", "8"], &[&ping_pong]);
    assert!(command.out.contains("-p pombo-basic-abi "), "{command:?}");
    // A compiler takes it under the name of its directory.
    let mut mpicc = pombo(["mpicc", "--minimal=longest=8", "-show"]);
    let shown = finish(mpicc.arg(&ping_pong));
    let told = shown.out + &shown.err;
    assert!(told.contains("pombo/basic/libmpi_abi.a"), "{told}");
}

#[test]
fn options_of_the_compiler() {
    let place = directory("configure-options");
    let file = place.join("program.c");
    fs::write(
        &file,
        "#include <mpi.h>\n#include \"own.h\"\nint f(void) { return CALL; }\n",
    )
    .unwrap();
    fs::create_dir(place.join("include")).unwrap();
    fs::write(
        place.join("include/own.h"),
        "#define CALL MPI_Barrier(WORLD)\n",
    )
    .unwrap();
    let outcome = configure(&[], &[&file]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.err.contains("own.h") && outcome.err.contains("-- -Iinclude -DN=4"),
        "{outcome:?}"
    );
    let mut command = pombo(["configure", "--emit", "toml"]);
    let outcome = finish(
        command
            .arg(&file)
            .args(["--", "-Iinclude", "-DWORLD=MPI_COMM_WORLD"])
            .current_dir(&place),
    );
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.out.contains("collectives = true"), "{outcome:?}");
}

#[test]
fn refusals_name_the_file() {
    let place = directory("configure-refusals");
    let write = |name: &str, text: &[u8]| {
        let path = place.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let text = write("notes.txt", b"MPI_Send\n");
    let empty = write("empty.o", b"");
    let damaged = write("damaged.o", b"\x7fELF\x02\x01\x01");
    let archive = write("damaged.a", b"!<arch>\nwhat?");
    let plain = write("plain.c", b"int main(void) { return 0; }\n");
    let broken = write("broken.c", b"#error no\n");
    let missing = place.join("missing.o");
    for (file, why) in [
        (&text, "it is no object, archive or program"),
        (&empty, "it is no object, archive or program"),
        (&damaged, "it is damaged"),
        (&archive, "its archive is damaged"),
        (&plain, "no function and no constant of MPI is used in"),
        (&broken, "cannot preprocess"),
        (&missing, "cannot read"),
    ] {
        let outcome = configure(&[], &[file]);
        assert_eq!((outcome.code, &*outcome.out), (1, ""), "{outcome:?}");
        assert!(
            outcome.err.contains(why) && outcome.err.contains(file.to_str().unwrap()),
            "{outcome:?}"
        );
    }
    let outcome = finish(
        pombo(["configure"])
            .arg(&plain)
            .env("POMBO_CC", "no-such-compiler"),
    );
    assert!(
        outcome.code == 1 && outcome.err.contains("no-such-compiler"),
        "{outcome:?}"
    );
}

/// A prefix whose library of the composition is the whole library: which one a program gets is what is tested.
#[test]
fn the_library_of_the_composition_is_linked() {
    let prefix = directory("configure-prefix");
    let outcome = finish(pombo(["install", "--prefix"]).arg(&prefix));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let program = prefix.join("program");
    let mpicc = |options: &[&str], file: &Path| {
        let mut command = Command::new(prefix.join("bin/mpicc"));
        with_suite_settings(&mut command);
        finish(command.args(options).arg("-o").arg(&program).arg(file))
    };
    let split = source("split.c");
    let _ = fs::remove_dir_all(prefix.join("lib/pombo"));
    let outcome = mpicc(&["--minimal"], &split);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    for said in [
        "lib/pombo/",
        "cargo rustc --profile small -p pombo-mpi-abi --lib --crate-type staticlib --no-default-features",
        "install",
    ] {
        assert!(outcome.err.contains(said), "{said}: {outcome:?}");
    }
    // Whatever features it needs.
    let features = |options: &[&str]| {
        let outcome = configure(&[&["--emit", "features"], options].concat(), &[&split]);
        match outcome.out.trim_end() {
            "" => "base".to_owned(),
            features => features.replace(',', "+"),
        }
    };
    for name in [features(&[]), features(&["--hosts"])] {
        let directory = prefix.join("lib/pombo").join(name);
        fs::create_dir_all(&directory).unwrap();
        symlink("../../libmpi_abi.a", directory.join("libmpi_abi.a")).unwrap();
    }
    let outcome = mpicc(&["--minimal", "-show"], &split);
    assert!(
        outcome
            .out
            .contains(&format!("/lib/pombo/{}/libmpi_abi.a", features(&[]))),
        "{outcome:?}"
    );
    let outcome = mpicc(&["--minimal=hosts", "-show"], &split);
    assert!(
        outcome.out.contains(&format!(
            "/lib/pombo/{}/libmpi_abi.a",
            features(&["--hosts"])
        )),
        "{outcome:?}"
    );
    let outcome = mpicc(&["--minimal=host"], &split);
    assert!(
        outcome.code == 1 && outcome.err.contains("--minimal is 'host'"),
        "{outcome:?}"
    );
    let outcome = mpicc(&["--minimal", "-O2"], &split);
    assert_eq!((outcome.code, &*outcome.err), (0, ""));
    let needed = finish(Command::new("ldd").arg(&program));
    assert!(!needed.out.contains("libmpi_abi"), "{needed:?}");
    let outcome = finish(pombo(["run", "-n", "3"]).arg(&program));
    assert_eq!((outcome.code, &*outcome.err), (0, ""));
    // Nobody knows what such a file has.
    let assembly = prefix.join("code.s");
    fs::write(&assembly, "").unwrap();
    let outcome = mpicc(&["--minimal"], &assembly);
    assert!(
        outcome.code == 1 && outcome.err.contains("code.s"),
        "{outcome:?}"
    );
    assert_eq!(
        mpicc(&["--minimal", "-c"], &split).code,
        0,
        "nothing is linked"
    );
    let outcome = mpicc(&["--minimal", "-shared"], &split);
    assert!(
        outcome.code == 1
            && outcome
                .err
                .contains("an option beside --minimal is '-shared'"),
        "{outcome:?}"
    );
    // A library of another version is refused; the next installation removes what it does not lay down.
    let old = prefix.join("lib/pombo").join(features(&[]));
    fs::remove_file(old.join("libmpi_abi.a")).unwrap();
    fs::write(old.join("libmpi_abi.a"), "!<arch>\nPombo 0.0.9, MPI 5.0").unwrap();
    let outcome = mpicc(&["--minimal"], &split);
    let said = "libmpi_abi.a is of another version than this (Pombo)";
    assert!(
        outcome.code == 1 && outcome.err.contains(said),
        "{outcome:?}"
    );
    fs::rename(&old, prefix.join("lib/pombo/earlier")).unwrap();
    let outcome = finish(pombo(["install", "--prefix"]).arg(&prefix));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!prefix.join("lib/pombo/earlier").exists());
}
