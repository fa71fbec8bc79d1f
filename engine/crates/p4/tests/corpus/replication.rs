// SPDX-License-Identifier: Apache-2.0
//! Clones, resubmission, recirculation, multicast, digests, truncation, drops.

use super::support::{Recorder, pipeline, run, run_apart};
use slotwise_p4::{CloneSession, Pipeline, Replica, Waited};
use slotwise_units::Instant;

/// (port, instance type, kept metadata, rounds, replica, length) of a packet.
type Summary = (u16, u8, u8, u8, u16, u16);

fn summary((port, frame): &(u16, Vec<u8>)) -> Summary {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    (*port, frame[1], frame[2], frame[3], word(4), word(6))
}

fn frame(operation: u8) -> Vec<u8> {
    let mut frame = vec![operation, 0, 0, 0, 0, 0, 0, 0];
    frame.extend([0xaa; 12]);
    frame
}

fn session(ports: &[u16]) -> CloneSession {
    let replica = |(instance, &port): (usize, &u16)| Replica {
        port,
        instance: instance as u16,
    };
    CloneSession {
        replicas: ports.iter().enumerate().map(replica).collect(),
        max_bytes: None,
    }
}

#[test]
fn an_ingress_clone_is_the_packet_as_it_came_in() {
    let mut pipeline = pipeline("replication");
    assert_eq!(run(&mut pipeline, &frame(1)).packets.len(), 1);
    pipeline.clone_session_set(5, session(&[8, 9])).unwrap();
    let out = run(&mut pipeline, &frame(1));
    let mut found: Vec<_> = out.packets.iter().map(summary).collect();
    found.sort();
    assert_eq!(
        found,
        [(1, 0, 0x41, 99, 0, 20), (8, 1, 0x41, 0, 0, 20), (9, 1, 0x41, 0, 1, 20)]
    );
    pipeline.clone_session_remove(5).unwrap();
    assert_eq!(run(&mut pipeline, &frame(1)).packets.len(), 1);
}

#[test]
fn a_packet_leaves_before_its_clones_unless_it_is_to_be_as_in_bmv2() {
    let mut pipeline = pipeline("replication");
    pipeline.clone_session_set(5, session(&[1])).unwrap();
    let types = |pipeline: &mut Pipeline| -> Vec<u8> {
        let out = run(pipeline, &frame(1));
        out.packets.iter().map(|(_, frame)| frame[1]).collect()
    };
    assert_eq!(types(&mut pipeline), [0, 1]);
    pipeline.set_bmv2_compatible(true);
    assert_eq!(types(&mut pipeline), [1, 0]);
    pipeline.clone_session_remove(5).unwrap();
    assert_eq!(types(&mut pipeline), [0]);
}

#[test]
fn ingress_port_outlives_another_round_unless_it_is_to_be_as_in_bmv2() {
    let mut pipeline = pipeline("replication");
    pipeline.clone_session_set(5, session(&[8])).unwrap();
    // Resubmitted, cloned, recirculated; the packets come in on port 3.
    let ports = |pipeline: &mut Pipeline| {
        [11, 12, 13].map(|operation| -> Vec<u8> {
            let mut packets = run(pipeline, &frame(operation)).packets;
            packets.sort();
            packets.iter().map(|(_, frame)| frame[3]).collect()
        })
    };
    assert_eq!(ports(&mut pipeline), [vec![3], vec![3, 3], vec![3]]);
    pipeline.set_bmv2_compatible(true);
    assert_eq!(ports(&mut pipeline), [vec![0], vec![3, 0], vec![0]]);
}

#[test]
fn an_egress_clone_is_the_packet_as_it_is() {
    let mut pipeline = pipeline("replication");
    let target = CloneSession {
        max_bytes: Some(9),
        ..session(&[8])
    };
    pipeline.clone_session_set(6, target).unwrap();
    let out = run(&mut pipeline, &frame(2));
    let mut found: Vec<_> = out.packets.iter().map(summary).collect();
    found.sort();
    // The original reported what it kept before it set it.
    assert_eq!(found, [(1, 0, 0, 1, 0, 20), (8, 2, 0x42, 1, 0, 20)]);
    let clone = out.packets.iter().find(|(port, _)| *port == 8).unwrap();
    assert_eq!(clone.1.len(), 9);
}

#[test]
fn resubmission_starts_over_and_keeps_the_field_list() {
    let mut pipeline = pipeline("replication");
    let out = run(&mut pipeline, &frame(3));
    // v1model resets the instance type of what goes on to egress.
    assert_eq!(
        out.packets.iter().map(summary).collect::<Vec<_>>(),
        [(1, 0, 0x43, 0, 0, 20)]
    );
}

