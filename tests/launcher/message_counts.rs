//! How many messages a job sends.

use crate::support::{finish, pombo};
use std::path::Path;

/// Runs a program of four ranks, each as on a host of its own, and returns the number of messages that all have sent.
pub(crate) fn messages_between_hosts(program: &Path, words: &[&str]) -> u64 {
    let file = program.with_extension(words.join("-"));
    let _ = std::fs::remove_file(&file);
    let mut command = pombo(["run", "--net", "udp", "-n", "4"]);
    command.arg(program).args(words);
    let outcome = finish(command.env("POMBO_STATS_FILE", &file));
    assert_eq!(outcome.code, 0, "{words:?}: {outcome:?}");
    let text = std::fs::read_to_string(&file).expect("the ranks' counts");
    let ranks = text.lines().filter(|line| !line.starts_with('#'));
    let sent = ranks.map(|line| {
        line.split(' ')
            .nth(1)
            .and_then(|sent| sent.parse::<u64>().ok())
    });
    sent.map(|sent| sent.expect("a number of messages")).sum()
}
