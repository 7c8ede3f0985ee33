//! What messages cost on a network, as `pombo measure` found it: the input of predictions.
//!
//! A launcher reads the file that `POMBO_NETWORK` names, and passes its times to the ranks in `POMBO_NETWORK_TIMES`: the
//! name of a network, then for some sizes `BYTES:HOLD:END:COMBINE` in bytes and nanoseconds, then the next name. So every
//! rank has the same times, whatever files its host has, and all select alike. A library that was built where the
//! variable was set has these times for all programs that are started without it.

use alloc::vec::Vec;
use pombo_collective::model::{Hold, Network};
use pombo_job::settings::Values;
use pombo_kernel::text::{fields, parse_digits};

/// The times of messages on one network. Between two sizes they are on a straight line, beyond the last one on that of
/// the last two.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageTimes {
    /// Ascending by size; 1 or more.
    knots: Vec<Knot>,
}

/// The times of messages of one size, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    bytes: u64,
    /// t_hold, t_end, and the time of a reduction operator.
    times: [u64; 3],
}

/// Most sizes of one network.
const KNOTS: usize = 32;
/// The longest time and the greatest size in a text.
const MOST: u64 = 10_u64.pow(15);
/// The longest time of a message that counts, a minute, so that sums and products of times stay numbers.
const LONGEST: u64 = 1 << 36;

/// The values of `POMBO_NETWORK_TIMES`.
pub(crate) const VALUES: Values = Values {
    must: "what `pombo run` makes of the file that POMBO_NETWORK names",
    fits: is_sound,
    ..Values::ANY
};

/// Returns whether a text is that of some networks.
fn is_sound(text: &str) -> bool {
    let mut names = fields(text, b' ').filter(|word| is_name(word));
    fields(text, b' ').next().is_some_and(is_name)
        && names.all(|name| MessageTimes::parse(text, name).is_some())
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|letter| letter.is_ascii_lowercase())
}

impl MessageTimes {
    /// Parses the times of the network of that name in a text of some networks; `None` if it is not there, or if its
    /// times are invalid.
    pub fn parse(text: &str, name: &str) -> Option<MessageTimes> {
        let mut words = fields(text, b' ').skip_while(|word| *word != name);
        words.next().filter(|word| is_name(word))?;
        let mut knots: Vec<Knot> = Vec::new();
        for word in words.take_while(|word| !is_name(word)) {
            let knot = Knot::parse(word)?;
            if knots.len() == KNOTS || knots.last().is_some_and(|last| last.bytes >= knot.bytes) {
                return None;
            }
            knots.push(knot);
        }
        (!knots.is_empty()).then_some(MessageTimes { knots })
    }

    /// Returns t_hold, t_end and the operator's time for messages of `bytes` bytes.
    fn times(&self, bytes: u64) -> [u64; 3] {
        let above = self.knots.iter().position(|knot| knot.bytes >= bytes);
        let above = above.unwrap_or(self.knots.len() - 1);
        let (one, other) = (&self.knots[above.saturating_sub(1)], &self.knots[above]);
        if bytes <= one.bytes || one.bytes == other.bytes {
            return one.times.map(|time| time.min(LONGEST));
        }
        let part = |from: u64, to: u64| {
            let (way, length) = (
                i128::from(bytes - one.bytes),
                i128::from(other.bytes - one.bytes),
            );
            let time = i128::from(from) + (i128::from(to) - i128::from(from)) * way / length;
            time.clamp(0, LONGEST.into()) as u64
        };
        core::array::from_fn(|kind| part(one.times[kind], other.times[kind]))
    }
}

impl Knot {
    fn parse(word: &str) -> Option<Knot> {
        let mut numbers = fields(word, b':')
            .map(|number| parse_digits(number.as_bytes(), 10).filter(|&number| number <= MOST));
        let mut next = || numbers.next().flatten();
        let knot = Knot {
            bytes: next()?,
            times: [next()?, next()?, next()?],
        };
        numbers.next().is_none().then_some(knot)
    }
}

impl Network for MessageTimes {
    fn message(&self, bytes: usize) -> Hold {
        let [hold, end, _] = self.times(bytes as u64);
        // Beyond the measured sizes the line may fall below what a send takes, and without that a rank could send at once to
        // any number of others.
        let hold = hold.max(1);
        Hold { hold, end }
    }

    fn combine(&self, bytes: usize) -> u64 {
        let [_, _, combine] = self.times(bytes as u64);
        combine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "shm 0:50:130:0 1000:150:330:10 udp 8:1:2:3 9:1000:2000:0";

    #[test]
    fn times_between_and_beyond_the_sizes() {
        let shm = MessageTimes::parse(TEXT, "shm").expect("times");
        assert_eq!(shm.message(0), Hold { hold: 50, end: 130 });
        assert_eq!(
            shm.message(500),
            Hold {
                hold: 100,
                end: 230
            }
        );
        assert_eq!(shm.combine(500), 5);
        assert_eq!(
            shm.message(2000),
            Hold {
                hold: 250,
                end: 530
            }
        );
        let falling = MessageTimes::parse("shm 8:20:90:0 16:10:95:0", "shm").expect("times");
        assert_eq!(falling.message(1000).hold, 1);
        let udp = MessageTimes::parse(TEXT, "udp").expect("times");
        assert_eq!(udp.message(0), Hold { hold: 1, end: 2 });
        assert_eq!(
            udp.message(10),
            Hold {
                hold: 1999,
                end: 3998
            }
        );
        // A line that falls ends at 0.
        assert_eq!(udp.combine(100), 0);
        let one = MessageTimes::parse("a 7:1:2:3", "a").expect("times");
        assert_eq!([0, 7, 70].map(|bytes| one.message(bytes).end), [2; 3]);
    }

    #[test]
    fn what_is_no_table() {
        assert!(is_sound(TEXT));
        assert_eq!(MessageTimes::parse(TEXT, "ethernet"), None);
        for wrong in [
            "",
            " ",
            "shm",
            "shm ",
            "0:1:2:3",
            "SHM 0:1:2:3",
            "shm 0:1:2",
            "shm 0:1:2:3:4",
            "shm 0:1:2:x",
            "shm 0:1:2:-3",
            "shm 5:1:2:3 5:1:2:3",
            "shm 5:1:2:3 4:1:2:3",
            "shm 0:1:2:1000000000000001",
            "shm  0:1:2:3",
            "shm 0:1:2:3 udp",
            "shm 0:1:2:3\n",
            "shm:0:1:2",
        ] {
            assert!(!is_sound(wrong), "{wrong:?}");
        }
        let many: alloc::string::String = (0..=KNOTS)
            .map(|bytes| alloc::format!(" {bytes}:1:2:3"))
            .collect();
        assert!(!is_sound(&alloc::format!("shm{many}")));
    }
}
