//! Times, rates and shares as the file writes them: a number, or a string with a unit. `file` uses it.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

use super::links::HoldRule;

/// The longest time: a day in ns.
const LONGEST: u64 = 86_400_000_000_000;

const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const RATES: &[(&str, f64)] = &[("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];

/// A time in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub(super) u64);

/// A quantity that a file may write.
trait Quantity: Sized {
    const EXPECTED: &str;

    fn of_number(number: u64) -> Option<Self>;

    fn of_text(text: &str) -> Option<Self>;
}

/// Splits a number from its unit, and multiplies it by what the unit stands for. Rounds to whole numbers.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let value = number.trim_end().parse::<f64>().ok()? * factor;
    // Above 2^53 a number of this kind is not exact; no quantity here comes near it.
    (0.0..9e15).contains(&value).then(|| value.round() as u64)
}

impl Quantity for Time {
    const EXPECTED: &str = "a time up to a day: ns, or a string such as \"120 ms\" (ns, us, ms, s)";

    fn of_number(number: u64) -> Option<Time> {
        (number <= LONGEST).then_some(Time(number))
    }

    fn of_text(text: &str) -> Option<Time> {
        Time::of_number(scaled(text, TIMES)?)
    }
}

impl Quantity for Rate {
    const EXPECTED: &str =
        "a rate above 0: bits per second, or a string such as \"100mbit\" (bit, kbit, mbit, gbit)";

    fn of_number(number: u64) -> Option<Rate> {
        (number > 0).then_some(Rate(number))
    }

    fn of_text(text: &str) -> Option<Rate> {
        Rate::of_number(scaled(text, RATES)?)
    }
}

impl Quantity for HoldRule {
    const EXPECTED: &str =
        "a time as for latency, or a part of the latency such as \"17 %\", up to 1000 %";

    fn of_number(number: u64) -> Option<HoldRule> {
        Time::of_number(number).map(|Time(time)| HoldRule::Time(time))
    }

    fn of_text(text: &str) -> Option<HoldRule> {
        match scaled(text, &[("%", 1e4)]) {
            Some(share) => (share <= 10_000_000).then_some(HoldRule::Share(share)),
            None => Time::of_text(text).map(|Time(time)| HoldRule::Time(time)),
        }
    }
}

struct QuantityVisitor<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Q, E> {
        let value = u64::try_from(number).ok().and_then(Q::of_number);
        value.ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        Q::of_text(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! deserialize {
    ($($quantity:ty),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(QuantityVisitor(std::marker::PhantomData))
            }
        }
    )*};
}

deserialize!(Time, Rate, HoldRule);

/// As an option has it: a number without a unit is in ns.
fn of_option<Q: Quantity>(text: &str) -> Result<Q, String> {
    let number = text.trim().parse().ok().and_then(Q::of_number);
    number
        .or_else(|| Q::of_text(text))
        .ok_or_else(|| format!("give {}", Q::EXPECTED))
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        of_option(text)
    }
}

impl FromStr for HoldRule {
    type Err = String;

    fn from_str(text: &str) -> Result<HoldRule, String> {
        of_option(text)
    }
}
