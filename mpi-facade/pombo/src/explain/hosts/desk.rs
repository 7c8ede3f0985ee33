//! The desk of a launcher: asks the reporters of all hosts at intervals and when the user wants it, and judges their
//! answers. `run::hydra_job` lets it have its turns.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use nix::sys::memfd::{MFdFlags, memfd_create};
use pombo_job::environment::random;

use super::client::MEMORY;
use super::listener;
use super::protocol::{Answer, Question, send};
use super::survey::{SilentHost, Survey};
use crate::explain::inquiry::PATIENCE;
use crate::explain::verdict::{Verdict, Watch};
use crate::explain::watcher::{BRIEF, INTERVAL};

/// How long hosts may take to answer, with their ranks' time.
const HOST_PATIENCE: Duration = Duration::from_secs(2);
/// Most events that wait for the desk; then their senders wait.
const EVENTS: usize = 64;

/// What happens to a job over hosts.
pub(crate) enum Event {
    /// The process that started the ranks has ended.
    Ended,
    /// The launcher has been asked to end.
    Terminated,
    /// The user wants to see what the ranks wait for.
    Inquired,
    /// A reporter has come.
    Joined {
        id: usize,
        host: usize,
        name: String,
        stream: TcpStream,
    },
    Answered {
        id: usize,
        answer: Answer,
    },
    /// Who keeps a place waits for the job to begin.
    Waits(TcpStream),
    /// A place is kept for a process that joins at these addresses.
    Placed(Vec<SocketAddr>),
    /// That connection has closed.
    Gone(usize),
    /// `pombo explain` wants an answer.
    Client(TcpStream),
}

/// What a turn of the desk has shown.
pub(crate) enum Finding {
    /// The process that started the ranks has ended.
    Ended,
    /// The launcher has been asked to end.
    Terminated,
    /// All ranks wait for each other: the text says for what.
    Deadlock(String),
    /// What every rank waits for, as the user has asked.
    Report(String),
    /// All places for processes that join are kept, at these addresses.
    Places(Vec<SocketAddr>),
}

/// The reporters and what they have said.
pub(crate) struct Desk {
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    /// Where reporters find the desk, and the key that lets them in.
    address: String,
    /// The same for `pombo explain`, which finds it among this process's descriptors.
    _memory: OwnedFd,
    hosts: Vec<String>,
    size: usize,
    /// Places for processes that join of which nothing has been heard, and where the others are.
    missing_places: usize,
    addresses: Vec<SocketAddr>,
    /// Who keeps a place, until all do: they wait for the job to begin.
    places: Vec<TcpStream>,
    /// How many answers in a row of all hosts have said that no program is left.
    deserted: u32,
    reporters: BTreeMap<usize, Reporter>,
    number: u64,
    round: Option<Round>,
    next: Instant,
    watch: Watch,
}

struct Reporter {
    host: String,
    /// Where its questions go; `None` if the connection has closed.
    stream: Option<TcpStream>,
    /// Whether it has not answered the last question that it was asked, so that it is asked no other.
    is_asked: bool,
}

/// A question to all hosts.
struct Round {
    question: Question,
    end: Instant,
    answers: BTreeMap<usize, Answer>,
    /// Whether the user wants to see the answers on the terminal, and who else does.
    is_wanted: bool,
    clients: Vec<TcpStream>,
}

impl Desk {
    /// Opens the desk of a job of `size` ranks on these hosts, in Hydra's order, with so many places for processes that join.
    pub(crate) fn open(hosts: Vec<String>, size: usize, places: usize) -> io::Result<Desk> {
        let (sender, events) = sync_channel(EVENTS);
        let key = random_key()?;
        let port = listener::start(key.clone(), sender.clone())?;
        let address = format!("{port}:{key}");
        let memory = memfd_create(MEMORY, MFdFlags::MFD_CLOEXEC)?;
        File::from(memory.try_clone()?).write_all(address.as_bytes())?;
        Ok(Desk {
            events,
            sender,
            address,
            _memory: memory,
            hosts,
            size,
            missing_places: places,
            addresses: Vec::new(),
            places: Vec::new(),
            deserted: 0,
            reporters: BTreeMap::new(),
            number: 0,
            round: None,
            next: Instant::now() + INTERVAL,
            watch: Watch::default(),
        })
    }

    /// Returns what reporters have to be told.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the secret that lets those in who must be told.
    pub(crate) fn secret(&self) -> &str {
        self.address.split_once(':').map_or("", |(_, key)| key)
    }

    /// Returns where events go; the sender waits while too many are there.
    pub(crate) fn sender(&self) -> SyncSender<Event> {
        self.sender.clone()
    }

