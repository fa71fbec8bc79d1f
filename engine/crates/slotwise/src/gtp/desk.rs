// SPDX-License-Identifier: Apache-2.0
//! The files of a node's transfers: what comes, what goes, and what became of each.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use slotwise_gtp::{Digest, Ended, Event, Node, Reason, Said, TransferId, Verdict};

use super::hasher::Hasher;
use super::report::{Counts, Report};
use super::store::{Directory, DiskSink, DiskSource, Part};

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
        max_bytes: u64,
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
    name: String,
    peer: String,
    content: Content,
    bytes: u64,
    /// Bytes that were here before.
    resumed: u64,
    began_ns: u64,
    /// When the last byte was here.
    ended_ns: Option<u64>,
    /// Bytes that were here without gaps when it was last looked; the node knows none of a channel that is lost.
    here: u64,
}

impl Entry {
    /// Looks how much is here without gaps, on disk: a byte that could not be written is not.
    fn look(&mut self, node: &FileNode, id: TransferId) {
        if let Some(sink) = node.transfer_stats(id).sink {
            let came = self.resumed + sink.in_order_bytes;
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
    wanted: Option<String>,
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
        }
    }

    /// Of who asks for one file, to be `name` in the directory, or sends one.
    pub fn asking(hasher: Hasher, directory: Directory, name: String) -> Desk {
        Desk {
            gives: false,
            wanted: Some(name),
            ..Desk::serving(hasher, directory, Taking::Nothing)
        }
    }

    fn entry(name: &str, peer: &str, now_ns: u64, content: Content) -> Entry {
        Entry {
            name: name.into(),
            peer: peer.into(),
            content,
            bytes: 0,
            resumed: 0,
            began_ns: now_ns,
            ended_ns: None,
            here: 0,
        }
    }

    /// This end asks for a file.
    pub fn asked(&mut self, now_ns: u64, id: TransferId, (name, peer): (&str, &str)) {
        self.entries.insert(id, Desk::entry(name, peer, now_ns, Content::Asked));
    }

    /// This end sends a file, which is hashed.
    pub fn sends(&mut self, now_ns: u64, id: TransferId, (name, peer): (&str, &str), (bytes, digest): (u64, Digest)) {
        let entry = Desk::entry(name, peer, now_ns, Content::Sending(digest));
        self.entries.insert(id, Entry { bytes, ..entry });
    }

    /// Takes what happened at the node.
    pub fn on_event(&mut self, now_ns: u64, node: &mut FileNode, event: Event) -> Option<News> {
        match event {
            Event::Opened(channel) => return Some(News::Opened(channel)),
            Event::Lost { channel, said, .. } => {
                self.entries.retain(|id, entry| {
                    let is_lost = id.channel == channel;
                    if is_lost {
                        entry.note_all();
                    }
                    !is_lost
                });
                return Some(News::Lost(said));
            }
            Event::Wanted { id, name } => self.on_wanted(now_ns, node, id, &name),
            Event::Offered {
                id,
                name,
                bytes,
                digest,
            } => {
                if let Err(reason) = self.on_offered(now_ns, node, id, (&name, bytes, digest)) {
                    node.refuse(id, reason);
                    return self.ended(now_ns, node, id, Ended::Refused(reason)).map(News::Ended);
                }
            }
            Event::Received(id) => self.on_received(now_ns, node, id),
            Event::Ended(id, ended) => return self.ended(now_ns, node, id, ended).map(News::Ended),
        }
        None
    }

    /// A file that came whole and has its name, of which the other end has not said yet that it knows.
    pub fn kept(&mut self, now_ns: u64, node: &mut FileNode) -> Option<Box<Report>> {
        let is_kept = |entry: &Entry| matches!(entry.content, Content::Compared(_, Verdict::Whole));
        let id = *self.entries.iter().find(|(_, entry)| is_kept(entry))?.0;
        self.ended(now_ns, node, id, Ended::Done(Verdict::Whole))
    }

