//! The TOML file of sites. `mod.rs` calls [`read`].

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::links::{Change, Event, HoldRule, Link, When};
use super::units::{Rate, Time};
use super::{MAX_HOSTS, Sites};
use crate::error::Error;

/// Most files that extend each other.
const DEPTH: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    extends: Option<Spanned<PathBuf>>,
    hold: Option<HoldRule>,
    #[serde(default)]
    site: Vec<Spanned<SiteEntry>>,
    #[serde(default)]
    link: Vec<Spanned<LinkEntry>>,
    #[serde(default)]
    pair: Vec<Spanned<PairEntry>>,
    #[serde(default)]
    event: Vec<Spanned<EventEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteEntry {
    name: String,
    hosts: usize,
    latency: Option<Time>,
    rate: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkEntry {
    sites: [String; 2],
    latency: Time,
    rate: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairEntry {
    hosts: [usize; 2],
    latency: Option<Time>,
    rate: Option<Rate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventEntry {
    broadcast: Option<u64>,
    at: Option<Time>,
    hosts: Option<[usize; 2]>,
    sites: Option<[String; 2]>,
    site: Option<String>,
    latency: Option<Time>,
    rate: Option<Rate>,
}

/// Reads a file, and before it those that it extends.
pub(super) fn read(path: &Path) -> Result<Sites, Error> {
    let mut builder = Builder::default();
    builder.add(path, DEPTH)?;
    builder.finish(path)
}

/// What the files so far have said.
#[derive(Default)]
struct Builder {
    names: Vec<String>,
    site_of: Vec<usize>,
    /// The links inside sites.
    inner: Vec<Link>,
    /// The links between sites, the lower index first.
    outer: HashMap<(usize, usize), Link>,
    hold: Option<HoldRule>,
    pairs: Vec<((usize, usize), Change)>,
    events: Vec<Event>,
}

/// A file's name and text, for messages.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    /// Returns the error of what stands at these bytes.
    fn error(&self, span: Option<Range<usize>>, what: impl Into<String>) -> Error {
        let before = span.and_then(|span| self.text.get(..span.start));
        Error::Sites {
            path: self.path.to_owned(),
            line: before.map(|before| before.matches('\n').count() + 1),
            what: what.into(),
        }
    }
}

impl Builder {
    fn add(&mut self, path: &Path, depth: usize) -> Result<(), Error> {
        let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
        let source = Source { path, text: &text };
        let file: File = toml::from_str(&text)
            .map_err(|error| source.error(error.span(), error.message().replace('\n', "; ")))?;
        if let Some(base) = file.extends {
            if depth == 0 {
                let what = format!(
                    "extends: more than {DEPTH} files extend each other; join some of them"
                );
                return Err(source.error(Some(base.span()), what));
            }
            let directory = path.parent().unwrap_or(Path::new(""));
            self.add(&directory.join(base.get_ref()), depth - 1)?;
        }
        self.hold = file.hold.or(self.hold);
        for entry in file.site {
            let span = entry.span();
            self.site(entry.into_inner())
                .map_err(|what| source.error(Some(span), what))?;
        }
        for entry in file.link {
            let span = entry.span();
            self.link(entry.into_inner())
                .map_err(|what| source.error(Some(span), what))?;
        }
        for entry in file.pair {
            let span = entry.span();
            self.pair(&entry.into_inner())
                .map_err(|what| source.error(Some(span), what))?;
        }
        for entry in file.event {
            let span = entry.span();
            self.event(entry.into_inner())
                .map_err(|what| source.error(Some(span), what))?;
        }
        Ok(())
    }

    fn site(&mut self, site: SiteEntry) -> Result<(), String> {
        if self.names.contains(&site.name) {
            return Err(format!("site: '{}' is there twice; rename one", site.name));
        }
        let free = MAX_HOSTS - self.site_of.len();
        if site.hosts == 0 || site.hosts > free {
            return Err(format!(
                "site: hosts is {}; give 1 to {free}, as all sites together have at most {MAX_HOSTS}",
                site.hosts
            ));
        }
        self.site_of
            .extend(std::iter::repeat_n(self.names.len(), site.hosts));
        self.names.push(site.name);
        self.inner.push(Link {
            latency: site.latency.map_or(0, |Time(time)| time),
            rate: site.rate.map(|Rate(rate)| rate),
        });
        Ok(())
    }

    fn link(&mut self, link: LinkEntry) -> Result<(), String> {
        let pair = self.two_sites("link", &link.sites)?;
        let figures = Link {
            latency: link.latency.0,
            rate: link.rate.map(|Rate(rate)| rate),
        };
        match self.outer.insert(pair, figures) {
            None => Ok(()),
            Some(_) => {
                let [a, b] = link.sites;
                Err(format!(
                    "link: the one between '{a}' and '{b}' is there twice; remove one"
                ))
            }
        }
    }

    fn pair(&mut self, pair: &PairEntry) -> Result<(), String> {
        let hosts = self.two_hosts("pair", pair.hosts)?;
        self.pairs
            .push((hosts, change("pair", pair.latency, pair.rate)?));
        Ok(())
    }

    fn event(&mut self, event: EventEntry) -> Result<(), String> {
        let when = match (event.broadcast, event.at) {
            (Some(0), None) => return Err("event: broadcast is 0; the first one is 1".into()),
            (Some(broadcast), None) => When::Broadcast(broadcast),
            (None, Some(Time(time))) => When::Time(time),
            _ => return Err("event: give either broadcast, a number, or at, a time".into()),
        };
        let pairs = match (event.hosts, event.sites, event.site) {
            (Some(hosts), None, None) => vec![self.two_hosts("event", hosts)?],
            (None, Some(sites), None) => {
                let (a, b) = self.two_sites("event", &sites)?;
                self.pairs_where(|one, other| (one, other) == (a, b) || (one, other) == (b, a))
            }
            (None, None, Some(site)) => {
                let site = self.index("event", &site)?;
                self.pairs_where(|one, other| one == site && other == site)
            }
            _ => {
                return Err(
                    "event: give one of hosts = [a, b], sites = [\"A\", \"B\"] and site = \"A\""
                        .into(),
                );
            }
        };
        let change = change("event", event.latency, event.rate)?;
        self.events.push(Event {
            when,
            pairs,
            change,
        });
        Ok(())
    }

    fn index(&self, key: &str, name: &str) -> Result<usize, String> {
        let index = self.names.iter().position(|known| known == name);
        index.ok_or_else(|| {
            format!(
                "{key}: there is no site '{name}'; the sites are {}",
                self.names.join(", ")
            )
        })
    }

    /// Returns two different sites, the lower index first.
    fn two_sites(&self, key: &str, [a, b]: &[String; 2]) -> Result<(usize, usize), String> {
        let (one, other) = (self.index(key, a)?, self.index(key, b)?);
        if one == other {
            return Err(format!(
                "{key}: both sites are '{a}'; give two different ones"
            ));
        }
        Ok((one.min(other), one.max(other)))
    }

    /// Returns two different hosts, the lower one first.
    fn two_hosts(&self, key: &str, [a, b]: [usize; 2]) -> Result<(usize, usize), String> {
        let hosts = self.site_of.len();
        if a == b || a.max(b) >= hosts {
            return Err(format!(
                "{key}: hosts is [{a}, {b}]; give two different ones below {hosts}"
            ));
        }
        Ok((a.min(b), a.max(b)))
    }

    /// Returns the pairs of hosts whose sites are wanted.
    fn pairs_where(&self, wanted: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
        let hosts = self.site_of.len();
        let pairs = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
        pairs
            .filter(|(a, b)| wanted(self.site_of[*a], self.site_of[*b]))
            .collect()
    }

    fn finish(self, path: &Path) -> Result<Sites, Error> {
        let fail = |what: String| Error::Sites {
            path: path.to_owned(),
            line: None,
            what,
        };
        let hosts = self.site_of.len();
        if hosts == 0 {
            return Err(fail(
                "there is no site; write [[site]] with name and hosts".into(),
            ));
        }
        let sites = self.names.len();
        for (a, b) in (0..sites).flat_map(|a| (a + 1..sites).map(move |b| (a, b))) {
            if !self.outer.contains_key(&(a, b)) {
                let (a, b) = (&self.names[a], &self.names[b]);
                return Err(fail(format!(
                    "sites '{a}' and '{b}' have no link; write [[link]] with sites = [\"{a}\", \"{b}\"] and latency"
                )));
            }
        }
        let mut links = vec![Link::default(); hosts * hosts];
        for (a, b) in (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))) {
            let (one, other) = (self.site_of[a], self.site_of[b]);
            if a != b {
                links[a * hosts + b] = match one == other {
                    true => self.inner[one],
                    false => self.outer[&(one.min(other), one.max(other))],
                };
            }
        }
        for ((a, b), change) in self.pairs {
            links[a * hosts + b].change(change);
            links[b * hosts + a].change(change);
        }
        Ok(Sites {
            names: self.names,
            site_of: self.site_of,
            links,
            hold: self.hold.unwrap_or(HoldRule::Time(0)),
            events: self.events,
        })
    }
}

fn change(key: &str, latency: Option<Time>, rate: Option<Rate>) -> Result<Change, String> {
    if latency.is_none() && rate.is_none() {
        return Err(format!("{key}: give latency, rate or both"));
    }
    Ok(Change {
        latency: latency.map(|Time(time)| time),
        rate: rate.map(|Rate(rate)| rate),
    })
}