#[test]
fn recirculation_goes_round_with_its_changes() {
    let mut pipeline = pipeline("replication");
    let out = run(&mut pipeline, &frame(4));
    assert_eq!(
        out.packets.iter().map(summary).collect::<Vec<_>>(),
        [(1, 0, 0x44, 3, 0, 20)]
    );
}

#[test]
fn endless_resubmission_ends_and_is_counted() {
    let mut pipeline = pipeline("replication");
    assert_eq!(run(&mut pipeline, &frame(9)).packets, []);
    assert_eq!(pipeline.aborted_packets(), 1);
    assert_eq!(run(&mut pipeline, &frame(0)).packets.len(), 1);
}

#[test]
fn multicast_makes_the_replicas_of_the_group() {
    let mut pipeline = pipeline("replication");
    assert_eq!(run(&mut pipeline, &frame(5)).packets, []);
    let replicas = vec![
        Replica { port: 4, instance: 1 },
        Replica { port: 4, instance: 2 },
        Replica { port: 6, instance: 3 },
    ];
    pipeline.multicast_group_set(17, replicas).unwrap();
    let out = run(&mut pipeline, &frame(5));
    let found: Vec<_> = out.packets.iter().map(summary).collect();
    assert_eq!(found, [(4, 5, 0, 0, 1, 20), (4, 5, 0, 0, 2, 20), (6, 5, 0, 0, 3, 20)]);
    assert!(pipeline.multicast_group_set(0, Vec::new()).is_err());
    assert_eq!(pipeline.multicast_groups().count(), 1);
}

#[test]
fn a_digest_carries_its_fields() {
    let mut pipeline = pipeline("replication");
    let out = run(&mut pipeline, &frame(6));
    assert_eq!(out.digests, [("noticed_t".to_owned(), vec![vec![6], vec![20]])]);
    assert_eq!(out.packets.len(), 1);
}

#[test]
fn truncation_cuts_the_frame() {
    let mut pipeline = pipeline("replication");
    assert_eq!(run(&mut pipeline, &frame(7)).packets[0].1.len(), 10);
    assert_eq!(run(&mut pipeline, &frame(0)).packets[0].1.len(), 20);
}

#[test]
fn drops_at_ingress_and_egress() {
    let mut pipeline = pipeline("replication");
    assert_eq!(run(&mut pipeline, &frame(8)).packets, []);
    assert_eq!(run(&mut pipeline, &frame(10)).packets, []);
    assert_eq!(pipeline.aborted_packets(), 0);
}

#[test]
fn ingress_and_egress_apart_do_what_they_do_together() {
    let replicas = |ports: &[u16]| session(ports).replicas;
    for bmv2_compatible in [false, true] {
        let [mut together, mut apart] = [(); 2].map(|()| {
            let mut pipeline = pipeline("replication");
            pipeline.set_bmv2_compatible(bmv2_compatible);
            pipeline.clone_session_set(5, session(&[8, 9])).unwrap();
            pipeline.clone_session_set(6, session(&[8])).unwrap();
            pipeline.multicast_group_set(17, replicas(&[4, 5, 4])).unwrap();
            pipeline
        });
        let mut packets = 0;
        for operation in 0..16 {
            let wanted = run(&mut together, &frame(operation));
            assert_eq!(
                run_apart(&mut apart, &frame(operation), usize::MAX),
                wanted,
                "operation {operation}"
            );
            packets += wanted.packets.len();
        }
        assert!(packets > 16, "some are copied");
        assert_eq!(apart.aborted_packets(), together.aborted_packets());
    }
}

#[test]
fn a_queued_packet_of_another_pipeline_is_dropped() {
    let (mut one, mut other) = (pipeline("replication"), pipeline("replication"));
    let mut queued = Vec::new();
    let mut recorder = Recorder::default();
    one.process_ingress(Instant::from_ns(5_000), 3, &frame(0), &mut recorder, &mut queued);
    let packet = queued.pop().expect("it goes to egress");
    let waited = Waited {
        enqueued: Instant::from_ns(5_000),
        enqueue_depth: 0,
        dequeue_depth: 0,
        queue_id: 0,
    };
    other.process_egress(Instant::from_ns(6_000), packet, waited, &mut recorder, &mut queued);
    assert_eq!((recorder, other.aborted_packets()), (Recorder::default(), 1));
}
