//! The client of PMI-1, the protocol between a process and the launcher that started it (Hydra's `mpiexec`, and `srun
//! --mpi=pmi2`), which has lines of `key=value`. `bootstrap` joins by it, `Launcher` leaves by it.

use super::JobError;
use super::error::{Excerpt, excerpt};
use super::file_descriptor::Descriptor;
use super::launcher_text::ExchangedText;
use crate::environment::{self, number, wrong};
use crate::fixed_string::{Text, text};
use crate::settings::whole;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int};
use core::mem::zeroed;
use core::ptr::null_mut;
use pombo_kernel::text::split_once;
use pombo_netdrivers::Errno;
use pombo_netdrivers::tuning::OUTPUT_PAUSE;
use pombo_netdrivers::wait::sleep;

/// The connection to the launcher.
pub(crate) struct Pmi {
    connection: PmiConnection,
    rank: usize,
    size: usize,
    /// The name of the job's key-value store.
    store: Text<256>,
    /// Largest number of bytes of a value.
    longest: usize,
}

impl Pmi {
    /// Connects to the launcher if the environment names one.
    pub(super) fn connect() -> Result<Option<Box<Self>>, Box<JobError>> {
        if let Some(descriptor) = number(c"PMI_FD")? {
            let place = number(c"PMI_RANK")?.zip(number(c"PMI_SIZE")?);
            let place = place.ok_or(wrong(c"PMI_RANK and PMI_SIZE", "set where PMI_FD is"))?;
            let connection =
                PmiConnection::over(Descriptor::returned(descriptor as c_int, "use PMI_FD")?);
            outlive_others();
            return Self::begin(connection, place).map(Some);
        }
        let Some(port) = environment::text(c"PMI_PORT") else {
            return Ok(None);
        };
        let id = number(c"PMI_ID")?.ok_or(wrong(c"PMI_ID", "set where PMI_PORT is"))?;
        let mut connection = PmiConnection::over(connect_to(port)?);
        let place = connection.exchange_cards(id)?;
        Self::begin(connection, place).map(Some)
    }

    fn begin(
        mut connection: PmiConnection,
        (rank, size): (usize, usize),
    ) -> Result<Box<Self>, Box<JobError>> {
        if rank >= size {
            return Err(wrong(c"PMI_RANK and PMI_SIZE", "a rank below a size"));
        }
        let hello = "cmd=init pmi_version=1 pmi_subversion=1\n";
        connection.ask("version 1 of PMI", hello, "response_to_init")?;
        let most = connection.ask("its limits", "cmd=get_maxes\n", "maxes")?;
        let longest = most.number("vallen_max")?;
        let name = "cmd=get_my_kvsname\n";
        let name = connection.ask("the name of the job", name, "my_kvsname")?;
        Ok(Box::new(Pmi {
            rank,
            size,
            longest,
            store: Text::from(name.field("kvsname")?),
            connection,
        }))
    }

    /// Returns the rank of this process.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Publishes a value: others can get it after a [`Pmi::barrier`].
    fn put(&mut self, key: &str, value: &str) -> Result<(), Box<JobError>> {
        let asked = "room for a value";
        if value.len() >= self.longest {
            return Err(Box::new(JobError::LauncherRefused {
                asked,
                said: Excerpt::new(text!("a value has less than {} bytes", self.longest)),
            }));
        }
        let store = &self.store;
        let line: PmiLine = text!("cmd=put kvsname={} key={} value={}\n", store, key, value);
        self.connection
            .ask(asked, line.as_str(), "put_result")
            .map(drop)
    }

    /// Waits for all ranks, however long they take.
    fn barrier(&mut self) -> Result<(), Box<JobError>> {
        let answer = self
            .connection
            .ask("all ranks", "cmd=barrier_in\n", "barrier_out");
        answer.map(drop)
    }

    /// Returns a published value.
    fn get(&mut self, key: &str) -> Result<ExchangedText, Box<JobError>> {
        let line: PmiLine = text!("cmd=get kvsname={} key={}\n", self.store, key);
        let asked = "a value of another rank";
        let answer = self.connection.ask(asked, line.as_str(), "get_result")?;
        Ok(ExchangedText::from(answer.field("value")?))
    }

