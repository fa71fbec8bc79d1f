// SPDX-License-Identifier: Apache-2.0
//! Who is primary, for one (device, role): a pure state machine by the P4Runtime specification's
//! "Client Arbitration and Controller Replication".

use std::collections::BTreeMap;

use tonic::Code;

/// One StreamChannel.
pub(crate) type StreamId = u64;

/// Who has to be told after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advisory {
    All,
    Only(StreamId),
    Nobody,
}

/// Another live stream uses this election id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ElectionIdTaken;

/// The election among the live streams of one (device, role).
#[derive(Debug, Default)]
pub(crate) struct Election {
    /// Highest election id that a primary ever had here.
    highest: Option<u128>,
    primary: Option<StreamId>,
    /// Election id of each live stream; `None` never becomes primary.
    members: BTreeMap<StreamId, Option<u128>>,
}

impl Election {
    /// A stream joins, or changes its election id.
    pub fn arbitrate(&mut self, stream: StreamId, election_id: Option<u128>) -> Result<Advisory, ElectionIdTaken> {
        let taken = |(&other, &id): (&StreamId, &Option<u128>)| other != stream && id.is_some() && id == election_id;
        if self.members.iter().any(taken) {
            return Err(ElectionIdTaken);
        }
        self.members.insert(stream, election_id);
        if election_id.is_some() && election_id >= self.highest {
            self.highest = election_id;
            self.primary = Some(stream);
            return Ok(Advisory::All);
        }
        if self.primary == Some(stream) {
            self.primary = None;
            return Ok(Advisory::All);
        }
        Ok(Advisory::Only(stream))
    }

    /// A stream ended.
    pub fn leave(&mut self, stream: StreamId) -> Advisory {
        self.members.remove(&stream);
        if self.primary == Some(stream) {
            self.primary = None;
            return Advisory::All;
        }
        Advisory::Nobody
    }

    /// The primary's stream.
    pub fn primary(&self) -> Option<StreamId> {
        self.primary
    }

    /// Whether a request with this election id comes from the primary.
    pub fn is_primary(&self, election_id: Option<u128>) -> bool {
        self.primary.is_some() && election_id.is_some() && election_id == self.highest
    }

    /// Highest election id seen, for advisories.
    pub fn highest(&self) -> Option<u128> {
        self.highest
    }

    /// Number of live streams.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Status that an advisory to this stream carries.
    pub fn status_for(&self, stream: StreamId) -> Code {
        match self.primary {
            Some(primary) if primary == stream => Code::Ok,
            Some(_) => Code::AlreadyExists,
            None => Code::NotFound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_id_is_primary_and_others_are_backups() {
        let mut election = Election::default();
        assert_eq!(election.arbitrate(1, Some(10)), Ok(Advisory::All));
        assert_eq!(election.arbitrate(2, Some(5)), Ok(Advisory::Only(2)));
        assert_eq!(
            (election.status_for(1), election.status_for(2)),
            (Code::Ok, Code::AlreadyExists)
        );
        assert_eq!(election.arbitrate(2, Some(11)), Ok(Advisory::All));
        assert_eq!(election.primary(), Some(2));
        assert!(election.is_primary(Some(11)));
        assert!(!election.is_primary(Some(10)));
    }

    #[test]
    fn zero_is_an_election_id_and_unset_is_not() {
        let mut election = Election::default();
        assert_eq!(election.arbitrate(1, None), Ok(Advisory::Only(1)));
        assert_eq!((election.primary(), election.highest()), (None, None));
        assert_eq!(election.arbitrate(2, Some(0)), Ok(Advisory::All));
        assert!(election.is_primary(Some(0)));
        assert!(!election.is_primary(None));
        assert_eq!(
            election.arbitrate(3, None),
            Ok(Advisory::Only(3)),
            "any number of streams may leave it unset"
        );
    }

    #[test]
    fn ids_are_unique_among_the_living() {
        let mut election = Election::default();
        election.arbitrate(1, Some(7)).unwrap();
        assert_eq!(election.arbitrate(2, Some(7)), Err(ElectionIdTaken));
        assert_eq!(election.len(), 1);
        assert_eq!(election.leave(1), Advisory::All);
        assert_eq!(
            election.arbitrate(2, Some(7)),
            Ok(Advisory::All),
            "a restarted controller takes its id again"
        );
    }

    #[test]
    fn a_backup_does_not_inherit() {
        let mut election = Election::default();
        election.arbitrate(1, Some(7)).unwrap();
        election.arbitrate(2, Some(6)).unwrap();
        election.leave(1);
        assert_eq!((election.primary(), election.status_for(2)), (None, Code::NotFound));
        assert!(!election.is_primary(Some(7)), "the dead primary's id opens nothing");
        assert_eq!(
            election.arbitrate(2, Some(6)),
            Ok(Advisory::Only(2)),
            "still below the highest id seen"
        );
        assert_eq!(election.arbitrate(2, Some(8)), Ok(Advisory::All));
        assert_eq!(election.primary(), Some(2));
    }

    #[test]
    fn a_primary_can_step_down() {
        let mut election = Election::default();
        election.arbitrate(1, Some(7)).unwrap();
        assert_eq!(election.arbitrate(1, Some(3)), Ok(Advisory::All));
        assert_eq!((election.primary(), election.highest()), (None, Some(7)));
    }
}
