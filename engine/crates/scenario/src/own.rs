// SPDX-License-Identifier: Apache-2.0
//! Networks that have a section of their own in a file. Each stands in it alone, with hosts in groups.

use crate::address::Device;
use crate::doc::Doc;
use crate::file::NetworkType;
use crate::model::Scenario;
use crate::reader::{Fields, Reader};
use crate::{ops, ring};

/// All of them.
pub(crate) static SECTIONS: &[&NetworkSection] = &[&ring::SECTION, &ops::SECTION];

/// What a file says of such a network, under one key.
pub(crate) struct NetworkSection {
    pub(crate) key: &'static str,
    pub(crate) network: NetworkType,
    /// Schema of the section.
    pub(crate) schema: fn() -> Doc,
    /// The network, with an article.
    pub(crate) called: &'static str,
    /// What a group of hosts calls the node that it is at.
    pub(crate) hosts_at: &'static str,
    /// Path of the list of those nodes in a file.
    pub(crate) hosts_list: &'static [&'static str],
    /// Paths of lists of names; ranges in them are unfolded.
    pub(crate) name_lists: &'static [&'static [&'static str]],
    /// The node of a number where hosts may be.
    pub(crate) device: fn(u16) -> Device,
    /// Reads it.
    pub(crate) read: fn(&mut Reader, &Fields, &mut Scenario),
    /// Whether its parts fit together, if it is there.
    pub(crate) check: fn(&Scenario, &mut Reader),
    /// Its nodes where hosts may be, if it is there.
    pub(crate) nodes: fn(&Scenario) -> Option<OwnNodes>,
}

/// Nodes of such a network.
pub(crate) struct OwnNodes {
    /// As the file calls them, by number.
    pub(crate) names: Vec<String>,
    /// Names of what goes dark together, in the order in which the fabric has it.
    pub(crate) spans: Vec<String>,
    /// The same, each from its other end, where that is a name, too; or none.
    pub(crate) spans_back: Vec<String>,
}

impl Scenario {
    /// A network with a section of its own, if there is one, and its nodes.
    pub(crate) fn own_nodes(&self) -> Option<(&'static NetworkSection, OwnNodes)> {
        let mut sections = SECTIONS.iter();
        sections.find_map(|&section| Some((section, (section.nodes)(self)?)))
    }

    /// Names of what goes dark together in a network with a section of its own, as changes name it.
    pub fn own_spans(&self) -> Vec<String> {
        self.own_nodes().map_or_else(Vec::new, |(_, nodes)| nodes.spans)
    }

    /// The same, each named from its other end, where that is a name, too.
    pub fn own_spans_back(&self) -> Vec<String> {
        self.own_nodes().map_or_else(Vec::new, |(_, nodes)| nodes.spans_back)
    }
}