    /// A file that cannot be written: no more of it is to come.
    pub fn failed(&mut self, now_ns: u64, node: &mut FileNode) -> Option<Box<Report>> {
        let cannot_be_written = |(id, entry): &(&TransferId, &Entry)| {
            let sink = node
                .content(**id)
                .filter(|_| matches!(entry.content, Content::Receiving(_)));
            sink.is_some_and(|sink| sink.error().is_some())
        };
        let id = *self.entries.iter().find(cannot_be_written)?.0;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.look(node, id);
            entry.note_all();
        }
        let reason = Reason::Storage;
        let report = self.ended(now_ns, node, id, Ended::Refused(reason));
        node.refuse(id, reason);
        report
    }

    fn peer(node: &FileNode, id: TransferId) -> String {
        node.address(id.channel)
            .map_or_else(String::new, |address| address.to_string())
    }

    fn on_wanted(&mut self, now_ns: u64, node: &mut FileNode, id: TransferId, name: &str) {
        let file = match self.gives {
            true => self.directory.read(name),
            false => Err(Reason::Missing),
        };
        match file {
            Ok((file, bytes)) => {
                let file = Arc::new(file);
                self.hasher.add(id, &file, bytes);
                let entry = Desk::entry(name, &Desk::peer(node, id), now_ns, Content::Hashing(file));
                self.entries.insert(id, Entry { bytes, ..entry });
            }
            Err(reason) => node.refuse(id, reason),
        }
    }

    fn on_offered(
        &mut self,
        now_ns: u64,
        node: &mut FileNode,
        id: TransferId,
        (name, bytes, digest): (&str, u64, Digest),
    ) -> Result<(), Reason> {
        let place = match (self.entries.get(&id), &self.wanted, &self.taking) {
            (Some(_), Some(wanted), _) => wanted.clone(),
            (None, _, Taking::Files { max_bytes }) if bytes <= *max_bytes => name.to_owned(),
            (None, _, Taking::Files { .. }) => return Err(Reason::TooLong),
            _ => return Err(Reason::Forbidden),
        };
        let part = self.directory.receive(&place, bytes, digest)?;
        let peer = Desk::peer(node, id);
        let entry = self.entries.entry(id);
        let entry = entry.or_insert_with(|| Desk::entry(name, &peer, now_ns, Content::Asked));
        entry.bytes = bytes;
        entry.resumed = part.here();
        entry.here = part.here();
        entry.began_ns = now_ns;
        let taken = node.take(now_ns, id, part.here(), part.sink());
        entry.content = Content::Receiving(Box::new(part));
        taken.map_err(|_| Reason::Storage)
    }

    fn on_received(&mut self, now_ns: u64, node: &mut FileNode, id: TransferId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.ended_ns = Some(now_ns);
        entry.look(node, id);
        let content = std::mem::replace(&mut entry.content, Content::Asked);
        let Content::Receiving(mut part) = content else { return };
        let failed = node.content(id).is_some_and(|sink| sink.error().is_some());
        // Of what was not written, the next try asks again.
        if part.save(entry.here).is_err() || failed {
            self.conclude(now_ns, node, id, Verdict::Storage);
            return;
        }
        self.hasher.add(id, &part.file(), part.bytes());
        entry.content = Content::Comparing(part);
    }

    /// The node knows of each transfer that this has; one that it has forgotten meanwhile needs no answer.
    fn conclude(&mut self, now_ns: u64, node: &mut FileNode, id: TransferId, verdict: Verdict) {
        let _ = node.conclude(now_ns, id, verdict);
    }

    /// Takes what was hashed.
    pub fn on_hashed(&mut self, now_ns: u64, node: &mut FileNode) {
        while let Some((id, result)) = self.hasher.done() {
            let Some(entry) = self.entries.get_mut(&id) else {
                continue;
            };
            let content = std::mem::replace(&mut entry.content, Content::Asked);
            match (content, result) {
                (Content::Hashing(file), Ok(digest)) => {
                    entry.content = Content::Sending(digest);
                    entry.began_ns = now_ns;
                    let offered = node.offer(id, (entry.bytes, digest), DiskSource(file));
                    if offered.is_err() {
                        self.entries.remove(&id);
                    }
                }
                (Content::Hashing(_), Err(_)) => {
                    self.entries.remove(&id);
                    node.refuse(id, Reason::Storage);
                }
                (Content::Comparing(part), result) => {
                    let verdict = match result {
                        Err(_) => Verdict::Storage,
                        Ok(digest) => {
                            let verdict = keep(*part, digest);
                            entry.content = Content::Compared(digest, verdict);
                            verdict
                        }
                    };
                    self.conclude(now_ns, node, id, verdict);
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
    pub fn progress<'a>(&'a self, node: &'a FileNode) -> impl Iterator<Item = (&'a str, u64, u64)> {
        self.entries.iter().map(|(id, entry)| {
            let stats = node.transfer_stats(*id);
            let source = stats.source.map_or(0, |source| source.bytes);
            let done = entry.resumed + stats.sink.map_or(source, |sink| sink.received_bytes);
            (entry.name.as_str(), done, entry.bytes)
        })
    }

    fn ended(&mut self, now_ns: u64, node: &mut FileNode, id: TransferId, ended: Ended) -> Option<Box<Report>> {
        let stats = node.transfer_stats(id);
        node.forget(id);
        let entry = self.entries.remove(&id)?;
        let digest = match entry.content {
            Content::Sending(digest) | Content::Compared(digest, _) => Some(digest),
            _ => None,
        };
        let counts = Counts {
            name: entry.name,
            peer: entry.peer,
            bytes: entry.bytes,
            resumed_bytes: entry.resumed,
            duration_ns: entry.ended_ns.unwrap_or(now_ns).saturating_sub(entry.began_ns),
            digest,
            stats,
        };
        Some(Box::new(Report::new(&counts, ended)))
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

    use super::*;

    fn node(answers: bool, key: &Key) -> FileNode {
        let config = NodeConfig {
            capacity_bps: 50_000_000,
            interval_ns: 20_000_000,
            rule: Rule::default(),
            steps: Steps::default(),
            packet_bytes: 1500,
            catch_up_ns: 0,
            answers,
            patience_ns: 1_000_000_000,
            secret: [7; 32],
        };
        Node::new(&config, key.clone()).unwrap()
    }

    #[test]
    fn a_file_that_has_its_name_is_reported_before_the_other_end_knows_of_it() {
        let root = tempfile::tempdir().unwrap();
        let key = Key::generate().unwrap();
        let (sends, takes) = (&mut node(false, &key), &mut node(true, &key));
        let (here, there) = (
            SocketAddr::from(([10, 0, 0, 1], 1)),
            SocketAddr::from(([10, 0, 0, 2], 1)),
        );
        let directory = Directory::open(root.path()).unwrap();
        let mut desk = Desk::serving(Hasher::start().unwrap(), directory, Taking::Files { max_bytes: 1 });
        let empty = root.path().join("sent");
        let source = Arc::new(File::create(&empty).unwrap());
        let digest = crate::xfer::Hashing::default().digest();
        sends.connect(0, there, [1; 16]);
        let mut out = Vec::new();
        for now_ns in (0..).step_by(1_000_000) {
            while sends.poll_transmit(now_ns, &mut out).is_some() {
                takes.handle_datagram(now_ns, here, &out);
            }
            while let Some(event) = sends.poll_event() {
                if let Event::Opened(channel) = event {
                    let content = DiskSource(Arc::clone(&source));
                    sends.put(now_ns, (channel, "file"), (0, digest), content).unwrap();
                }
            }
            while let Some(event) = takes.poll_event() {
                assert!(desk.on_event(now_ns, takes, event).is_none());
            }
            assert!(desk.kept(now_ns, takes).is_none(), "it is not compared");
            if desk
                .entries
                .values()
                .any(|entry| matches!(entry.content, Content::Comparing(_)))
            {
                break;
            }
            while takes.poll_transmit(now_ns, &mut out).is_some() {
                sends.handle_datagram(now_ns, there, &out);
            }
            sends.handle_timeout(now_ns);
            takes.handle_timeout(now_ns);
        }
        poll(
            &mut [PollFd::new(desk.hasher.descriptor(), PollFlags::POLLIN)],
            PollTimeout::NONE,
        )
        .unwrap();
        desk.on_hashed(0, takes);
        let report = desk.kept(0, takes).unwrap();
        assert!(report.ok && root.path().join("file").is_file());
        assert!(desk.kept(0, takes).is_none(), "each is reported once");
    }
}
