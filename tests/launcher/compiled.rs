//! Tests small C programs that the wrappers compile against the library: from the source to a job and to its end. The
//! behaviour of MPI itself is tested elsewhere.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Outcome, directory, finish, pombo};

/// Prints its rank and the size of the world; then ends in the way that its argument selects.
const SOURCE: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    const char *end = argc > 1 ? argv[1] : "finalize";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 && strcmp(end, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == size - 1 && strcmp(end, "leave") == 0)
        return 0;
    if (strcmp(end, "fail") == 0)
        _exit(3);
    if (strcmp(end, "finalize") != 0)
        for (;;)
            pause();
    MPI_Finalize();
    return 0;
}
"#;

/// Compiles the program by a wrapper of this launcher.
pub(crate) fn compile(name: &str, wrapper: &str, options: &[&str]) -> PathBuf {
    let place = directory(name);
    let (source, program) = (place.join("program.c"), place.join("program"));
    fs::write(&source, SOURCE).unwrap();
    let mut command = pombo([wrapper]);
    command.args(options).arg("-o").arg(&program).arg(&source);
    let outcome = finish(&mut command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    program
}

fn run(ranks: usize, program: &Path, end: &str) -> Outcome {
    let ranks = ranks.to_string();
    finish(pombo(["run", "-n", &ranks]).arg(program).arg(end))
}

#[test]
fn a_job_of_three() {
    let program = compile("job", "mpicc", &["-Wall", "-Werror"]);
    let outcome = run(3, &program, "finalize");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let expected = ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"];
    assert_eq!(outcome.sorted(), expected);
}

#[test]
fn without_a_launcher_a_world_of_one() {
    let program = compile("alone", "mpicc", &[]);
    let mut command = Command::new(program);
    let outcome = finish(command.env_remove("LD_LIBRARY_PATH"));
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "rank 0 of 1\n"));
}

