//! `-bind-to`: the processors to which each rank is pinned. `arguments` parses it, `spawn` asks it for every rank.

use std::fs;

/// What a rank is pinned to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Hwthread,
    Core,
    Socket,
    Numa,
}

/// The value of `-bind-to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Binding {
    #[default]
    None,
    To {
        unit: Unit,
        /// Whether ranks share a core or hardware thread if there are more of them.
        shared: bool,
    },
}

impl Unit {
    /// Returns the name that Open MPI and MPICH have for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Hwthread => "hwthread",
            Unit::Core => "core",
            Unit::Socket => "socket",
            Unit::Numa => "numa",
        }
    }
}

impl Binding {
    /// Parses a value as users of Open MPI and MPICH write it, such as `core:overload-allowed`.
    pub(crate) fn parse(text: &str) -> Result<Binding, String> {
        let mut words = text.split(':');
        let unit = match words.next().unwrap_or_default() {
            "none" => None,
            "hwthread" => Some(Unit::Hwthread),
            "core" | "rr" => Some(Unit::Core),
            "socket" | "package" => Some(Unit::Socket),
            "numa" => Some(Unit::Numa),
            _ => return Err(WANT.into()),
        };
        let mut shared = false;
        for word in words {
            match word {
                "overload-allowed" => shared = true,
                "no-overload" | "if-supported" | "1" => {}
                _ => return Err(WANT.into()),
            }
        }
        Ok(unit.map_or(Binding::None, |unit| Binding::To { unit, shared }))
    }
}

const WANT: &str = "give none, hwthread, core, socket or numa, with :overload-allowed behind it if ranks may share";

/// The processors of every rank of a job.
#[derive(Default)]
pub(crate) struct Placement {
    /// Processors of rank 0, 1, ..; empty if no rank is pinned.
    ranks: Vec<Vec<usize>>,
    /// The reason why no rank is pinned although the user asked for it.
    pub(crate) refusal: Option<String>,
}

impl Placement {
    /// Places `ranks` ranks on the processors that they may use.
    pub(crate) fn new(binding: Binding, ranks: usize, allowed: &[usize]) -> Placement {
        let Binding::To { unit, shared } = binding else {
            return Placement::default();
        };
        place(unit, shared, ranks, allowed, &neighbours)
    }

    /// Returns the processors of a rank; none if it is not pinned.
    pub(crate) fn of(&self, rank: usize) -> &[usize] {
        self.ranks.get(rank).map_or(&[], Vec::as_slice)
    }
}

fn place(
    unit: Unit,
    shared: bool,
    ranks: usize,
    allowed: &[usize],
    neighbours: &dyn Fn(Unit, usize) -> Vec<usize>,
) -> Placement {
    let around = |unit: Unit, processor: usize| -> Vec<usize> {
        let mut all = neighbours(unit, processor);
        all.push(processor);
        all.retain(|processor| allowed.contains(processor));
        all.sort_unstable();
        all.dedup();
        all
    };
    // The ranks go over hardware threads if these are wanted, else over cores.
    let step = if unit == Unit::Hwthread {
        unit
    } else {
        Unit::Core
    };
    let mut slots: Vec<Vec<usize>> = Vec::new();
    for &processor in allowed {
        let slot = around(step, processor);
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    let is_wide = matches!(unit, Unit::Socket | Unit::Numa);
    if slots.is_empty() || ranks > slots.len() && !shared && !is_wide {
        let (name, there) = (unit.name(), slots.len());
        return Placement {
            refusal: Some(format!(
                "-bind-to {name}: {ranks} ranks and {there} of these, so no rank is pinned; -bind-to \
                 {name}:overload-allowed lets ranks share"
            )),
            ..Placement::default()
        };
    }
    let slot = |rank: usize| match (ranks > slots.len(), is_wide) {
        (false, _) => rank,
        // Neighbouring ranks have neighbouring cores.
        (true, true) => rank * slots.len() / ranks,
        (true, false) => rank % slots.len(),
    };
    let processors = |rank: usize| match is_wide {
        true => around(unit, slots[slot(rank)][0]),
        false => slots[slot(rank)].clone(),
    };
    Placement {
        ranks: (0..ranks).map(processors).collect(),
        refusal: None,
    }
}

/// Returns the processors in the same unit as this one, as far as the system tells.
fn neighbours(unit: Unit, processor: usize) -> Vec<usize> {
    let place = format!("/sys/devices/system/cpu/cpu{processor}");
    let read = |file: String| list(&fs::read_to_string(file).unwrap_or_default());
    match unit {
        Unit::Hwthread => Vec::new(),
        Unit::Core => read(format!("{place}/topology/thread_siblings_list")),
        Unit::Socket => read(format!("{place}/topology/core_siblings_list")),
        Unit::Numa => {
            let entries = fs::read_dir(&place).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let is_node = |name: &String| {
                let number = name.strip_prefix("node");
                number.is_some_and(|number| number.parse::<usize>().is_ok())
            };
            let mut nodes = names.filter(is_node);
            nodes
                .next()
                .map_or(Vec::new(), |node| read(format!("{place}/{node}/cpulist")))
        }
    }
}

/// Parses a list of processors as Linux writes it, such as `0-3,8`.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores of two hardware threads, numbered as Linux does: siblings are four apart.
    fn machine(unit: Unit, processor: usize) -> Vec<usize> {
        let core = processor % 4;
        match unit {
            Unit::Hwthread => vec![],
            Unit::Core => vec![core, core + 4],
            Unit::Socket | Unit::Numa => {
                let first = core / 2 * 2;
                vec![first, first + 1, first + 4, first + 5]
            }
        }
    }

    fn placed(value: &str, ranks: usize, allowed: &[usize]) -> Vec<Vec<usize>> {
        let Ok(Binding::To { unit, shared }) = Binding::parse(value) else {
            panic!("{value}");
        };
        place(unit, shared, ranks, allowed, &machine).ranks
    }

    #[test]
    fn ranks_stand_on_units() {
        let all: Vec<usize> = (0..8).collect();
        assert_eq!(placed("hwthread", 3, &all), [[0], [1], [2]]);
        assert_eq!(placed("core", 2, &all), [[0, 4], [1, 5]]);
        assert_eq!(placed("core", 2, &[1, 4, 5]), [vec![1, 5], vec![4]]);
        assert_eq!(placed("socket", 3, &all)[2], [2, 3, 6, 7]);
        let eight = placed("socket", 8, &all);
        assert_eq!(
            (&eight[3], &eight[4]),
            (&vec![0, 1, 4, 5], &vec![2, 3, 6, 7])
        );
        assert_eq!(placed("core:overload-allowed", 5, &all)[4], [0, 4]);
    }

    #[test]
    fn too_many_ranks_are_not_pinned() {
        let placement = place(Unit::Core, false, 3, &[0, 1], &machine);
        assert!(placement.of(0).is_empty());
        assert!(placement.refusal.unwrap().contains("3 ranks and 2"));
        assert!(place(Unit::Core, true, 1, &[], &machine).refusal.is_some());
    }

    #[test]
    fn values_of_other_launchers() {
        assert_eq!(Binding::parse("none"), Ok(Binding::None));
        assert_eq!(Binding::parse("rr"), Binding::parse("core"));
        assert_eq!(
            Binding::parse("package"),
            Binding::parse("socket:if-supported")
        );
        for wrong in ["", "moon", "core:2", "core:moon"] {
            assert!(Binding::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(list("0-2,7\n"), [0, 1, 2, 7]);
        assert!(list("").is_empty());
    }
}
