//! What a network can carry and what it costs.

/// The figures by which networks are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkMetrics {
    /// Links on the way between the two ranks that are farthest apart.
    pub diameter: usize,
    /// Links that must fail before some rank is cut off.
    pub connectivity: usize,
    /// Links that must fail before half of the ranks are cut off from the other half.
    pub bisection: usize,
    /// Links in all.
    pub cost: usize,
}

impl NetworkMetrics {
    /// Of a single rank.
    pub(super) const ALONE: NetworkMetrics = NetworkMetrics {
        diameter: 0,
        connectivity: 0,
        bisection: 0,
        cost: 0,
    };
}
