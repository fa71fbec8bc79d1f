// SPDX-License-Identifier: Apache-2.0
//! The files of a node's transfers: what comes, what goes, and what became of each.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::sync::Arc;

use slotwise_gtp::{Digest, Ended, Event, Node, Reason, Said, TransferId, TransferStats, Verdict};
use slotwise_units::{Bytes, Instant};

use super::disk::{DiskSink, DiskSource};
use super::hasher::Hasher;
use super::report::{Counts, Outcome, Report, Role};
use super::store::{Directory, Part};

/// Bytes that come between two notes of how many are here.
const SAVE_BYTES: u64 = 16 << 20;

/// GTP with files at its ends.
pub type FileNode = Node<DiskSource, DiskSink>;

/// Where what others send goes.
pub enum Taking {
    /// Nowhere: they are refused.
    Nothing,
    /// Under their names into the directory, if they are no longer than that.
    Files {
        /// Longest file.
        max_bytes: Bytes,
    },
}

/// What the caller is to know.
pub enum News {
    /// A channel that was asked for is open.
    Opened(u32),
    /// A channel is no more; what its other end had said.
    Lost(Said),
    /// A transfer is over.
    Ended(Box<Report>),
}

enum Content {
    /// To be hashed before it is offered.
    Hashing(Arc<File>),
    Sending(Digest),
    /// Asked for here: its place is known, and not yet what it is.
    Asked,
    Receiving(Box<Part>),
    /// Received: to be compared.
    Comparing(Box<Part>),
    /// What came has this SHA-256, and the other end is told what became of it.
    Compared(Digest, Verdict),
}

struct Entry {
    role: Role,
    name: String,
    peer: String,
    content: Content,
    bytes: Bytes,
    /// Bytes that were here before.
    resumed: u64,
    began: Instant,
    /// When the last byte was here.
    ended: Option<Instant>,
    /// Bytes that were here without gaps when it was last looked; the node knows none of a channel that is lost.
    here: u64,
}

impl Entry {
    /// Looks how much is here without gaps, on disk: a byte that could not be written is not.
    fn look(&mut self, node: &FileNode, id: TransferId) {
        if let Some(sink) = node.transfer_stats(id).sink {
            let came = self.resumed + sink.in_order.get();
            self.here = node.content(id).map_or(came, |content| content.written(came));
        }
    }

    /// Notes what is here of what comes.
    fn note_all(&mut self) {
        if let Content::Receiving(part) = &mut self.content
            && self.here > part.here()
        {
            // What cannot be noted is sent again.
            let _ = part.save(self.here);
        }
    }
}

/// All transfers' files.
pub struct Desk {
    pub hasher: Hasher,
    directory: Directory,
    taking: Taking,
    /// Whether files of the directory may be had.
    gives: bool,
    entries: BTreeMap<TransferId, Entry>,
    /// The name in the directory for what was asked for.
    wanted: Option<OsString>,
    news: VecDeque<News>,
}

impl Desk {
    /// Of who serves a directory.
    pub fn serving(hasher: Hasher, directory: Directory, taking: Taking) -> Desk {
        Desk {
            hasher,
            directory,
            taking,
            gives: true,
            entries: BTreeMap::new(),
            wanted: None,
            news: VecDeque::new(),
        }
    }

    /// Of who asks for one file, to be `wanted` in the directory, or sends one.
    pub fn asking(hasher: Hasher, directory: Directory, wanted: Option<OsString>) -> Desk {
        Desk {
            gives: false,
            wanted,
            ..Desk::serving(hasher, directory, Taking::Nothing)
        }
    }

    fn entry(role: Role, (name, peer): (&str, &str), now: Instant, content: Content) -> Entry {
        Entry {
            role,
            name: name.into(),
            peer: peer.into(),
            content,
            bytes: Bytes::ZERO,
            resumed: 0,
            began: now,
            ended: None,
            here: 0,
        }
    }

    /// This end asks for a file.
    pub fn asked(&mut self, now: Instant, id: TransferId, (name, peer): (&str, &str)) {
        self.entries
            .insert(id, Desk::entry(Role::Receive, (name, peer), now, Content::Asked));
    }