    /// Takes the next event, or does what is due before `limit`.
    pub(crate) fn turn(&mut self, limit: Option<Instant>) -> Option<Finding> {
        let due = self.round.as_ref().map_or(self.next, |round| round.end);
        let due = limit.map_or(due, |limit| due.min(limit));
        match self
            .events
            .recv_timeout(due.saturating_duration_since(Instant::now()))
        {
            Ok(Event::Ended) => return Some(Finding::Ended),
            Ok(Event::Terminated) => return Some(Finding::Terminated),
            Ok(Event::Placed(addresses)) => {
                self.addresses.extend(addresses);
                self.missing_places = self.missing_places.saturating_sub(1);
                if self.missing_places == 0 {
                    self.places.clear();
                    return Some(Finding::Places(std::mem::take(&mut self.addresses)));
                }
            }
            Ok(event) => self.take(event),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now = Instant::now();
        match &self.round {
            None if now >= self.next => self.ask(BRIEF, false, Vec::new()),
            Some(round) if now >= round.end || self.has_all(round) => return self.conclude(),
            _ => {}
        }
        None
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Ended | Event::Terminated | Event::Placed(_) => {}
            Event::Waits(stream) => self.places.push(stream),
            Event::Inquired => self.ask(PATIENCE, true, Vec::new()),
            Event::Client(stream) => self.ask(PATIENCE, false, vec![stream]),
            Event::Joined {
                id,
                host,
                name,
                stream,
            } => {
                let host = self.hosts.get(host).cloned().unwrap_or(name);
                let reporter = Reporter {
                    host,
                    stream: Some(stream),
                    is_asked: false,
                };
                self.reporters.insert(id, reporter);
            }
            Event::Gone(id) => {
                if let Some(reporter) = self.reporters.get_mut(&id) {
                    reporter.stream = None;
                }
            }
            Event::Answered { id, answer } => {
                let Some(reporter) = self.reporters.get_mut(&id) else {
                    return;
                };
                reporter.is_asked = false;
                let Some(round) = &mut self.round else { return };
                match answer.number == round.question.number {
                    true => drop(round.answers.insert(id, answer)),
                    false => reporter.ask(round.question),
                }
            }
        }
    }

    /// Asks all hosts. Whoever waits for the answers to an earlier question gets these.
    fn ask(&mut self, patience: Duration, is_wanted: bool, mut clients: Vec<TcpStream>) {
        self.number += 1;
        let question = Question {
            number: self.number,
            patience_ms: patience.as_millis() as u64,
            counts_programs: self.missing_places > 0,
        };
        let earlier = self.round.take();
        let was_wanted = earlier.as_ref().is_some_and(|round| round.is_wanted);
        clients.extend(earlier.into_iter().flat_map(|round| round.clients));
        let reporters = self.reporters.values_mut();
        reporters
            .filter(|reporter| !reporter.is_asked)
            .for_each(|reporter| reporter.ask(question));
        self.round = Some(Round {
            question,
            end: Instant::now() + HOST_PATIENCE,
            answers: BTreeMap::new(),
            is_wanted: is_wanted || was_wanted,
            clients,
        });
    }

    fn has_all(&self, round: &Round) -> bool {
        let mut reporters = self.reporters.iter();
        reporters.all(|(id, reporter)| reporter.stream.is_none() || round.answers.contains_key(id))
    }

    /// Tells those who keep places to end when all programs have ended and the job has not begun: it never will, as they
    /// wait for each other.
    fn free_places(&mut self, started: usize, has_program: bool) {
        if self.missing_places == 0 {
            return;
        }
        let are_all_heard = started == self.size + self.places.len();
        self.deserted = match are_all_heard && !has_program {
            true => self.deserted + 1,
            false => 0,
        };
        // A rank may be starting while a host looks.
        if self.deserted >= 2 {
            for place in self.places.drain(..) {
                let _ = place.shutdown(Shutdown::Both);
            }
        }
    }

    /// Judges the answers, or gives them to those who want them.
    fn conclude(&mut self) -> Option<Finding> {
        let mut round = self.round.take()?;
        self.next = Instant::now() + INTERVAL;
        let mut answers = Vec::new();
        let mut silent = Vec::new();
        let (mut started, mut has_program) = (0_usize, false);
        for (id, reporter) in &self.reporters {
            match round.answers.remove(id) {
                Some(answer) => {
                    started = started.saturating_add(answer.started);
                    has_program |= answer.has_program;
                    answers.extend(answer.ranks);
                }
                None => silent.push(reporter.silence()),
            }
        }
        self.free_places(started, has_program);
        let survey = Survey::new(self.size, answers, silent);
        for client in &round.clients {
            // Whoever asks may have gone.
            let _ = send(client, &survey);
        }
        if round.is_wanted {
            return Some(Finding::Report(survey.text()));
        }
        match self.watch.judge(&survey.ranks) {
            Verdict::Deadlock(who) => Some(Finding::Deadlock(who)),
            Verdict::None | Verdict::Known => None,
        }
    }
}

impl Reporter {
    fn ask(&mut self, question: Question) {
        let sent = self.stream.as_ref().map(|stream| send(stream, &question));
        match sent {
            Some(Ok(())) => self.is_asked = true,
            // Half a line may be there: nothing can follow it.
            Some(Err(_)) => self.stream = None,
            None => {}
        }
    }

    fn silence(&self) -> SilentHost {
        let why = match self.stream {
            Some(_) => format!("did not answer within {} s", HOST_PATIENCE.as_secs()),
            None => "has closed its connection, and tells nothing any more".into(),
        };
        SilentHost {
            host: self.host.clone(),
            why,
        }
    }
}

/// Returns a key that nobody can guess.
fn random_key() -> io::Result<String> {
    let key = random::<16>().map_err(io::Error::other)?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect())
}
