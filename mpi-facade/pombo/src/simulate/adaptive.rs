//! Processes that build and adapt a minimum spanning tree by messages, and broadcast along it. Each has the state
//! machine of `pombo_collective::adaptive` and a monitor of its own links; nothing here knows the whole graph but the
//! simulated network. `run` uses it.
//!
//! A check begins with a probe of each link that has none under way. A process waits for the answers over the links of
//! its tree, before the first tree over all links, and then asks for a round of adaptation; other answers count when
//! they have come. A link without an answer within the limit counts as one of half that time, until the answer comes.
//! Of links outside the tree a process tells only that they became better: one that became worse stays outside, and if
//! it is taken all the same, the next check finds it. So a slow link carries few of the tree's own messages.
//! Probes occupy no sender, as the monitor is no part of the application; the tree's own messages do.

use pombo_collective::adaptive::{
    EdgeState, Link, LinkMonitor, Message, Monitor, Probe, ProbeReply, Process, Threshold,
};
use pombo_collective::topology::Tree;

use super::failure::Failure;
use super::world::{Arrival, Sender, World};

/// Bytes of a probe and of its answer: what the monitor's messages have.
const PROBE: usize = size_of::<ProbeReply>();

/// What arrives at a process.
pub(super) enum Event {
    Tree(Message),
    Probe(Probe),
    Reply(ProbeReply),
    Data,
    /// The process has begun its last send of a broadcast.
    Sent,
    /// The time to wait for answers is over, in the check of this number.
    Limit(u64),
}

struct Member {
    process: Process<Vec<Link>>,
    monitor: Monitor<Vec<LinkMonitor>>,
    /// When the probe that is under way on each link was sent.
    probed: Vec<Option<u64>>,
    /// The links whose answers the check waits for.
    awaited: Vec<bool>,
    /// Checks that the process has measured for.
    measured: u64,
    /// Whether the process has ended its part of the broadcast.
    ended: bool,
}

/// All processes.
pub(super) struct Adaptive {
    pub(super) world: World<Event>,
    members: Vec<Member>,
    limit: u64,
    checks: u64,
    /// Bytes of the broadcast under way.
    bytes: usize,
}

/// Returns the number of a link among those of a process: there is one for each other process.
fn link_to(me: usize, neighbour: usize) -> usize {
    neighbour - usize::from(neighbour > me)
}

/// Returns the process at the other end of a link.
fn neighbour(me: usize, link: usize) -> usize {
    link + usize::from(link >= me)
}

impl Adaptive {
    /// Creates processes that know nothing yet about their links.
    pub(super) fn new(world: World<Event>, threshold: u32, limit: u64) -> Result<Self, Failure> {
        let processes = world.processes();
        let member = |me: usize| {
            let links = processes - 1;
            let link = |link| Link::new(neighbour(me, link) as u32, 0);
            let threshold = Threshold {
                percent: threshold,
                hysteresis: 0,
            };
            Ok(Member {
                process: Process::new(me as u32, processes as u32, (0..links).map(link).collect())?,
                monitor: Monitor::new(threshold, vec![LinkMonitor::new(); links]),
                probed: vec![None; links],
                awaited: vec![false; links],
                measured: 0,
                ended: false,
            })
        };
        let members = (0..processes).map(member).collect::<Result<_, Failure>>()?;
        Ok(Adaptive {
            world,
            members,
            limit,
            checks: 0,
            bytes: 0,
        })
    }

    /// Measures all links and builds the tree. Returns how long each took.
    pub(super) fn build(&mut self) -> Result<(u64, u64), Failure> {
        let begin = self.world.now();
        let measured = self.measure(|_| true)?;
        Ok((measured - begin, self.world.now() - measured))
    }

    /// Looks for changes and adapts the tree. Returns how long it took.
    pub(super) fn check(&mut self) -> Result<u64, Failure> {
        let begin = self.world.now();
        self.measure(|link| link.state() == EdgeState::Branch)?;
        Ok(self.world.now() - begin)
    }

    /// Broadcasts along the tree. Returns how long it took.
    pub(super) fn broadcast(&mut self, root: usize, bytes: usize) -> Result<u64, Failure> {
        let begin = self.world.now();
        self.bytes = bytes;
        self.members
            .iter_mut()
            .for_each(|member| member.ended = false);
        self.world.wake(root, begin, Event::Data);
        self.drive(|member| member.ended)?;
        Ok(self.world.now() - begin)
    }

