//! The page that lists every function of MPI with its state: it is what the sources give.

use super::{EXPORTS, abi};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

const UNSUPPORTED: &str = include_str!("../../mpi-facade/abi/src/unsupported.rs");
const README: &str = include_str!("../../README.md");

/// The chapters of the standard, and the beginnings of the names of their functions, without `MPI_`. The longest
/// beginning counts.
const CHAPTERS: [(&str, &[&str]); 13] = [
    (
        "Point-to-point communication",
        &[
            "Send",
            "Ssend",
            "Rsend",
            "Bsend",
            "Isend",
            "Issend",
            "Irsend",
            "Ibsend",
            "Recv",
            "Irecv",
            "Probe",
            "Iprobe",
            "Mprobe",
            "Improbe",
            "Mrecv",
            "Imrecv",
            "Wait",
            "Test",
            "Cancel",
            "Request",
            "Start",
            "Status",
            "Get_count",
            "Buffer",
            "Isendrecv",
            "Message",
            "Comm_attach",
            "Comm_detach",
            "Comm_flush",
            "Comm_iflush",
            "Session_attach",
            "Session_detach",
            "Session_flush",
            "Session_iflush",
            "Get_elements",
        ],
    ),
    (
        "Partitioned communication",
        &["Psend", "Precv", "Pready", "Parrived"],
    ),
    (
        "Datatypes",
        &["Type", "Pack", "Unpack", "Get_address", "Aint"],
    ),
    (
        "Collective communication",
        &[
            "Barrier",
            "Bcast",
            "Gather",
            "Scatter",
            "Allgather",
            "Alltoall",
            "Reduce",
            "Allreduce",
            "Scan",
            "Exscan",
            "Ibarrier",
            "Ibcast",
            "Igather",
            "Iscatter",
            "Iallgather",
            "Ialltoall",
            "Ireduce",
            "Iallreduce",
            "Iscan",
            "Iexscan",
            "Op",
        ],
    ),
    (
        "Groups, contexts, communicators, caching",
        &["Group", "Comm", "Intercomm", "Attr", "Keyval"],
    ),
    (
        "Virtual topologies",
        &[
            "Cart",
            "Graph",
            "Dist_graph",
            "Topo",
            "Dims",
            "Neighbor",
            "Ineighbor",
        ],
    ),
    (
        "Environment, errors, clocks, memory",
        &[
            "Get_version",
            "Get_library",
            "Get_processor",
            "Alloc",
            "Free",
            "Err",
            "Add_error",
            "Remove_error",
            "Comm_create_errhandler",
            "Comm_set_errhandler",
            "Comm_get_errhandler",
            "Comm_call_errhandler",
            "Session_create_errhandler",
            "Session_set_errhandler",
            "Session_get_errhandler",
            "Session_call_errhandler",
            "Wt",
            "Get_hw",
            "Abi",
        ],
    ),
    ("Info", &["Info"]),
    (
        "Processes: start, sessions, connections",
        &[
            "Init",
            "Finalize",
            "Abort",
            "Is_thread",
            "Query",
            "Session",
            "Comm_spawn",
            "Comm_get_parent",
            "Comm_accept",
            "Comm_connect",
            "Comm_disconnect",
            "Comm_join",
            "Open_port",
            "Close_port",
            "Publish",
            "Unpublish",
            "Lookup",
            "Pcontrol",
        ],
    ),
    (
        "One-sided communication",
        &[
            "Win",
            "Put",
            "Get",
            "Accumulate",
            "Compare_and",
            "Fetch",
            "Rput",
            "Rget",
            "Raccumulate",
        ],
    ),
    ("External interfaces", &["Grequest", "Status_set"]),
    ("Files", &["File", "Register"]),
    ("Tool interface", &["T"]),
];

/// Returns the place of a function's chapter.
fn chapter(name: &str) -> usize {
    let name = name.strip_prefix("MPI_").expect("the standard's prefix");
    let fits = |start: &&&str| {
        let rest = name.strip_prefix(**start);
        rest.is_some_and(|rest| **start != "T" || rest.starts_with('_'))
    };
    let longest = |(_, starts): &(&str, &[&str])| starts.iter().filter(fits).map(|s| s.len()).max();
    let lengths = CHAPTERS.iter().map(longest).enumerate();
    let (place, length) = lengths.max_by_key(|(_, length)| *length).unwrap();
    length.unwrap_or_else(|| panic!("MPI_{name} belongs to no chapter: see CHAPTERS"));
    place
}

fn not_built() -> BTreeSet<&'static str> {
    let list = UNSUPPORTED.split_once("\nunsupported! {").unwrap().1;
    let code = list.lines().map(|line| line.split("//").next().unwrap());
    code.flat_map(str::split_whitespace)
        .filter(|word| word.starts_with("MPI_"))
        .collect()
}

fn list(page: &mut String, title: &str, names: &[&str]) {
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(page, "\n{title} ({}): {}.", names.len(), names.join(", ")).unwrap();
    }
}

/// The numbers of functions, and what follows from them.
struct Page {
    /// For example, "403 of 664 functions".
    count: String,
    /// The table of chapters, which README has, too.
    table: String,
    lists: String,
}

const ROW: &str = "| MPI on top | in part: ";
const HEAD: &str = "| chapter | built | not built |\n| --- | --- | --- |\n";

impl Page {
    fn of_sources() -> Page {
        let missing = not_built();
        let (mut table, mut lists) = (String::from(HEAD), String::new());
        for (place, (title, _)) in CHAPTERS.iter().enumerate() {
            let names = EXPORTS.lines().filter(|name| chapter(name) == place);
            let (not, built): (Vec<&str>, Vec<&str>) =
                names.partition(|name| missing.contains(name));
            writeln!(table, "| {title} | {} | {} |", built.len(), not.len()).unwrap();
            writeln!(lists, "\n## {title}").unwrap();
            list(&mut lists, "Built", &built);
            list(&mut lists, "Not built", &not);
        }
        let all = EXPORTS.lines().count();
        let count = format!("{} of {all} functions", all - missing.len());
        Page {
            count,
            table,
            lists,
        }
    }

    fn text(&self) -> String {
        let Page {
            count,
            table,
            lists,
        } = self;
        format!(
            "# The functions of MPI\n\n\
             {count} are built. The others are exported and raise `MPI_ERR_UNSUPPORTED_OPERATION`, under their names. \
             This page is made from the sources: `POMBO_WRITE_PAGE=1 cargo test --package pombo --test abi_exports \
             functions_page` writes it, and the table of README.md, and the test compares them.\n\n{table}{lists}",
        )
    }

    /// Returns README with the numbers of this page.
    fn readme(&self, readme: &str) -> String {
        let (before, rest) = readme.split_once(HEAD).expect("README.md has the table");
        let (_, after) = rest.split_once("\n\n").expect("text behind it");
        let (first, row) = before.split_once(ROW).expect("the row of MPI");
        let (_, row) = row.split_once(" functions").expect("their number");
        format!("{first}{ROW}{}{row}{}\n{after}", self.count, self.table)
    }
}

#[test]
fn the_page_of_functions_is_what_the_sources_give() {
    let (page, readme) = (Page::of_sources(), abi("../../README.md"));
    for (path, text) in [
        (abi("FUNCTIONS.md"), page.text()),
        (readme, page.readme(README)),
    ] {
        if std::env::var_os("POMBO_WRITE_PAGE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == text,
            "{}: not what the sources give; write it anew as the first lines of FUNCTIONS.md say",
            path.display()
        );
    }
}
