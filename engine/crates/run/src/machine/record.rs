// SPDX-License-Identifier: Apache-2.0
//! The record of what a run changed about the machine. It is written before the first change, so one that is not whole means that
//! nothing was changed.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::libc::O_NOFOLLOW;
use nix::unistd::Uid;

use super::settings::{Move, Places, Setting};

/// Longest record that is read.
const MOST_BYTES: u64 = 16 << 20;

/// The record. Only one run at a time has it, with its keeper.
#[derive(Debug)]
pub struct Record {
    file: File,
    places: Places,
}

/// What was done about a record that another run had left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOver {
    /// There was nothing in it.
    Nothing,
    /// So many settings are as they were before that run.
    PutBack(usize),
    /// What is in it is no record: its run had changed nothing yet, or others wrote it.
    Unreadable,
}

impl Record {
    /// Takes the record of these places for a run.
    ///
    /// # Errors
    /// When another run has it, when others than its owner could write it, or what the system says.
    pub fn open(places: &Places) -> io::Result<Record> {
        let path = &places.record;
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(O_NOFOLLOW)
            .open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.uid() != Uid::effective().as_raw() || about.mode() & 0o022 != 0 {
            let what = "unsafe file; expected one that only the user running this may write (delete it)";
            return Err(io::Error::other(format!("{}: {what}", path.display())));
        }
        file.try_lock()
            .map_err(|_| io::Error::other("another run has changed the machine's settings"))?;
        Ok(Record {
            file,
            places: places.clone(),
        })
    }

    /// Puts back what is in the record of a dead run, if there is one.
    ///
    /// # Errors
    /// As [`Record::open`] and [`Record::put_back`].
    pub fn put_back_left_over(places: &Places) -> io::Result<LeftOver> {
        match fs::symlink_metadata(&places.record) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(LeftOver::Nothing),
            _ => Record::open(places)?.put_back(),
        }
    }

    /// Puts back what a dead run left, then writes down how the machine is before it is changed for a run whose fabric has `cpu`. Gives
    /// the changes to make.
    ///
    /// # Errors
    /// When something cannot be put back or written down: nothing may be changed then.
    pub fn begin(&mut self, cpu: usize) -> io::Result<Vec<Move>> {
        self.put_back()?;
        let moves = self.places.moves(cpu);
        let before: Vec<&Setting> = moves.iter().map(|one| &one.before).collect();
        if let Err(error) = self.write(&before) {
            let _ = self.file.set_len(0);
            return Err(io::Error::new(
                error.kind(),
                format!("{}: {error}", self.places.record.display()),
            ));
        }
        Ok(moves)
    }

    /// Makes the machine as it was by the record, which is empty then.
    ///
    /// # Errors
    /// When something cannot be put back; it stays in the record.
    pub fn put_back(&mut self) -> io::Result<LeftOver> {
        let text = self.read()?;
        if text.is_empty() {
            return Ok(LeftOver::Nothing);
        }
        let Ok(before) = serde_json::from_slice::<Vec<Setting>>(&text) else {
            self.write(&[])?;
            return Ok(LeftOver::Unreadable);
        };
        let own: Vec<&Setting> = before.iter().filter(|one| self.places.has(one)).collect();
        let left: Vec<&Setting> = own.iter().copied().filter(|one| !one.put_back()).collect();
        self.write(&left)?;
        match left.first() {
            None if own.is_empty() => Ok(LeftOver::Unreadable),
            None => Ok(LeftOver::PutBack(own.len())),
            Some(first) => Err(io::Error::other(format!(
                "{first}: setting from before an earlier run cannot be restored"
            ))),
        }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.file.rewind()?;
        (&self.file).take(MOST_BYTES).read_to_end(&mut text)?;
        Ok(text)
    }

    fn write(&mut self, before: &[&Setting]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        if !before.is_empty() {
            self.file.write_all(&serde_json::to_vec(before)?)?;
        }
        Ok(())
    }
}

