//! Ranks as automata: a vertex is a rank with a history, an edge is an input. The kernel runs once per history to make
//! a vertex, however often the explorer visits it.

use crate::rank::{Act, END, End, Frames, Input, NOTHING, Peeked, Setup, Stimulus, replay};
use pombo_kernel::Config;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Largest number of ranks of a world.
pub(crate) const RANKS: usize = 3;

pub(crate) struct Vertex {
    parent: u32,
    /// The last input; without meaning in the first vertex.
    pub(crate) input: Input,
    pub(crate) depth: usize,
    /// Number of completed steps of its program.
    pub(crate) acts: usize,
    /// Number of consecutive tries of its next step without success.
    pub(crate) tries: u32,
    /// Number of frames taken, by sender.
    pub(crate) taken: [u8; RANKS],
    /// Frames sent, by receiver.
    pub(crate) sent: [Rc<[u32]>; RANKS],
    /// Destinations and cookies of frames whose memory is still needed.
    pub(crate) late: Vec<(u8, u64)>,
    /// Counts of unusual answers of the channel.
    pub(crate) fulls: u32,
    pub(crate) laters: u32,
    /// Calls of `try_send` by the last input: destination, and whether with a cookie.
    pub(crate) calls: Box<[(u8, bool)]>,
    pub(crate) seen: Rc<Peeked>,
    children: Vec<(Input, u32)>,
}

pub(crate) struct Machine<C> {
    pub(crate) setup: Setup,
    pub(crate) vertices: Vec<Vertex>,
    frames: FrameTable,
    sights: HashMap<Rc<Peeked>, (), Quick>,
    _composition: PhantomData<C>,
}

/// A violation of an invariant by the kernel.
pub(crate) struct Fault {
    pub(crate) why: String,
    pub(crate) parent: u32,
    pub(crate) input: Input,
}

#[derive(Default)]
struct FrameTable {
    all: Vec<Rc<[u8]>>,
    ids: HashMap<Rc<[u8]>, u32, Quick>,
}

impl Frames for FrameTable {
    fn frame(&self, id: u32) -> Rc<[u8]> {
        self.all[id as usize].clone()
    }
}

impl FrameTable {
    fn intern(&mut self, bytes: &[u8]) -> u32 {
        if let Some(id) = self.ids.get(bytes) {
            return *id;
        }
        let id = self.all.len() as u32;
        let bytes: Rc<[u8]> = bytes.into();
        self.all.push(bytes.clone());
        self.ids.insert(bytes, id);
        id
    }
}

impl<C: Config> Machine<C> {
    /// Creates the machine; vertex r is rank r in its initial state.
    pub(crate) fn new(setup: Setup) -> Self {
        let mut machine = Machine {
            setup,
            vertices: Vec::new(),
            frames: FrameTable::default(),
            sights: HashMap::default(),
            _composition: PhantomData,
        };
        let nothing: Rc<[u32]> = Rc::new([]);
        for rank in 0..setup.peers {
            machine.vertices.push(Vertex {
                parent: rank.into(),
                input: Input {
                    stimulus: crate::rank::IDLE,
                    answers: Default::default(),
                },
                depth: 0,
                acts: 0,
                tries: 0,
                taken: [0; RANKS],
                sent: std::array::from_fn(|_| nothing.clone()),
                late: Vec::new(),
                fulls: 0,
                laters: 0,
                calls: Box::new([]),
                seen: Rc::new(Peeked {
                    lengths: Some((0, 0, 0)),
                    flushed: true,
                    ..Peeked::default()
                }),
                children: Vec::new(),
            });
        }
        machine
    }

    pub(crate) fn vertex(&self, id: u32) -> &Vertex {
        &self.vertices[id as usize]
    }

    pub(crate) fn frame(&self, id: u32) -> &[u8] {
        &self.frames.all[id as usize]
    }

