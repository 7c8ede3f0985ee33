//! Former names of variables and values: the error for one of them tells the present name before a rank starts.

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
        /// Former names of algorithms, each with the present one and its text in the error.
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