    /// Publishes a text and returns those of all ranks, in rank order.
    pub(super) fn exchange(
        &mut self,
        name: &str,
        own: &ExchangedText,
    ) -> Result<Vec<ExchangedText>, Box<JobError>> {
        let key = |rank: usize| -> ExchangedText { text!("{}-{}", name, rank) };
        self.put(key(self.rank).as_str(), own.as_str())?;
        self.barrier()?;
        let mut all = Vec::with_capacity(self.size);
        for rank in 0..self.size {
            all.push(self.get(key(rank).as_str())?);
        }
        Ok(all)
    }

    /// Tells the launcher that this rank leaves regularly.
    pub(crate) fn finish(&mut self) -> Result<(), Box<JobError>> {
        let line = "cmd=finalize\n";
        self.connection
            .ask("leave to go", line, "finalize_ack")
            .map(drop)
    }

    /// Tells the launcher that the whole job has to end. Hydra then ends it at once, and loses output of the ranks that
    /// it has not forwarded yet: so every rank first gets the time to report errors.
    pub(crate) fn abort(&mut self, code: c_int) {
        let line: PmiLine = text!("cmd=abort exitcode={}\n", code);
        sleep(OUTPUT_PAUSE);
        // If this fails, there is nobody left to tell.
        let _ = self.connection.descriptor.write_all(line.as_bytes());
    }
}

/// Hydra under `-disable-auto-cleanup` sends this signal to all ranks that are left when one has died. Nobody needs it,
/// as the channel says who it was, but it would end a program that does not handle it.
fn outlive_others() {
    extern "C" fn handle(_: c_int) {}
    // SAFETY: zeros are a valid action, both actions are valid for the calls, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(libc::SIGUSR1, null_mut(), &mut action);
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGUSR1, &action, null_mut());
        }
    }
}

/// Gives such a launcher the time to pass on what this rank has said before it has joined, if there is one.
#[cold]
pub(super) fn wait_for_output() {
    if environment::text(c"PMI_FD")
        .or(environment::text(c"PMI_PORT"))
        .is_none()
    {
        return;
    }
    sleep(OUTPUT_PAUSE);
}

/// Lines to and from the launcher.
struct PmiConnection {
    descriptor: Descriptor,
    /// Bytes that have arrived and are not read yet, at most [`LINE`].
    got: Vec<u8>,
}

/// Bytes of the longest line: a value of 1024, the names of key and store, and the keywords.
const LINE: usize = 1536;

type PmiLine = Text<LINE>;

impl PmiConnection {
    fn over(descriptor: Descriptor) -> Self {
        let got = Vec::new();
        PmiConnection { descriptor, got }
    }

    /// Sends a line and reads the answer, which must be that command and no refusal.
    fn ask(
        &mut self,
        asked: &'static str,
        line: &str,
        command: &str,
    ) -> Result<Answer, Box<JobError>> {
        let sent = self.descriptor.write_all(line.as_bytes());
        if sent.is_err_and(|error| error.is(libc::EPIPE)) {
            return Err(Box::new(JobError::LauncherGone { asked }));
        }
        self.answer(asked, command)
    }

    fn answer(&mut self, asked: &'static str, command: &str) -> Result<Answer, Box<JobError>> {
        let line = self.line(asked)?;
        let answer = Answer { asked, line };
        if answer.get("cmd") != Some(command) {
            return Err(answer.wrong());
        }
        match answer.get("rc") {
            None | Some("0") => Ok(answer),
            Some(_) => Err(Box::new(JobError::LauncherRefused {
                asked,
                said: excerpt(answer.get("msg").unwrap_or(answer.line.as_str())),
            })),
        }
    }

    fn line(&mut self, asked: &'static str) -> Result<PmiLine, Box<JobError>> {
        loop {
            if let Some(end) = self.got.iter().position(|byte| *byte == b'\n') {
                // A line that is not UTF-8 is no valid answer.
                let line =
                    PmiLine::from(core::str::from_utf8(&self.got[..end]).unwrap_or("(bytes)"));
                self.got.drain(..=end);
                return Ok(line);
            }
            if self.got.len() >= LINE {
                return Err(Box::new(JobError::LauncherLine { limit: LINE }));
            }
            let mut bytes = [0; 512];
            match self.descriptor.read(&mut bytes) {
                Ok(0) => return Err(Box::new(JobError::LauncherGone { asked })),
                Err(error) if error.is(libc::ECONNRESET) => {
                    return Err(Box::new(JobError::LauncherGone { asked }));
                }
                read => self.got.extend_from_slice(&bytes[..read?]),
            }
        }
    }