    /// Returns the rank of a vertex, and its inputs.
    pub(crate) fn history(&self, mut id: u32) -> (u8, Vec<Input>) {
        let mut inputs = Vec::new();
        while self.vertex(id).depth > 0 {
            inputs.push(self.vertex(id).input);
            id = self.vertex(id).parent;
        }
        inputs.reverse();
        (id as u8, inputs)
    }

    /// Returns all vertices on the path to a vertex, itself included, without the first.
    pub(crate) fn path(&self, mut id: u32) -> Vec<u32> {
        let mut path = Vec::new();
        while self.vertex(id).depth > 0 {
            path.push(id);
            id = self.vertex(id).parent;
        }
        path.reverse();
        path
    }

    /// Returns the vertex of the rank after one more input.
    pub(crate) fn child(&mut self, parent: u32, input: Input) -> Result<u32, Fault> {
        let children = &self.vertex(parent).children;
        if let Some((_, child)) = children.iter().find(|(known, _)| *known == input) {
            return Ok(*child);
        }
        let (me, mut inputs) = self.history(parent);
        inputs.push(input);
        let setup = Setup { me, ..self.setup };
        let run = || replay::<C>(setup, &inputs, &self.frames);
        let fault = |why| Fault { why, parent, input };
        let (seen, calls) =
            catch_unwind(AssertUnwindSafe(run)).map_err(|panic| fault(message(&*panic)))?;
        let before = self.vertex(parent);
        let mut taken = before.taken;
        let mut late = before.late.clone();
        let mut sent: [Vec<u32>; RANKS] = Default::default();
        for call in &calls {
            if let Some(frame) = &call.frame {
                let id = self.frames.intern(frame);
                sent[usize::from(call.to)].push(id);
            }
        }
        note_stimulus(input.stimulus, &mut taken, &mut late);
        let mut laters = 0;
        for (index, call) in calls.iter().enumerate() {
            if let Some(cookie) = call.cookie
                && call.frame.is_some()
                && input.answers.later & (1 << index) != 0
            {
                late.push((call.to, cookie));
                laters += 1;
            }
        }
        self.check_rank(&seen, input, &late).map_err(fault)?;
        let before = self.vertex(parent);
        let is_act = matches!(input.stimulus, Stimulus::Act(_));
        let vertex = Vertex {
            parent,
            input,
            depth: before.depth + 1,
            acts: before.acts + usize::from(is_act && !seen.stalled),
            tries: match is_act {
                true if seen.stalled => before.tries + 1,
                true => 0,
                false => before.tries,
            },
            taken,
            sent: std::array::from_fn(|to| match sent[to].is_empty() {
                true => before.sent[to].clone(),
                false => [&before.sent[to][..], &sent[to]].concat().into(),
            }),
            late,
            fulls: before.fulls + input.answers.full.count_ones(),
            laters: before.laters + laters,
            calls: calls
                .iter()
                .map(|call| (call.to, call.cookie.is_some()))
                .collect(),
            seen: self.share(seen),
            children: Vec::new(),
        };
        let id = self.vertices.len() as u32;
        self.vertices.push(vertex);
        self.vertices[parent as usize].children.push((input, id));
        Ok(id)
    }

    fn share(&mut self, seen: Peeked) -> Rc<Peeked> {
        if let Some((same, ())) = self.sights.get_key_value(&seen) {
            return same.clone();
        }
        let seen = Rc::new(seen);
        self.sights.insert(seen.clone(), ());
        seen
    }

