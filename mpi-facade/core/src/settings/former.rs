//! Variables and values that have other names now: whoever still sets one is told the new one before a rank starts.

/// Former names of variables, each with the present one.
pub const FORMER_NAMES: &[(&str, &str)] = &[
    ("POMBO_ONE_COPY", "POMBO_SHM_SINGLE_COPY"),
    ("POMBO_GRACE", "POMBO_KILL_TIMEOUT"),
    ("POMBO_LOSS", "POMBO_FAULT_LOSS"),
    ("POMBO_HOST", "POMBO_FAKE_HOST"),
    ("POMBO_STATS", "POMBO_STATS_FILE"),
    ("POMBO_CREDIT", "POMBO_UNEXPECTED_CREDIT"),
];

macro_rules! values {
    ($($was:literal $now:literal;)*) => {
        /// Former names of algorithms, each with the present one and with what is said of it.
        pub(super) const FORMER_VALUES: &[(&str, &str, &str)] =
            &[$(($was, $now, concat!($now, ", as ", $was, " is called now"))),*];
    };
}

values! {
    "scattered" "scatter_allgather";
    "turns" "spread_out";
    "pairs" "pairwise";
    "doubling" "recursive_doubling";
    "halving" "rabenseifner";
    "cast" "multicast";
    "boards" "shm";
    "hosts" "hierarchical";
}
