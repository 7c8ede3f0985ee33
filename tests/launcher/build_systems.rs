//! Tests what build systems do with an installed prefix: CMake's FindMPI and pkg-config, where they are there. `CMAKE`
//! names the one to use if PATH has none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Outcome, directory, finish, pombo};

const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d\n", rank);
    MPI_Finalize();
    return 0;
}
"#;

const LISTS: &str = r#"
cmake_minimum_required(VERSION 3.16)
project(uses_mpi C CXX)
find_package(MPI 3.0 REQUIRED COMPONENTS C CXX)
add_executable(program program.c)
target_link_libraries(program MPI::MPI_C)
add_executable(program_cxx program_cxx.cpp)
target_link_libraries(program_cxx MPI::MPI_CXX)
enable_testing()
add_test(NAME two_ranks COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${MPIEXEC_PREFLAGS}
         $<TARGET_FILE:program> ${MPIEXEC_POSTFLAGS})
message(STATUS "libraries ${MPI_C_LIBRARIES} version ${MPI_C_VERSION}")
"#;

/// Installs into a new prefix, with the program beside it.
fn prefix(name: &str) -> PathBuf {
    let place = directory(name);
    let outcome = finish(pombo(["install", "--prefix"]).arg(place.join("prefix")));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for source in ["program.c", "program_cxx.cpp"] {
        fs::write(place.join(source), PROGRAM).unwrap();
    }
    place
}

/// Runs a shell script in the directory; its PATH begins with the prefix, and nothing else leads there.
fn shell(place: &Path, script: &str) -> Outcome {
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = place.join("prefix/bin");
    let mut command = Command::new("sh");
    command
        .args(["-ec", script])
        .current_dir(place)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("PKG_CONFIG_PATH", place.join("prefix/lib/pkgconfig"))
        .env_remove("POMBO_LIB")
        .env_remove("LD_LIBRARY_PATH");
    finish(&mut command)
}

fn has(program: &str) -> bool {
    finish(Command::new("sh").args(["-c", &format!("command -v '{program}'")])).code == 0
}

#[test]
fn cmake_finds_mpi() {
    let cmake = std::env::var("CMAKE").unwrap_or("cmake".into());
    if !has(&cmake) {
        return eprintln!("SKIPPED: there is no cmake");
    }
    let place = prefix("cmake");
    fs::write(place.join("CMakeLists.txt"), LISTS).unwrap();
    let script = format!(
        "'{cmake}' -S . -B build && '{cmake}' --build build && '{cmake}' --build build --target test \
         && mpirun -n 2 build/program_cxx"
    );
    let outcome = shell(&place, &script);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let library = place.join("prefix/lib/libmpi_abi.so");
    for said in [
        format!("libraries {} version 5.0", library.display()),
        "100% tests passed".into(),
        "rank 1".into(),
    ] {
        assert!(outcome.out.contains(&said), "{said}: {outcome:?}");
    }
}

#[test]
fn pkg_config_finds_mpi() {
    if !has("pkg-config") {
        return eprintln!("SKIPPED: there is no pkg-config");
    }
    let place = prefix("pkg-config");
    for name in ["mpi", "mpi-c", "mpi-cxx", "pombo"] {
        let script = format!(
            "cc -o program program.c $(pkg-config --cflags --libs {name}) && mpirun -n 2 ./program \
             && pkg-config --modversion {name}"
        );
        let outcome = shell(&place, &script);
        assert_eq!(outcome.code, 0, "{name}: {outcome:?}");
        assert!(outcome.out.contains("rank 1"), "{name}: {outcome:?}");
    }
    assert_eq!(
        shell(&place, "pkg-config --atleast-version=3.1 mpi-c").code,
        0
    );
}

/// Linked by hand, without a path to the library: the launcher tells the loader where it is.
#[test]
fn programs_without_a_run_path_find_the_library() {
    let place = prefix("no-run-path");
    let link = "cc -o program program.c -Iprefix/include -Lprefix/lib -lmpi_abi";
    let outcome = shell(&place, &format!("{link} && mpirun -n 2 ./program"));
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(outcome.sorted(), ["rank 0", "rank 1"]);
    // What the user has there stays behind it, and a library of Pombo there is not put aside.
    let show = "mpirun sh -c 'echo $LD_LIBRARY_PATH'";
    let lib = place.canonicalize().unwrap().join("prefix/lib");
    let (lib, there) = (lib.display(), place.join("prefix/lib"));
    let outcome = shell(
        &place,
        &format!(
            "LD_LIBRARY_PATH=/a:/b {show}; LD_LIBRARY_PATH=/a:{} {show}",
            there.display()
        ),
    );
    assert_eq!(
        outcome.out,
        format!("{lib}:/a:/b\n/a:{}\n", there.display()),
        "{outcome:?}"
    );
}

/// A program keeps the library to which its own run path leads, whichever launcher starts it.
#[test]
fn programs_with_a_run_path_keep_their_library() {
    let place = prefix("own-run-path");
    let source = r#"
        #include <mpi.h>
        #include <stdio.h>
        #include <string.h>
        int main(void)
        {
            char line[4096];
            FILE *maps = fopen("/proc/self/maps", "r");
            MPI_Init(NULL, NULL);
            while (fgets(line, sizeof line, maps))
                if (strstr(line, "libmpi_abi"))
                    fputs(strchr(line, '/'), stdout);
            return MPI_Finalize();
        }"#;
    fs::write(place.join("program.c"), source).unwrap();
    assert_eq!(shell(&place, "mpicc -o program program.c").code, 0);
    let mut command = pombo(["run"]);
    let outcome = finish(
        command
            .arg(place.join("program"))
            .env_remove("LD_LIBRARY_PATH"),
    );
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let library = place
        .canonicalize()
        .unwrap()
        .join("prefix/lib/libmpi_abi.so.1");
    let is_there = |line: &str| line == library.to_str().unwrap();
    assert!(
        !outcome.out.is_empty() && outcome.out.lines().all(is_there),
        "{outcome:?}"
    );
}

/// A launcher that is not installed has the library too.
#[test]
fn so_do_those_of_a_launcher_that_was_just_built() {
    let place = prefix("built-run-path");
    let link = "cc -o program program.c -Iprefix/include -Lprefix/lib -lmpi_abi";
    assert_eq!(shell(&place, link).code, 0);
    let mut command = pombo(["run", "-n", "2"]);
    let outcome = finish(
        command
            .arg(place.join("program"))
            .env_remove("LD_LIBRARY_PATH"),
    );
    assert_eq!(
        (outcome.code, outcome.sorted()),
        (0, vec!["rank 0", "rank 1"]),
        "{outcome:?}"
    );
}