    /// Performs the handshake of the port form, which returns rank and size; the descriptor form has them in the
    /// environment.
    fn exchange_cards(&mut self, id: usize) -> Result<(usize, usize), Box<JobError>> {
        let asked = "a place";
        let line: PmiLine = text!("cmd=initack pmiid={}\n", id);
        self.ask(asked, line.as_str(), "initack")?;
        let (mut rank, mut size) = (None, None);
        for _ in 0..3 {
            let set = self.answer(asked, "set")?;
            if set.get("rank").is_some() {
                rank = Some(set.number("rank")?);
            } else if set.get("size").is_some() {
                size = Some(set.number("size")?);
            }
        }
        rank.zip(size).ok_or_else(|| {
            Box::new(JobError::LauncherAnswer {
                asked,
                got: excerpt("neither rank nor size"),
            })
        })
    }
}

/// A line from the launcher.
struct Answer {
    asked: &'static str,
    line: PmiLine,
}

impl Answer {
    fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.line.as_str().split_ascii_whitespace();
        pairs.find_map(|pair| {
            let (name, value) = split_once(pair, b'=')?;
            (name == key).then_some(value)
        })
    }

    fn field(&self, key: &str) -> Result<&str, Box<JobError>> {
        let value = self.get(key).filter(|value| !value.is_empty());
        value.ok_or_else(|| self.wrong())
    }

    fn number(&self, key: &str) -> Result<usize, Box<JobError>> {
        whole(self.field(key)?.as_bytes()).ok_or_else(|| self.wrong())
    }

    fn wrong(&self) -> Box<JobError> {
        Box::new(JobError::LauncherAnswer {
            asked: self.asked,
            got: excerpt(self.line.as_str()),
        })
    }
}

/// Connects to `host:port`.
fn connect_to(place: &str) -> Result<Descriptor, Box<JobError>> {
    const DOING: &str = "connect to the launcher that PMI_PORT names";
    let must = || wrong(c"PMI_PORT", "a host, a colon and a port");
    let colon = place.bytes().rposition(|byte| byte == b':');
    let parts = colon.and_then(|at| Some((place.get(..at)?, place.get(at + 1..)?)));
    let (host, port) = parts.ok_or_else(must)?;
    let name = |text: &str| -> Text<256> { text!("{}\0", text) };
    let (host, port) = (name(host), name(port));
    let (host, port) = (
        CStr::from_bytes_with_nul(host.as_bytes()),
        CStr::from_bytes_with_nul(port.as_bytes()),
    );
    let (host, port) = (host.map_err(|_| must())?, port.map_err(|_| must())?);
    // SAFETY: zeros are valid hints.
    let mut hints: libc::addrinfo = unsafe { zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut list = null_mut();
    // SAFETY: the arguments are two C strings, valid hints, and a valid pointer for the result.
    if unsafe { libc::getaddrinfo(host.as_ptr(), port.as_ptr(), &hints, &mut list) } != 0 {
        return Err(must());
    }
    let (mut result, mut entry) = (Err(must()), list.cast_const());
    while !entry.is_null() && result.is_err() {
        // SAFETY: the pointer is not null, so it is an entry of the list, which is freed below; its address is valid
        // for its length.
        unsafe {
            let (kind, address) = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC, (*entry).ai_addr);
            let number = libc::socket((*entry).ai_family, kind, 0);
            result = Descriptor::returned(number, DOING).and_then(|socket| {
                let connected = libc::connect(number, address, (*entry).ai_addrlen);
                let connected = Errno::check(connected).map_err(JobError::failed(DOING));
                connected.map(|_| socket)
            });
            entry = (*entry).ai_next;
        }
    }
    // SAFETY: the list came from getaddrinfo, and nothing of it is used any more.
    unsafe { libc::freeaddrinfo(list) };
    result
}

#[cfg(test)]
#[path = "pmi_tests.rs"]
mod tests;
