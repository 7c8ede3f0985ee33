//! The value of `POMBO_FAULT_DELAY`: the injected delays of frames. `settings` checks it, `job_channel` applies it.

/// The valid values.
pub(super) const MUST: &str = "A-B=NS for ranks A and B and nanoseconds, and @NS in front of what holds from then on, separated by commas";

/// Returns whether a value is valid. Without the feature `fault` nobody can tell.
pub(super) fn fits(text: &str) -> bool {
    #[cfg(feature = "fault")]
    return text.parse::<pombo_netdrivers::fault::Delays>().is_ok();
    #[cfg(not(feature = "fault"))]
    text.is_empty()
}