    /// This end sends a file, which is hashed.
    pub fn sends(
        &mut self,
        now: Instant,
        id: TransferId,
        (name, peer): (&str, &str),
        (bytes, digest): (Bytes, Digest),
    ) {
        let entry = Desk::entry(Role::Send, (name, peer), now, Content::Sending(digest));
        self.entries.insert(id, Entry { bytes, ..entry });
    }

    /// The next of what the caller is to know, oldest first.
    pub fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Takes what happened at the node.
    pub fn on_event(&mut self, now: Instant, node: &mut FileNode, event: Event) {
        match event {
            Event::Opened(channel) => self.news.push_back(News::Opened(channel)),
            Event::Lost { said, transfers, .. } => {
                for (id, ended, stats) in transfers {
                    if let Some(entry) = self.entries.get_mut(&id) {
                        entry.note_all();
                    }
                    self.report(now, id, Outcome::Over(ended), stats);
                }
                self.news.push_back(News::Lost(said));
            }
            Event::Wanted { id, name } => self.on_wanted(now, node, id, &name),
            Event::Offered {
                id,
                name,
                bytes,
                digest,
            } => {
                if let Err(reason) = self.on_offered(now, node, id, (&name, bytes, digest)) {
                    self.refuse(now, node, id, reason);
                }
            }
            Event::Received(id) => self.on_received(now, node, id),
            Event::Ended(id, ended) => self.ended(now, node, id, Outcome::Over(ended)),
        }
    }

    /// This end is to stop: what is here is noted, and all transfers are over. One that came whole and has its name is so, whether the other end
    /// has said that it knows or not.
    pub fn stop(&mut self, now: Instant, node: &mut FileNode) {
        self.save(node, true);
        for id in self.entries.keys().copied().collect::<Vec<_>>() {
            let outcome = match self.entries[&id].content {
                Content::Compared(_, verdict) => Outcome::Over(Ended::Done(verdict)),
                _ => Outcome::Interrupted,
            };
            self.ended(now, node, id, outcome);
        }
    }

