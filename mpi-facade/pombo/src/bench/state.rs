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
    /// Ranks share cores and their messages are short, or they are on hosts, or only start: the line is not measured.
    Shared,
}

/// Nanoseconds from core to core from which on two cores count as far. Cores that share a cache take 20 to 70 ns on the
/// processors of these years, others 120 to 300. Of 2690 times of one run on the virtual machine of README's figures, 137
/// were 15 to 30 ns, 1243 were 40 to 60, 1307 were 190 to 305, and 3 lay between.
pub(super) const NEAR: f64 = 100.0;

/// Times of a line that differ by this factor are of different states, although both may be near: threads of one core
/// have lines of a third of the time. Within far the times differ by less.
const UNLIKE: f64 = 1.6;

/// Returns whether two turns may be compared: whether their lines took about the same time.
pub(super) fn are_comparable(one: Lines, other: Lines) -> bool {
    match (one, other) {
        (Some([one, _]), Some([other, _])) => is_like(one, other),
        (one, other) => one == other,
    }
}

fn is_like(one: f64, other: f64) -> bool {
    one.max(other) < one.min(other) * UNLIKE
}

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
        let is_one = state == State::of_line(Some(after)) && is_like(before, after);
        is_one.then_some(state)
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
        assert_eq!(State::of_turn(Some([190.0, 280.0])), Some(State::Far));
    }

    #[test]
    fn a_turn_over_a_change_has_none() {
        assert_eq!(State::of_turn(Some([45.0, 280.0])), None);
        assert_eq!(State::of_turn(Some([280.0, 45.0])), None);
    }

    #[test]
    fn threads_of_one_core_are_no_cores_that_are_near() {
        assert_eq!(State::of_turn(Some([17.0, 48.0])), None);
        assert_eq!(State::of_turn(Some([17.0, 18.0])), Some(State::Near));
        assert!(!are_comparable(Some([17.0, 18.0]), Some([48.0, 47.0])));
        assert!(are_comparable(Some([45.0, 45.0]), Some([58.0, 60.0])));
        assert!(are_comparable(None, None));
    }

    #[test]
    fn the_threshold_is_far() {
        assert_eq!(State::of_line(Some(NEAR)), State::Far);
        assert_eq!(State::of_line(Some(NEAR - 0.1)), State::Near);
        assert_eq!(State::of_line(None), State::Shared);
    }
}