impl fmt::Display for LeftOver {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            LeftOver::Nothing => to.write_str("no changed settings of a run found"),
            LeftOver::PutBack(count) => write!(to, "restored {count} settings changed by a killed run"),
            LeftOver::Unreadable => to.write_str("record of a killed run is invalid; nothing restored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tempfile::TempDir;

    use super::*;

    const CPU: usize = 1;

    /// Files as the kernel has them, in a place of their own: a limit, the mask of unbound work, and those of two interrupts.
    struct Files {
        directory: TempDir,
        places: Places,
    }

    impl Files {
        fn new() -> Files {
            let directory = tempfile::tempdir().unwrap();
            let places = Places::below(directory.path());
            for (name, text) in [
                ("limit", "950000\n"),
                ("workqueues", "3\n"),
                ("irq/7/smp_affinity", "3\n"),
                ("irq/8/smp_affinity", "2\n"),
            ] {
                let path = directory.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            fs::create_dir(directory.path().join("proc")).unwrap();
            Files { directory, places }
        }

        fn text(&self, name: &str) -> String {
            let text = fs::read_to_string(self.directory.path().join(name)).unwrap();
            text.trim_end().to_owned()
        }

        fn all(&self) -> [String; 4] {
            ["limit", "workqueues", "irq/7/smp_affinity", "irq/8/smp_affinity"].map(|name| self.text(name))
        }

        /// A run that has changed everything. Its death is the record's drop.
        fn run(&self) -> io::Result<Record> {
            let mut record = Record::open(&self.places)?;
            for one in record.begin(CPU)? {
                assert!(one.after.apply());
            }
            Ok(record)
        }
    }

    const BEFORE: [&str; 4] = ["950000", "3", "3", "2"];
    const CHANGED: [&str; 4] = ["-1", "00000001", "00000001", "2"];

    #[test]
    fn what_a_run_changes_is_put_back() {
        let files = Files::new();
        let mut record = files.run().unwrap();
        assert_eq!(files.all(), CHANGED);
        assert_eq!(record.put_back().unwrap(), LeftOver::PutBack(3));
        assert_eq!(files.all(), BEFORE);
        assert_eq!(record.put_back().unwrap(), LeftOver::Nothing);
        assert_eq!(files.text("record"), "");
    }

    #[test]
    fn of_two_runs_at_once_the_second_changes_nothing() {
        let files = Files::new();
        let first = files.run().unwrap();
        let refusal = files.run().unwrap_err().to_string();
        assert_eq!(refusal, "another run has changed the machine's settings");
        assert!(Record::put_back_left_over(&files.places).is_err());
        assert_eq!(files.all(), CHANGED);
        drop(first);
        assert_eq!(Record::put_back_left_over(&files.places).unwrap(), LeftOver::PutBack(3));
        assert_eq!(files.all(), BEFORE);
    }

    #[test]
    fn a_run_after_a_killed_one_notes_what_was_before_both() {
        let files = Files::new();
        drop(files.run().unwrap());
        assert_eq!(files.all(), CHANGED);
        // It gets the record between the other's death and its own look for what was left.
        let mut second = files.run().unwrap();
        assert_eq!(files.all(), CHANGED);
        second.put_back().unwrap();
        assert_eq!(files.all(), BEFORE);
    }

    #[test]
    fn half_a_record_puts_nothing_back_and_is_none() {
        let files = Files::new();
        drop(files.run().unwrap());
        let whole = files.text("record");
        fs::write(&files.places.record, &whole[..whole.len() / 2]).unwrap();
        let found = Record::put_back_left_over(&files.places).unwrap();
        assert_eq!(found, LeftOver::Unreadable);
        assert_eq!(files.text("record"), "");
        assert!(files.run().is_ok());
    }

    #[test]
    fn a_record_reaches_no_other_files_and_has_no_other_values() {
        let files = Files::new();
        let victim = files.directory.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let place = |name: &str| files.directory.path().join(name).display().to_string();
        let entry = |path: String, text: &str| format!(r#"{{"file":{{"path":"{path}","text":"{text}"}}}}"#);
        let entries = [
            entry(place("victim"), "3"),
            entry(place("irq/../victim"), "3"),
            entry(place("irq/7/../../victim"), "3"),
            entry(place("irq/seven/smp_affinity"), "3"),
            entry(place("irq/7/smp_affinity"), "all of them"),
            entry(place("limit"), "3,3"),
            entry(place("limit"), "-2"),
            entry(place("workqueues"), ""),
            entry(place("irq/8/smp_affinity"), "1"),
        ];
        fs::write(&files.places.record, format!("[{}]", entries.join(","))).unwrap();
        fs::set_permissions(&files.places.record, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Record::put_back_left_over(&files.places).unwrap(), LeftOver::PutBack(1));
        assert_eq!(files.all(), ["950000", "3", "3", "1"]);
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    }

    #[test]
    fn a_record_that_others_may_write_is_none() {
        let files = Files::new();
        drop(files.run().unwrap());
        fs::set_permissions(&files.places.record, Permissions::from_mode(0o622)).unwrap();
        let refusal = Record::put_back_left_over(&files.places).unwrap_err().to_string();
        assert!(refusal.ends_with("may write (delete it)"), "{refusal}");
        assert_eq!(files.all(), CHANGED);
        let elsewhere = files.directory.path().join("elsewhere");
        fs::rename(&files.places.record, &elsewhere).unwrap();
        symlink(&elsewhere, &files.places.record).unwrap();
        assert!(Record::open(&files.places).is_err(), "a link");
        fs::remove_file(&files.places.record).unwrap();
        fs::create_dir(&files.places.record).unwrap();
        assert!(Record::open(&files.places).is_err(), "a directory");
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_record_and_no_run_changes_more() {
        let files = Files::new();
        drop(files.run().unwrap());
        let mask = files.directory.path().join("workqueues");
        fs::remove_file(&mask).unwrap();
        fs::create_dir(&mask).unwrap();
        let refusal = Record::put_back_left_over(&files.places).unwrap_err().to_string();
        assert!(
            refusal.contains("workqueues: setting from before an earlier run cannot be restored"),
            "{refusal}"
        );
        assert_eq!(files.text("limit"), "950000", "the others are");
        assert!(files.run().is_err());
        assert_eq!(files.text("limit"), "950000");
        fs::remove_dir(&mask).unwrap();
        fs::write(&mask, "00000001\n").unwrap();
        assert_eq!(Record::put_back_left_over(&files.places).unwrap(), LeftOver::PutBack(1));
        assert_eq!(files.all(), BEFORE);
    }

    #[test]
    fn what_has_gone_needs_nothing() {
        let files = Files::new();
        drop(files.run().unwrap());
        fs::remove_dir_all(files.directory.path().join("irq/7")).unwrap();
        assert_eq!(Record::put_back_left_over(&files.places).unwrap(), LeftOver::PutBack(3));
        assert_eq!(files.text("workqueues"), "3");
    }
}
