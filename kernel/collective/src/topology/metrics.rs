//! Capacity and cost of a network.

/// The metrics by which networks are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkMetrics {
    /// Links on the way between the two ranks that are farthest apart.
    pub diameter: usize,
    /// Links that must fail before some rank is disconnected.
    pub connectivity: usize,
    /// Links that must fail before half of the ranks are disconnected from the other half.
    pub bisection: usize,
    /// Number of links.
    pub cost: usize,
}

impl NetworkMetrics {
    /// The metrics of a single rank.
    pub(super) const ALONE: NetworkMetrics = NetworkMetrics {
        diameter: 0,
        connectivity: 0,
        bisection: 0,
        cost: 0,
    };
}
