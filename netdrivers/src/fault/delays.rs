//! Delays of the links between peers, which change at given times.

use alloc::vec::Vec;
use core::str::FromStr;
use pombo_kernel::header::Peer;
use pombo_kernel::text::{fields, parse_digits, split_once};

/// The delays of a network over time. A link that no entry names has none.
///
/// As text: entries separated by commas. `A-B=NS` gives frames between the peers A and B, in both directions, NS
/// nanoseconds from then on; `@NS` says that what follows holds from so many nanoseconds after the beginning. Times
/// never decrease.
///
/// ```
/// # use pombo_netdrivers::fault::Delays;
/// # use pombo_kernel::Peer;
/// let delays: Delays = "0-1=1000,0-2=2000,@500,0-2=9000".parse().unwrap();
/// assert_eq!(delays.between(Peer(2), Peer(0), 499), 2000);
/// assert_eq!(delays.between(Peer(2), Peer(0), 500), 9000);
/// assert_eq!(delays.between(Peer(1), Peer(2), 500), 0);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delays(Vec<Entry>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    /// Nanoseconds after the beginning.
    from: u64,
    /// The peers, the lower one first.
    link: (u16, u16),
    delay: u64,
}

/// Longest delay and latest time, in nanoseconds: a day.
const MOST: u64 = 86_400_000_000_000;

impl Delays {
    /// Returns the delay of a frame that leaves `time` nanoseconds after the beginning, in nanoseconds.
    pub fn between(&self, one: Peer, other: Peer, time: u64) -> u64 {
        let link = (one.0.min(other.0), one.0.max(other.0));
        let mut last = self.0.iter().rev();
        let entry = last.find(|entry| entry.link == link && entry.from <= time);
        entry.map_or(0, |entry| entry.delay)
    }

    /// Returns whether no link has a delay.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The text is no list of delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoDelays;

impl FromStr for Delays {
    type Err = NoDelays;

    fn from_str(text: &str) -> Result<Self, NoDelays> {
        let (mut entries, mut from) = (Vec::new(), 0);
        for word in fields(text, b',').filter(|_| !text.is_empty()) {
            match word.strip_prefix('@') {
                Some(time) => from = number(time).filter(|&time| time >= from).ok_or(NoDelays)?,
                None => entries.push(entry(word, from).ok_or(NoDelays)?),
            }
        }
        Ok(Delays(entries))
    }
}

fn entry(word: &str, from: u64) -> Option<Entry> {
    let (link, delay) = split_once(word, b'=')?;
    let (one, other) = split_once(link, b'-')?;
    let peer = |text| u16::try_from(number(text)?).ok();
    let (one, other) = (peer(one)?, peer(other)?);
    let link = (one.min(other), one.max(other));
    let delay = number(delay)?;
    (one != other).then_some(Entry { from, link, delay })
}

fn number(text: &str) -> Option<u64> {
    parse_digits(text.as_bytes(), 10).filter(|&number| number <= MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_of_delays() {
        assert!("".parse::<Delays>().is_ok_and(|none| none.is_empty()));
        for wrong in [
            "0-1",
            "0-0=5",
            "0=5",
            "0-1=5,",
            ",",
            "0-1=x",
            "0-1=-5",
            "@",
            "@5,@4",
            "0-70000=1",
            "0-1=86400000000001",
            "1 -2=3",
        ] {
            assert_eq!(wrong.parse::<Delays>(), Err(NoDelays), "{wrong}");
        }
    }
}
