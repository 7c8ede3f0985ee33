//! `pombo-network.toml`: what messages cost on the networks of a machine. `measure` writes it; `run` and `explain` read
//! it.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::error::Error;

/// The version of the format. It changes with the meaning of anything in it.
const VERSION: u32 = 1;

/// A file.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkFile {
    version: u32,
    /// At most one of each name.
    #[serde(default)]
    pub(crate) network: Vec<Network>,
}

/// One network.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    /// As `POMBO_NET` calls it; `shm` between ranks of one host.
    pub(crate) name: String,
    /// Number of ranks that measured.
    pub(crate) ranks: u32,
    /// Machine and command.
    pub(crate) measured: String,
    /// By which part of their times the pieces of `standard` and `synchronous` miss what was measured, at most.
    pub(crate) deviation: f64,
    /// Messages by `MPI_Send`, in order of their sizes.
    pub(crate) standard: Vec<Knot>,
    /// Messages by `MPI_Ssend`.
    #[serde(default)]
    pub(crate) synchronous: Vec<Knot>,
    /// What was measured.
    #[serde(default)]
    pub(crate) samples: Vec<Sample>,
}

/// The times of messages of one size, in nanoseconds. Between two sizes times are on a straight line, beyond the last
/// one on that of the last two.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Knot {
    pub(crate) bytes: u64,
    pub(crate) hold: u64,
    pub(crate) end: u64,
    /// For the reduction operator.
    pub(crate) combine: u64,
}

/// Median and quartiles of what was measured, in nanoseconds.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    /// hold, end or combine.
    pub(crate) what: String,
    /// standard, synchronous, or sum.
    pub(crate) mode: String,
    pub(crate) bytes: u64,
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl NetworkFile {
    pub(crate) fn new(network: Vec<Network>) -> NetworkFile {
        NetworkFile {
            version: VERSION,
            network,
        }
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<NetworkFile, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
        NetworkFile::parse(&text).map_err(|why| Error::NetworkFile {
            path: path.to_owned(),
            why,
        })
    }

    /// Parses the text of a file; says what is wrong with it.
    fn parse(text: &str) -> Result<NetworkFile, String> {
        let file: NetworkFile = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.version != VERSION {
            let version = file.version;
            return Err(format!(
                "version is {version}, not {VERSION}: measure again"
            ));
        }
        let mut names: Vec<&str> = file.network.iter().map(|network| &*network.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("there are two networks '{}'", twice[0]));
        }
        for network in &file.network {
            let text = network.compact();
            if pombo_mpi::collective::MessageTimes::parse(&text, &network.name).is_none() {
                return Err(format!(
                    "network '{}': standard has to be 1 to 32 sizes in ascending order, and times below 10^15, under a \
                     name of small letters",
                    network.name
                ));
            }
        }
        Ok(file)
    }

    /// Replaces the network of the same name, or adds it.
    pub(crate) fn put(&mut self, network: Network) {
        match self.network.iter_mut().find(|old| old.name == network.name) {
            Some(old) => *old = network,
            None => self.network.push(network),
        }
    }

    /// Returns the form that ranks read, in `POMBO_NETWORK_TIMES`.
    pub(crate) fn compact(&self) -> String {
        let networks: Vec<String> = self.network.iter().map(Network::compact).collect();
        networks.join(" ")
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "# What messages cost on this machine's networks, by `pombo measure`. A run reads it where POMBO_NETWORK names it.\n\
             # Times are nanoseconds. hold: from one blocking send to the next; end: half of a ping-pong; combine: the sum of\n\
             # two vectors of doubles. standard: by MPI_Send; synchronous: by MPI_Ssend. Between two sizes times are on a\n\
             # straight line, beyond the last one on that of the last two; deviation is by which part they miss a median.\n\
             version = {VERSION}\n"
        );
        for network in &self.network {
            network.write(&mut text);
        }
        text
    }
}

impl Network {
    fn compact(&self) -> String {
        let mut text = self.name.clone();
        for Knot {
            bytes,
            hold,
            end,
            combine,
        } in &self.standard
        {
            // Writing to a String cannot fail.
            let _ = write!(text, " {bytes}:{hold}:{end}:{combine}");
        }
        text
    }

    fn write(&self, text: &mut String) {
        let Network {
            name,
            ranks,
            measured,
            deviation,
            ..
        } = self;
        let quoted = toml_string(measured);
        let _ = write!(
            text,
            "\n[[network]]\nname = {}\nranks = {ranks}\nmeasured = {quoted}\ndeviation = {deviation:.3}\n",
            toml_string(name)
        );
        for (mode, knots) in [
            ("standard", &self.standard),
            ("synchronous", &self.synchronous),
        ] {
            let _ = writeln!(text, "{mode} = [");
            for Knot {
                bytes,
                hold,
                end,
                combine,
            } in knots
            {
                let _ = writeln!(
                    text,
                    "    {{ bytes = {bytes}, hold = {hold}, end = {end}, combine = {combine} }},"
                );
            }
            text.push_str("]\n");
        }
        text.push_str("# medians and quartiles of what was measured\nsamples = [\n");
        for Sample {
            what,
            mode,
            bytes,
            median,
            low,
            high,
        } in &self.samples
        {
            let (what, mode) = (toml_string(what), toml_string(mode));
            let _ = writeln!(
                text,
                "    {{ what = {what}, mode = {mode}, bytes = {bytes}, median = {median:.1}, low = {low:.1}, high = {high:.1} }},"
            );
        }
        text.push_str("]\n");
    }
}

/// Returns a text in TOML's quotation marks.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => quoted.push(' '),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(name: &str) -> Network {
        let knot = |bytes| Knot {
            bytes,
            hold: 50 + bytes,
            end: 130 + bytes,
            combine: bytes / 2,
        };
        Network {
            name: name.into(),
            ranks: 2,
            measured: "a \"machine\" \\ here".into(),
            deviation: 0.125,
            standard: vec![knot(0), knot(8192), knot(8193)],
            synchronous: vec![knot(0)],
            samples: vec![Sample {
                what: "hold".into(),
                mode: "standard".into(),
                bytes: 0,
                median: 50.5,
                low: 49.0,
                high: 60.0,
            }],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = NetworkFile::new(vec![network("shm")]);
        file.put(network("udp"));
        let other = Network {
            ranks: 3,
            ..network("shm")
        };
        file.put(other);
        assert_eq!(file.network.len(), 2);
        assert_eq!(file.network[0].ranks, 3);
        assert_eq!(NetworkFile::parse(&file.text()), Ok(file));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let good = NetworkFile::new(vec![network("shm")]).text();
        for (wrong, word) in [
            (good.replace("version = 1", "version = 2"), "version is 2"),
            (good.replace("version = 1\n", ""), "version"),
            (good.replace("ranks = 2", "rank = 2"), "rank"),
            (good.replace("hold = 50", "hold = -50"), "-50"),
            (good.replace("bytes = 8192", "bytes = 9000"), "ascending"),
            (good.replace("\"shm\"", "\"SHM\""), "SHM"),
            (
                good.clone()
                    + &NetworkFile::new(vec![network("shm")])
                        .text()
                        .replace("version = 1\n", ""),
                "two networks 'shm'",
            ),
            ("version = 1\n[[network]".into(), "network"),
        ] {
            let error = NetworkFile::parse(&wrong).expect_err(word);
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn the_form_for_ranks() {
        let file = NetworkFile::new(vec![network("shm"), network("udp")]);
        let one = "0:50:130:0 8192:8242:8322:4096 8193:8243:8323:4096";
        assert_eq!(file.compact(), format!("shm {one} udp {one}"));
    }
}
