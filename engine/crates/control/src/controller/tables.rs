// SPDX-License-Identifier: Apache-2.0
//! Entries for tables of a custom P4 program, as the controller's application `tables` reads them (schema/network.schema.json).

use super::App;
use crate::tables::document;

/// The application.
pub(super) static APP: App = App {
    name: "tables",
    statistics: "tables/status",
    is_for: |scenario| !scenario.tables.is_empty(),
    network: |scenario, _, _| document(scenario),
};
