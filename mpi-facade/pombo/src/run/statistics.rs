//! `--stats`: prints at the end of a job what every rank sent and how it was transmitted. Only `run` uses it.
//!
//! The ranks append to a file that [`settings::STATS_FILE`] names, in a directory that other users cannot enter. Other
//! hosts do not have that directory, and their ranks write nothing.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pombo_job::settings;

use super::arguments::Request;
use crate::console::warn;
use crate::error::Error;

/// The file of a job; dropping it removes the file with its directory.
pub(crate) struct Statistics {
    file: PathBuf,
    ranks: usize,
    /// Whether all ranks are on this host.
    is_here: bool,
}

/// Largest number of existing files of launchers with the same process id, which were killed or run in another
/// container.
const OTHERS: usize = 1000;

/// Creates a file in a new directory. It never uses an existing one, which may belong to another user, because the name
/// is predictable.
fn create() -> Result<PathBuf, Error> {
    let own = std::process::id();
    let mut others = 0;
    loop {
        let directory = std::env::temp_dir().join(format!("pombo-stats-{own}-{others}"));
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {
                let file = directory.join("ranks");
                let mut options = fs::OpenOptions::new();
                let made = options.write(true).create_new(true).mode(0o600).open(&file);
                return match made {
                    Ok(_) => Ok(file),
                    Err(error) => {
                        remove(&file);
                        Err(Error::file("create", &file)(error))
                    }
                };
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && others < OTHERS => {
                others += 1;
            }
            Err(error) => return Err(Error::file("create", &directory)(error)),
        }
    }
}

/// The titles of the numbers in a line, as the C library writes them.
const HEADS: [&str; 9] = [
    "rank",
    "messages",
    "bytes",
    "frames",
    "resent",
    "repairs",
    "duplicates",
    "dropped",
    "rejected",
];

impl Statistics {
    /// Makes the ranks of a job write their numbers.
    pub(crate) fn collect(request: &mut Request) -> Result<Self, Error> {
        let file = create()?;
        for context in &mut request.contexts {
            let named = (settings::STATS_FILE.name().into(), file.clone().into());
            context.environment.push(named);
        }
        let ranks = request.contexts.iter().map(|context| context.ranks).sum();
        let is_here = request.hosts.is_none();
        Ok(Statistics {
            file,
            ranks,
            is_here,
        })
    }

    /// Prints the table.
    pub(crate) fn tell(&self) {
        match fs::read(&self.file) {
            Ok(text) => warn(&table(
                &String::from_utf8_lossy(&text),
                self.ranks,
                self.is_here,
            )),
            Err(error) => warn(&Error::file("read", &self.file)(error).to_string()),
        }
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        remove(&self.file);
    }
}

/// Removes the file and its directory, which may be gone already.
fn remove(file: &Path) {
    let _ = fs::remove_file(file);
    let _ = file.parent().map(fs::remove_dir);
}

fn table(text: &str, ranks: usize, is_here: bool) -> String {
    let numbers = |line: &str| -> Vec<u64> {
        let words = line.split_whitespace().map(str::parse);
        words.filter_map(Result::ok).collect()
    };
    let rows = text.lines().map(numbers);
    let mut rows: Vec<_> = rows.filter(|row| row.len() == HEADS.len()).collect();
    rows.sort();
    let mut table = String::from("messages and bytes sent; frames between hosts\n");
    // Rank 0 reports which network the ranks use.
    let told = text.lines().filter_map(|line| line.strip_prefix("# "));
    told.for_each(|line| table.push_str(&format!("{line}\n")));
    let mut add = |words: Vec<String>| {
        let words = words
            .iter()
            .zip(WIDTHS)
            .map(|(word, width)| format!("{word:>width$}"));
        table.push_str(words.collect::<String>().trim_end());
        table.push('\n');
    };
    add(HEADS.map(String::from).to_vec());
    for row in &rows {
        add(row.iter().map(u64::to_string).collect());
    }
    if rows.len() < ranks {
        let missing = ranks - rows.len();
        let elsewhere = if is_here {
            ""
        } else {
            ", or ran on other hosts"
        };
        table.push_str(&format!(
            "{missing} of {ranks} ranks did not finish, or could not write (they say why){elsewhere}\n"
        ));
    }
    table
}

/// Widths of the table's columns.
const WIDTHS: [usize; 9] = [5, 11, 16, 11, 9, 9, 11, 9, 9];

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn rows_stand_in_the_order_of_ranks() {
        let text = "1 20 300 4 5 6 7 8 9\nnonsense\n# by UDP\n0 1 2 3 0 0 0 0 0\n";
        let table = table(text, 3, true);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!((lines.len(), lines[1]), (6, "by UDP"));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[3]), "0 1 2 3 0 0 0 0 0");
        assert_eq!(words(lines[4]), "1 20 300 4 5 6 7 8 9");
        assert!(lines[5].starts_with("1 of 3 ranks"));
    }
}