    /// Checks the invariants of a rank.
    fn check_rank(&self, seen: &Peeked, input: Input, late: &[(u8, u64)]) -> Result<(), String> {
        if seen.rejected > 0 {
            return Err("a frame of an honest peer was rejected".into());
        }
        if let Some((operations, expected, unexpected)) = seen.lengths {
            let bound = self.setup.credit as usize * usize::from(self.setup.peers);
            if unexpected > bound {
                return Err(format!("{unexpected} messages in a pool for {bound}"));
            }
            let pending = seen.ends.iter().filter(|end| end.is_open()).count();
            if self.setup.claim_early && operations < pending {
                return Err(format!("{operations} operations, {pending} are pending"));
            }
            if expected > operations {
                return Err(format!("{expected} expected, {operations} operations"));
            }
        }
        for (_, cookie) in late {
            let operation = seen.tickets.iter().position(|ticket| ticket == cookie);
            let end = operation.map(|operation| seen.ends[operation]);
            // Operations that belong to the kernel from the start have no name here.
            if end.is_some_and(|end| !matches!(end, End::Pending | End::Orphan | End::Copied)) {
                return Err(format!(
                    "a send ends as {end:?}, but its memory is still needed"
                ));
            }
        }
        if seen.unmoved && !seen.flushed && input.answers.full == 0 {
            return Err("a poll says that nothing moved, but frames are due".into());
        }
        Ok(())
    }
}

fn note_stimulus(stimulus: Stimulus, taken: &mut [u8; RANKS], late: &mut Vec<(u8, u64)>) {
    match stimulus {
        Stimulus::Act(_) => {}
        Stimulus::Poll(frames) => {
            for frame in frames.into_iter().filter(|frame| *frame != NOTHING) {
                taken[usize::from(frame.0)] += 1;
                if frame.1 == END {
                    late.retain(|(to, _)| *to != frame.0);
                }
            }
        }
        Stimulus::Landed(cookie) => {
            let at = late.iter().position(|(_, late)| *late == cookie);
            late.remove(at.expect("it is under way"));
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("no message"))
}

impl<C: Config> Machine<C> {
    /// Describes an input for reports.
    pub(crate) fn describe(&self, input: Input) -> String {
        let event = match input.stimulus {
            Stimulus::Act(Act::Detach(n)) => format!("copies operation {n}"),
            Stimulus::Act(Act::Cancel(n)) => format!("cancels operation {n}"),
            Stimulus::Act(act) => format!("{act:?}"),
            Stimulus::Landed(cookie) => format!("lands {cookie:#x}"),
            Stimulus::Poll(frames) => {
                let frames = frames.iter().filter(|frame| **frame != NOTHING);
                let words = frames.map(|&(from, id)| match id {
                    END => format!("the end of {from}"),
                    id => format!("{} from {from}", frame_in_words(self.frame(id))),
                });
                format!("polls [{}]", words.collect::<Vec<_>>().join(", "))
            }
        };
        format!("{event}{}", answers_in_words(input))
    }
}

fn answers_in_words(input: Input) -> String {
    let crate::wire::Answers { full, later, lost } = input.answers;
    let mut words = String::new();
    for (mask, word) in [(full, "full"), (later, "later"), (lost, "lost")] {
        if mask != 0 {
            words += &format!(", {word} at calls {mask:#b}");
        }
    }
    words
}

/// Describes a frame: its kind by name, the rest in decimal.
pub(crate) fn frame_in_words(frame: &[u8]) -> String {
    const KINDS: [&str; 19] = [
        "Eager",
        "Rts",
        "Cts",
        "Data",
        "Abort",
        "Credit",
        "Hold",
        "MatchQuery",
        "MatchReply",
        "NoMatch",
        "Reject",
        "Cancel",
        "CancelReply",
        "Accept",
        "RecvHint",
        "RtsWithData",
        "Fin",
        "EarlyData",
        "CtsBehind",
    ];
    let kind = KINDS
        .get(usize::from(frame[0]).wrapping_sub(1))
        .unwrap_or(&"?");
    let rest: Vec<_> = frame[2..].iter().take(24).map(u8::to_string).collect();
    format!("{kind}+{}({})", frame[1], rest.join(" "))
}

/// A fast hash; its keys are not adversarial.
#[derive(Default)]
pub(crate) struct Mix(u64);

pub(crate) type Quick = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}
