// SPDX-License-Identifier: Apache-2.0
//! Traces say which way a packet took, with places in the P4 program.

use super::support::{call, entry, lpm, pipeline, ternary};
use slotwise_p4::{KeyField, Lookup, TraceEvent};

/// One event a line.
fn trace(pipeline: &mut slotwise_p4::Pipeline, frame: &[u8]) -> String {
    pipeline.set_tracing(true);
    super::support::run(pipeline, frame);
    let text = pipeline.take_trace().iter().map(|event| format!("{event}\n")).collect();
    pipeline.set_tracing(false);
    text
}

/// `UPDATE_TRACES=1` writes what was found instead.
fn check(name: &str, found: String) {
    let path = format!("{}/tests/traces/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_TRACES").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, wanted,
        "{path}; update with: UPDATE_TRACES=1 cargo test -p slotwise-p4 --test interpreter"
    );
}

#[test]
fn tables_entries_branches_and_lines() {
    let mut pipeline = pipeline("matching");
    let mut frame = vec![0; 27];
    (frame[0], frame[1]) = (3, 0x15);
    check("miss", trace(&mut pipeline, &frame));
    let key = vec![ternary(0, 0xff), lpm(0, 8), KeyField::Optional(Some(vec![0x15]))];
    let hit = entry(key, 7, call("TestIngress.metered", &[42]));
    pipeline.table_insert("TestIngress.ternary_table", hit).unwrap();
    check("hit", trace(&mut pipeline, &frame));
}

#[test]
fn copies_and_rounds() {
    let mut pipeline = pipeline("replication");
    check("resubmit", trace(&mut pipeline, &[3, 0, 0, 0, 0, 0, 0, 0]));
    check("no_group", trace(&mut pipeline, &[5, 0, 0, 0, 0, 0, 0, 0]));
    check("short", trace(&mut pipeline, &[8, 0]));
}

#[test]
fn events_are_data() {
    let mut pipeline = pipeline("matching");
    pipeline.set_tracing(true);
    let mut frame = vec![0; 27];
    (frame[0], frame[1]) = (1, 5);
    super::support::run(&mut pipeline, &frame);
    let events = pipeline.take_trace();
    let found = events.iter().find_map(|event| match event {
        TraceEvent::Table(lookup) => Some(lookup.as_ref()),
        _ => None,
    });
    let Some(Lookup {
        table,
        source,
        key,
        entry,
    }) = found
    else {
        panic!("{events:?}")
    };
    assert_eq!(table, "switch_0_table");
    assert!(
        source
            .as_ref()
            .is_some_and(|source| source.file == "matching.p4" && source.line > 1),
        "{source:?}"
    );
    assert_eq!(key[0].1, vec![1]);
    assert!(
        entry
            .as_ref()
            .is_some_and(|entry| entry.action.name.starts_with("switch_0_case"))
    );
    assert!(pipeline.take_trace().is_empty());
    pipeline.set_tracing(false);
    super::support::run(&mut pipeline, &frame);
    assert!(pipeline.take_trace().is_empty());
}
