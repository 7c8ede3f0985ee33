//! The states of a machine whose line between two cores is now short, now long. Only `bench` uses it.
//!
//! In a virtual machine the two processors of a job may share a cache for some seconds and then not. A figure says
//! nothing without that, and no two libraries may be compared over a change of it: so the line is measured before and
//! after each turn.

/// What a turn was measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A line between the cores takes less than [`NEAR`].
    Near,
    /// A line between the cores takes [`NEAR`] or more.
    Far,
    /// Ranks share cores, or are on hosts, or only start: the line is not measured.
    Shared,
}

/// Nanoseconds from core to core from which on two cores count as far. Cores that share a cache take 20 to 70 ns on the
/// processors of these years; over a network between caches or sockets it is 120 to 300 ns. Of 4000 measurements on the
/// virtual machine of README's figures 1 in 200 lay between 70 and 130 ns.
pub(super) const NEAR: f64 = 100.0;

/// Nanoseconds that a line took before a turn and after it; `None` where it is not measured.
pub(super) type Lines = Option<[f64; 2]>;

impl State {
    /// Returns the state that this time of a line shows, in nanoseconds.
    pub(super) fn of_line(line: Option<f64>) -> State {
        match line {
            None => State::Shared,
            Some(line) if line < NEAR => State::Near,
            Some(_) => State::Far,
        }
    }

    /// Returns the state of a turn; `None` if it changed during the turn.
    pub(super) fn of_turn(lines: Lines) -> Option<State> {
        let Some([before, after]) = lines else {
            return Some(State::Shared);
        };
        let state = State::of_line(Some(before));
        (state == State::of_line(Some(after))).then_some(state)
    }

    /// Returns the word for it in tables and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Near => "near",
            State::Far => "far",
            State::Shared => "shared",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_the_state_of_both_its_ends() {
        assert_eq!(State::of_turn(None), Some(State::Shared));
        assert_eq!(State::of_turn(Some([45.0, 58.0])), Some(State::Near));
        assert_eq!(State::of_turn(Some([150.0, 280.0])), Some(State::Far));
    }

    #[test]
    fn a_turn_over_a_change_has_none() {
        assert_eq!(State::of_turn(Some([45.0, 280.0])), None);
        assert_eq!(State::of_turn(Some([280.0, 45.0])), None);
    }

    #[test]
    fn the_threshold_is_far() {
        assert_eq!(State::of_line(Some(NEAR)), State::Far);
        assert_eq!(State::of_line(Some(NEAR - 0.1)), State::Near);
        assert_eq!(State::of_line(None), State::Shared);
    }
}