    /// Ends transfers of files that cannot be written: no more of them is to come.
    pub fn fail(&mut self, now: Instant, node: &mut FileNode) {
        let cannot_be_written = |(id, entry): &(&TransferId, &Entry)| {
            let sink = node
                .content(**id)
                .filter(|_| matches!(entry.content, Content::Receiving(_)));
            sink.is_some_and(|sink| sink.error().is_some())
        };
        let ids = self.entries.iter().filter(cannot_be_written).map(|(id, _)| *id);
        for id in ids.collect::<Vec<_>>() {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.look(node, id);
                entry.note_all();
            }
            self.refuse(now, node, id, Reason::Storage);
        }
    }

    fn peer(node: &FileNode, id: TransferId) -> String {
        node.address(id.channel)
            .map_or_else(String::new, |address| address.to_string())
    }

    fn on_wanted(&mut self, now: Instant, node: &mut FileNode, id: TransferId, name: &str) {
        let file = match self.gives {
            true => self.directory.read(name),
            false => Err(Reason::Missing),
        };
        let entry = Desk::entry(Role::Send, (name, &Desk::peer(node, id)), now, Content::Asked);
        self.entries.insert(id, entry);
        match file {
            Ok((file, bytes)) => {
                let file = Arc::new(file);
                self.hasher.add(id, &file, bytes);
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.bytes = bytes;
                    entry.content = Content::Hashing(file);
                }
            }
            Err(reason) => self.refuse(now, node, id, reason),
        }
    }

    fn on_offered(
        &mut self,
        now: Instant,
        node: &mut FileNode,
        id: TransferId,
        (name, bytes, digest): (&str, Bytes, Digest),
    ) -> Result<(), Reason> {
        let is_asked = self.entries.contains_key(&id);
        let peer = Desk::peer(node, id);
        let entry = self.entries.entry(id);
        let entry = entry.or_insert_with(|| Desk::entry(Role::Receive, (name, &peer), now, Content::Asked));
        entry.bytes = bytes;
        let place = match (is_asked, &self.wanted, &self.taking) {
            (true, Some(wanted), _) => wanted.as_os_str(),
            (false, _, Taking::Files { max_bytes }) if bytes <= *max_bytes => OsStr::new(name),
            (false, _, Taking::Files { .. }) => return Err(Reason::TooLong),
            _ => return Err(Reason::Forbidden),
        };
        let part = self.directory.receive(place, bytes, digest)?;
        entry.resumed = part.here();
        entry.here = part.here();
        entry.began = now;
        let taken = node.take(now, id, part.here(), part.sink());
        entry.content = Content::Receiving(Box::new(part));
        taken.map_err(|_| Reason::Storage)
    }

    fn on_received(&mut self, now: Instant, node: &mut FileNode, id: TransferId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.ended = Some(now);
        entry.look(node, id);
        let content = std::mem::replace(&mut entry.content, Content::Asked);
        let Content::Receiving(mut part) = content else { return };
        let failed = node.content(id).is_some_and(|sink| sink.error().is_some());
        // Of what was not written, the next try asks again.
        if part.save(entry.here).is_err() || failed {
            self.conclude(now, node, id, Verdict::Storage);
            return;
        }
        self.hasher.add(id, &part.file(), part.bytes());
        entry.content = Content::Comparing(part);
    }

    /// The node knows of each transfer that this has; one that it has forgotten meanwhile needs no answer.
    fn conclude(&mut self, now: Instant, node: &mut FileNode, id: TransferId, verdict: Verdict) {
        let _ = node.conclude(now, id, verdict);
    }

    /// Takes what was hashed.
    pub fn on_hashed(&mut self, now: Instant, node: &mut FileNode) {
        while let Some((id, result)) = self.hasher.done() {
            let Some(entry) = self.entries.get_mut(&id) else {
                continue;
            };
            let content = std::mem::replace(&mut entry.content, Content::Asked);
            match (content, result) {
                (Content::Hashing(file), Ok(digest)) => {
                    entry.content = Content::Sending(digest);
                    entry.began = now;
                    // Of one that the node has forgotten meanwhile it says the end.
                    let _ = node.offer(id, (entry.bytes, digest), DiskSource(file));
                }
                (Content::Hashing(_), Err(_)) => self.refuse(now, node, id, Reason::Storage),
                (Content::Comparing(part), result) => {
                    let verdict = match result {
                        Err(_) => Verdict::Storage,
                        Ok(digest) => {
                            let verdict = keep(*part, digest);
                            entry.content = Content::Compared(digest, verdict);
                            verdict
                        }
                    };
                    self.conclude(now, node, id, verdict);
                }
                (other, _) => entry.content = other,
            }
        }
    }

    /// Notes how much is here of what comes.
    pub fn save(&mut self, node: &FileNode, all: bool) {
        for (id, entry) in &mut self.entries {
            entry.look(node, *id);
            let Content::Receiving(part) = &entry.content else {
                continue;
            };
            if all || entry.here >= part.here() + SAVE_BYTES {
                entry.note_all();
            }
        }
    }

    /// What came or went so far: its name, bytes that are done, bytes in all.
    pub fn progress<'a>(&'a self, node: &'a FileNode) -> impl Iterator<Item = (&'a str, Bytes, Bytes)> {
        self.entries.iter().map(|(id, entry)| {
            let stats = node.transfer_stats(*id);
            let source = stats.source.map_or(Bytes::ZERO, |source| source.bytes);
            let done = Bytes::new(entry.resumed) + stats.sink.map_or(source, |sink| sink.received);
            (entry.name.as_str(), done, entry.bytes)
        })
    }

    /// Says no to the other end.
    fn refuse(&mut self, now: Instant, node: &mut FileNode, id: TransferId, reason: Reason) {
        self.ended(now, node, id, Outcome::Over(Ended::Refused(reason)));
        node.refuse(id, reason);
    }

    fn ended(&mut self, now: Instant, node: &mut FileNode, id: TransferId, outcome: Outcome) {
        let stats = node.transfer_stats(id);
        node.forget(id);
        self.report(now, id, outcome, stats);
    }

    /// Reports a transfer that is over, once.
    fn report(&mut self, now: Instant, id: TransferId, outcome: Outcome, stats: TransferStats) {
        let Some(entry) = self.entries.remove(&id) else { return };
        let digest = match entry.content {
            Content::Sending(digest) | Content::Compared(digest, _) => Some(digest),
            _ => None,
        };
        let counts = Counts {
            role: entry.role,
            name: entry.name,
            peer: entry.peer,
            bytes: entry.bytes,
            resumed_bytes: Bytes::new(entry.resumed),
            duration: entry.ended.unwrap_or(now).saturating_since(entry.began),
            digest,
            stats,
        };
        let report = Box::new(Report::new(&counts, outcome));
        self.news.push_back(News::Ended(report));
    }
}

