// SPDX-License-Identifier: Apache-2.0
//! Shipped tables of flow sizes. The comments of each file have its title, origin, commit and licence.

use crate::error::{Place, Problem, WorkloadError};

/// A table of flow sizes of a publication.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    name: &'static str,
    text: &'static str,
}

impl Shipped {
    /// Returns the name for options.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the file.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Returns a value from the comments: title, origin, commit, licence or interpolate.
    pub fn comment(&self, key: &str) -> Option<&'static str> {
        let comments = self.text.lines().map_while(|line| line.strip_prefix("# "));
        comments
            .filter_map(|comment| comment.split_once(": "))
            .find_map(|(name, value)| (name == key).then_some(value))
    }
}

macro_rules! shipped {
    ($($name:literal),*) => {
        [$(Shipped { name: $name, text: include_str!(concat!("../data/", $name, ".csv")) }),*]
    };
}

/// All shipped tables.
pub const SHIPPED: [Shipped; 7] = shipped!["websearch", "datamining", "hadoop", "rpc", "coco", "w3", "w4"];

/// Licences of the shipped tables.
pub const LICENCES: [&str; 2] = [
    include_str!("../data/LICENSE-opera-sim.txt"),
    include_str!("../data/LICENSE-flare.txt"),
];

/// Returns the shipped table of a name.
pub(crate) fn find(name: &str) -> Result<Shipped, WorkloadError> {
    SHIPPED.into_iter().find(|table| table.name == name).ok_or_else(|| {
        let got = name.to_owned();
        let expected = SHIPPED.map(|table| table.name).join(", ");
        WorkloadError {
            place: Place::Setting("sizes"),
            problem: Problem::UnknownTable { got, expected },
        }
    })
}