    /// Probes links, waits for the answers that are wanted, and lets every process build or adapt the tree. Returns when
    /// the last process had its answers.
    fn measure(&mut self, wanted: impl Fn(&Link) -> bool) -> Result<u64, Failure> {
        let now = self.world.now();
        self.checks += 1;
        for me in 0..self.members.len() {
            let member = &mut self.members[me];
            for link in 0..member.probed.len() {
                member.awaited[link] =
                    wanted(&member.process.links()[link]) && member.probed[link].is_none();
                if member.probed[link].is_some() {
                    continue;
                }
                member.probed[link] = Some(now);
                let probe = member.monitor.probe(link, now)?;
                let ends = (me, neighbour(me, link));
                self.world
                    .send(Sender::Monitor, ends, PROBE, Event::Probe(probe));
            }
            self.world
                .wake(me, now + self.limit, Event::Limit(self.checks));
        }
        for me in 0..self.members.len() {
            self.act_if_answered(me)?;
        }
        let check = self.checks;
        self.drive(|member| member.measured == check)?;
        let measured = self.world.now();
        self.drive(|member| member.process.is_settled())?;
        Ok(measured)
    }

    /// Lets time pass until all processes have what they wait for.
    fn drive(&mut self, is_over: impl Fn(&Member) -> bool) -> Result<(), Failure> {
        while !self.members.iter().all(&is_over) {
            let arrival = self.world.next().ok_or(Failure::Stalled)?;
            self.take(arrival)?;
        }
        Ok(())
    }

    fn take(&mut self, Arrival { to, from, message }: Arrival<Event>) -> Result<(), Failure> {
        let now = self.world.now();
        let member = &mut self.members[to];
        match message {
            Event::Tree(message) => {
                member.process.receive(link_to(to, from), &message)?;
                self.flush(to);
            }
            Event::Probe(probe) => {
                let reply = Event::Reply(probe.answer(now, now));
                self.world.send(Sender::Monitor, (to, from), PROBE, reply);
            }
            Event::Reply(reply) => {
                let link = link_to(to, from);
                member.monitor.reply(link, &reply, now)?;
                member.probed[link] = None;
                member.awaited[link] = false;
                self.act_if_answered(to)?;
            }
            Event::Limit(check) => {
                if member.measured < check {
                    self.act(to)?;
                }
            }
            Event::Data => {
                let parent = (from != to).then(|| link_to(to, from));
                for child in member.process.tree(parent).children() {
                    self.world
                        .send(Sender::Process, (to, child), self.bytes, Event::Data);
                }
                self.world.wake(to, self.world.free_at(to), Event::Sent);
            }
            Event::Sent => member.ended = true,
        }
        Ok(())
    }

    fn act_if_answered(&mut self, me: usize) -> Result<(), Failure> {
        let member = &self.members[me];
        if member.measured < self.checks && !member.awaited.contains(&true) {
            self.act(me)?;
        }
        Ok(())
    }

    /// Ends the measurement of a process: what has changed becomes a weight, and the tree is built or adapted.
    fn act(&mut self, me: usize) -> Result<(), Failure> {
        let now = self.world.now();
        let member = &mut self.members[me];
        member.measured = self.checks;
        for link in 0..member.probed.len() {
            let first = self.checks == 1;
            let in_tree = member.process.links()[link].state() == EdgeState::Branch;
            let used = member.monitor.in_use(link);
            if let Some(sent) = member.probed[link].filter(|_| first || in_tree) {
                // The link is at least as slow as this.
                let latency = (now - sent) / 2;
                if used.is_none_or(|used| used < latency) {
                    member.monitor.sample(link, latency)?;
                }
            }
            let forecast = member
                .monitor
                .forecast(link)
                .map(|forecast| forecast.latency);
            if (first || in_tree || forecast < used)
                && let Some(weight) = member.monitor.change(link)
            {
                member.process.set_weight(link, weight)?;
            }
        }
        match self.checks {
            1 => member.process.start(),
            _ => {
                member.process.adapt();
            }
        }
        self.flush(me);
        Ok(())
    }

    /// Sends what a process has to say to its neighbours.
    fn flush(&mut self, me: usize) {
        while let Some((link, message)) = self.members[me].process.next_outgoing() {
            let ends = (me, neighbour(me, link));
            self.world.send(
                Sender::Process,
                ends,
                size_of::<Message>(),
                Event::Tree(message),
            );
        }
    }
}