/// Gives a part its name if it is what it should be.
fn keep(part: Part, digest: Digest) -> Verdict {
    if !part.is(digest) {
        part.discard();
        return Verdict::Differs;
    }
    match part.keep() {
        Ok(()) => Verdict::Whole,
        Err(_) => Verdict::Storage,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use slotwise_gtp::{Key, NodeConfig};
    use slotwise_lambda::{Rule, Steps};
    use slotwise_units::{Duration, Rate};

    use super::*;

    fn node(answers: bool, key: &Key) -> FileNode {
        let config = NodeConfig {
            capacity: Rate::from_bps(50_000_000),
            interval: Duration::from_ms(20),
            rule: Rule::default(),
            steps: Steps::default(),
            packet_bytes: 1500,
            catch_up: Duration::ZERO,
            answers,
            patience: Duration::from_s(1),
            secret: [7; 32],
        };
        Node::new(&config, key.clone()).unwrap()
    }

    /// A node that offers a file, or asks for one, and one whose files a desk has.
    struct World {
        root: tempfile::TempDir,
        now: Instant,
        other: FileNode,
        node: FileNode,
        desk: Desk,
        news: Vec<News>,
    }

    const HERE: ([u8; 4], u16) = ([10, 0, 0, 1], 1);
    const THERE: ([u8; 4], u16) = ([10, 0, 0, 2], 1);

    impl World {
        fn new(taking: Taking) -> World {
            let root = tempfile::tempdir().unwrap();
            let key = Key::generate().unwrap();
            let directory = Directory::open(root.path()).unwrap();
            let (mut other, node) = (node(false, &key), node(true, &key));
            other.connect(Instant::ZERO, SocketAddr::from(HERE), [1; 16]);
            World {
                root,
                now: Instant::ZERO,
                other,
                node,
                desk: Desk::serving(Hasher::start().unwrap(), directory, taking),
                news: Vec::new(),
            }
        }

        /// A millisecond; `ask` when the channel is open.
        fn step(&mut self, ask: impl Fn(&mut FileNode, Instant, u32)) {
            let mut out = Vec::new();
            self.now += Duration::from_ms(1);
            while self.other.poll_transmit(self.now, &mut out).is_some() {
                self.node.handle_datagram(self.now, SocketAddr::from(THERE), &out);
            }
            while let Some(event) = self.other.poll_event() {
                if let Event::Opened(channel) = event {
                    ask(&mut self.other, self.now, channel);
                }
            }
            self.events();
            while self.node.poll_transmit(self.now, &mut out).is_some() {
                self.other.handle_datagram(self.now, SocketAddr::from(HERE), &out);
            }
            self.other.handle_timeout(self.now);
            self.node.handle_timeout(self.now);
        }

        fn events(&mut self) {
            while let Some(event) = self.node.poll_event() {
                self.desk.on_event(self.now, &mut self.node, event);
            }
            self.news.extend(std::iter::from_fn(|| self.desk.poll_news()));
        }

        /// A file of so many zeros is offered as "file".
        fn offer(bytes: u64) -> impl Fn(&mut FileNode, Instant, u32) {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            let bytes = Bytes::new(bytes);
            let mut hashing = crate::xfer::Hashing::default();
            while !hashing.advance(&file, bytes).unwrap() {}
            let (file, digest) = (Arc::new(file), hashing.digest());
            move |node, now, channel| {
                let content = DiskSource(Arc::clone(&file));
                node.put(now, (channel, "file"), (bytes, digest), content).unwrap();
            }
        }

        fn is_at(&self, is_at: impl Fn(&Content) -> bool) -> bool {
            self.desk.entries.values().any(|entry| is_at(&entry.content))
        }

        /// Reports since the last call, and how channels were lost.
        fn told(&mut self) -> (Vec<serde_json::Value>, Vec<Said>) {
            let (mut reports, mut lost) = (Vec::new(), Vec::new());
            for news in self.news.drain(..) {
                match news {
                    News::Ended(report) => reports.push(serde_json::to_value(report).unwrap()),
                    News::Lost(said) => lost.push(said),
                    News::Opened(_) => {}
                }
            }
            (reports, lost)
        }
    }

    #[test]
    fn a_file_that_has_its_name_is_reported_before_the_other_end_knows_of_it() {
        let mut world = World::new(Taking::Files {
            max_bytes: Bytes::new(1),
        });
        let offer = World::offer(0);
        while !world.is_at(|content| matches!(content, Content::Comparing(_))) {
            world.step(&offer);
        }
        assert!(world.news.is_empty());
        poll(
            &mut [PollFd::new(world.desk.hasher.descriptor(), PollFlags::POLLIN)],
            PollTimeout::NONE,
        )
        .unwrap();
        world.desk.on_hashed(Instant::ZERO, &mut world.node);
        world.desk.stop(Instant::ZERO, &mut world.node);
        world.events();
        let (reports, _) = world.told();
        assert!(reports.len() == 1 && reports[0]["ok"] == true, "{reports:?}");
        assert!(world.root.path().join("file").is_file());
        world.desk.stop(Instant::ZERO, &mut world.node);
        assert!(world.desk.poll_news().is_none(), "each is reported once");
    }

    #[test]
    fn transfers_that_are_refused_are_reported() {
        let ask: fn(&mut FileNode, Instant, u32) = |node, now, channel| {
            node.get(now, channel, "file").unwrap();
        };
        let cases: [(Taking, Box<dyn Fn(&mut FileNode, Instant, u32)>, &str, &str); 3] = [
            (Taking::Nothing, Box::new(ask), "no such file", "send"),
            (
                Taking::Nothing,
                Box::new(World::offer(10)),
                "upload not allowed",
                "receive",
            ),
            (
                Taking::Files {
                    max_bytes: Bytes::new(9),
                },
                Box::new(World::offer(10)),
                "file exceeds the size limit of the receiver (--max-bytes)",
                "receive",
            ),
        ];
        for (taking, ask, reason, role) in cases {
            let mut world = World::new(taking);
            while world.news.is_empty() {
                world.step(&ask);
            }
            let (reports, _) = world.told();
            let [report] = &reports[..] else { panic!("{reports:?}") };
            let said = report["error"].as_str().unwrap();
            assert!(said.starts_with(&format!("rejected: {reason}")), "{said}");
            assert!(report["role"] == role && report["file"] == "file" && report["peer"] == "10.0.0.2:1");
            assert_eq!(report["goodput_bps"], 0);
        }
    }

    #[test]
    fn transfers_that_are_cut_off_are_reported() {
        type Cut = fn(&mut World);
        let cases: [(Cut, &str, &[Said]); 3] = [
            (
                |world| {
                    world.now += Duration::from_s(2);
                    world.node.handle_timeout(world.now);
                },
                "no response from the peer",
                &[Said::Something],
            ),
            (
                |world| {
                    world.other.leave();
                    world.step(|_, _, _| ());
                },
                "peer stopped",
                &[Said::Close],
            ),
            (|world| world.desk.stop(world.now, &mut world.node), "stopped here", &[]),
        ];
        for (cut, reason, said) in cases {
            let mut world = World::new(Taking::Files {
                max_bytes: Bytes::new(1 << 40),
            });
            let offer = World::offer(10_000_000);
            let has_some = |world: &World| {
                let ids = world.desk.entries.keys();
                let sinks = ids.filter_map(|id| world.node.transfer_stats(*id).sink);
                sinks.map(|sink| sink.received).sum::<Bytes>() > Bytes::new(100_000)
            };
            while !has_some(&world) {
                world.step(&offer);
            }
            cut(&mut world);
            world.events();
            let (reports, lost) = world.told();
            let [report] = &reports[..] else { panic!("{reports:?}") };
            assert_eq!(report["error"], format!("interrupted: {reason}"));
            assert!(
                report["role"] == "receive" && report["packets"].as_u64() > Some(50),
                "{report}"
            );
            assert_eq!(report["ok"], false);
            assert_eq!(lost, said);
        }
    }
}