/// Whoever starts the ranks by hand and forgets one learns of it, and may still start it.
#[test]
fn a_rank_that_waits_for_others_says_so() {
    let program = compile("waiting", "mpicc", &[]);
    let job = format!("waiting-{}", std::process::id());
    let rank = |rank: &str| {
        let mut command = Command::new(&program);
        command
            .env("POMBO_JOB", &job)
            .env("POMBO_RANK", rank)
            .env("POMBO_SIZE", "2");
        command
    };
    for (first, second, said) in [
        ("0", "1", "for 1 of the 2 ranks of POMBO_JOB"),
        ("1", "0", "for rank 0 of the 2 ranks of POMBO_JOB"),
    ] {
        let mut waiting = rank(first);
        let mut waiting = waiting
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(waiting.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        let outcome = finish(&mut rank(second));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(waiting.wait().unwrap().success());
        assert!(line.contains(said), "{line}");
        assert_eq!(outcome.err, "", "who comes late waits for nobody");
    }
}

#[test]
fn as_cxx() {
    let program = compile("cxx", "mpicxx", &["-x", "c++"]);
    assert_eq!(run(2, &program, "finalize").code, 0);
}

#[test]
fn with_the_library_inside() {
    let program = compile("static", "mpicc", &["-static-mpi"]);
    let outcome = run(2, &program, "finalize");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let needed = finish(Command::new("ldd").arg(&program));
    assert!(!needed.out.contains("libmpi_abi"), "{needed:?}");
}

#[test]
fn abort_ends_all_with_its_code() {
    let program = compile("abort", "mpicc", &[]);
    let outcome = run(4, &program, "abort");
    assert_eq!(outcome.code, 7, "{outcome:?}");
    assert!(outcome.err.contains("rank 3 (pid "), "{outcome:?}");
    assert!(
        outcome.err.contains("ending the other 3 ranks"),
        "{outcome:?}"
    );
}

#[test]
fn leaving_without_finalize_is_a_failure() {
    let program = compile("leave", "mpicc", &[]);
    let outcome = run(4, &program, "leave");
    assert_eq!(outcome.code, 1, "{outcome:?}");
    let message = "exited without calling MPI_Finalize; ending the other 3 ranks";
    assert!(outcome.err.contains("rank 3 (pid ") && outcome.err.contains(message));
}

/// Checks that ranks which have failed count as ranks that called MPI_Init.
#[test]
fn a_job_whose_ranks_all_fail_has_used_mpi() {
    let program = compile("all-fail", "mpicc", &[]);
    let mut command = pombo(["run", "--enable-recovery", "-n", "2"]);
    let outcome = finish(command.arg(&program).arg("fail"));
    assert_eq!(outcome.code, 3, "{outcome:?}");
    assert_eq!(
        outcome.err.matches("exited with code 3").count(),
        2,
        "{outcome:?}"
    );
    assert!(!outcome.err.contains("MPI_Init"), "{outcome:?}");
}

#[test]
fn an_installed_prefix_is_enough() {
    let prefix = directory("whole-prefix");
    let outcome = finish(pombo(["install", "--prefix"]).arg(&prefix));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let source = prefix.join("program.c");
    fs::write(&source, SOURCE).unwrap();
    let script = "mpicc -o program program.c && mpirun -n 2 ./program";
    let path = format!(
        "{}/bin:{}",
        prefix.display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .current_dir(&prefix)
        .env("PATH", path);
    let outcome = finish(command.env_remove("POMBO_LIB"));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(outcome.sorted(), ["rank 0 of 2", "rank 1 of 2"]);
    let loaded = finish(Command::new("ldd").arg(prefix.join("program")));
    let library = prefix.canonicalize().unwrap().join("lib/libmpi_abi.so.1");
    assert!(loaded.out.contains(library.to_str().unwrap()), "{loaded:?}");
}

/// Some of these characters have special meanings for the compiler, the loader, pkg-config or a shell.
#[test]
fn a_prefix_may_be_called_anything() {
    for name in ["a, comma and spaces", "it's $HOME, \"quoted\" (twice)"] {
        let prefix = directory("odd-prefix").join(name);
        let outcome = finish(pombo(["install", "--prefix"]).arg(&prefix));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let source = prefix.join("program.c");
        fs::write(&source, SOURCE).unwrap();
        // The command that the installation prints, and the command that the wrapper prints.
        let path = outcome
            .out
            .lines()
            .find(|line| line.contains("export PATH"))
            .unwrap();
        let script = format!(
            "{path}\nmpicc -o program program.c && eval \"$(mpicc -show -o shown program.c)\" \
             && mpirun -n 2 ./program && mpirun -n 1 ./shown"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&prefix);
        let outcome = finish(command.env_remove("POMBO_LIB"));
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert_eq!(
            outcome.sorted(),
            ["rank 0 of 1", "rank 0 of 2", "rank 1 of 2"]
        );
        let loaded = finish(Command::new("ldd").arg(prefix.join("program")));
        let library = prefix.canonicalize().unwrap().join("lib/libmpi_abi.so.1");
        assert!(loaded.out.contains(library.to_str().unwrap()), "{loaded:?}");
    }
    let prefix = directory("odd-prefix").join("a:b");
    let outcome = finish(pombo(["install", "--prefix"]).arg(&prefix));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.contains("':'") && !prefix.exists(),
        "{outcome:?}"
    );
}

#[test]
fn pkg_config_knows_a_prefix_with_a_comma() {
    if finish(Command::new("sh").args(["-c", "command -v pkg-config"])).code != 0 {
        return eprintln!("SKIPPED: there is no pkg-config");
    }
    let prefix = directory("pc-prefix").join("a,b");
    assert_eq!(finish(pombo(["install", "--prefix"]).arg(&prefix)).code, 0);
    fs::write(prefix.join("program.c"), SOURCE).unwrap();
    let script = "eval cc -o program program.c $(pkg-config --cflags --libs pombo) && ./program";
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(&prefix);
    let outcome = finish(command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (0, "rank 0 of 1\n"),
        "{outcome:?}"
    );
}

#[test]
fn the_demo_needs_a_compiler_and_says_so() {
    let place = directory("demo");
    let mut command = pombo(["demo", "--directory"]);
    let outcome = finish(command.arg(&place).env("PATH", "/no/such"));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("no compiler found"), "{outcome:?}");
    let mut command = pombo(["demo", "--directory"]);
    let outcome = finish(command.arg(&place).env("POMBO_CC", "false"));
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("cannot compile"), "{outcome:?}");
}
