// SPDX-License-Identifier: Apache-2.0
//! Arbitration over real streams, and what a call is refused for before its contents are looked at.

use crate::support;

use slotwise_p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as ConfigAction;
use slotwise_p4runtime::proto::p4::v1::*;
use support::*;
use tonic::Code;

#[tokio::test]
async fn backups_are_told_when_the_primary_comes_and_goes() {
    let bench = Bench::start();
    let primary = Primary::of(&bench.server, 1, 10).await;
    let mut client = bench.client().await;
    let mut backup = Stream::open(&mut client).await;
    backup.arbitrate(1, "", Some(3)).await;
    assert_eq!(backup.advisory().await, (Code::AlreadyExists, Some(10)));
    drop(primary);
    assert_eq!(backup.advisory().await, (Code::NotFound, Some(10)));
    backup.arbitrate(1, "", Some(11)).await;
    assert_eq!(backup.advisory().await, (Code::Ok, Some(11)));
}

#[tokio::test]
async fn devices_and_roles_elect_apart() {
    let bench = Bench::start();
    let _one = Primary::of(&bench.server, 1, 5).await;
    let _two = Primary::of(&bench.server, 2, 5).await;
    let mut client = bench.client().await;
    let mut stats = Stream::open(&mut client).await;
    stats.arbitrate(1, "stats", Some(1)).await;
    assert_eq!(stats.advisory().await, (Code::Ok, Some(1)));
}

#[tokio::test]
async fn broken_rules_end_the_stream() {
    let bench = Bench::start();
    let _primary = Primary::of(&bench.server, 1, 5).await;
    let mut client = bench.client().await;
    for (device_id, role, election_id, code) in [
        (99, "", Some(1), Code::NotFound),
        (1, "", Some(5), Code::InvalidArgument),
    ] {
        let mut stream = Stream::open(&mut client).await;
        stream.arbitrate(device_id, role, election_id).await;
        assert_eq!(
            stream.next().await.unwrap_err().code(),
            code,
            "device {device_id}, id {election_id:?}"
        );
    }
    for (device_id, role) in [(2, ""), (1, "other")] {
        let mut stream = Stream::open(&mut client).await;
        stream.arbitrate(1, "", Some(6)).await;
        stream.advisory().await;
        stream.arbitrate(device_id, role, Some(6)).await;
        assert_eq!(stream.next().await.unwrap_err().code(), Code::FailedPrecondition);
    }
    let stream = Stream::open(&mut client).await;
    let role = Role {
        config: Some(prost_types::Any::default()),
        ..Role::default()
    };
    let update = MasterArbitrationUpdate {
        device_id: 1,
        role: Some(role),
        ..MasterArbitrationUpdate::default()
    };
    stream.send(stream_message_request::Update::Arbitration(update)).await;
    let mut stream = stream;
    assert_eq!(stream.next().await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn writes_are_for_the_primary_of_a_configured_device() {
    let bench = Bench::start();
    let mut primary = Primary::of(&bench.server, 1, 5).await;
    let request = |device_id, role: &str, low| WriteRequest {
        device_id,
        role: role.to_owned(),
        election_id: Some(Uint128 { high: 0, low }),
        ..WriteRequest::default()
    };
    for (request, code) in [
        (request(99, "", 5), Code::NotFound),
        (request(1, "stranger", 5), Code::NotFound),
        (request(1, "", 4), Code::PermissionDenied),
        (request(1, "", 6), Code::PermissionDenied),
        (
            WriteRequest {
                election_id: None,
                ..request(1, "", 5)
            },
            Code::PermissionDenied,
        ),
        (request(2, "", 5), Code::PermissionDenied),
        (request(1, "", 5), Code::FailedPrecondition),
    ] {
        let status = primary.client.write(request.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{request:?}");
        assert!(
            status.details().is_empty(),
            "nothing was attempted, so there are no details"
        );
    }
    assert_eq!(primary.read(vec![]).await.unwrap_err().code(), Code::FailedPrecondition);

    primary
        .set_config(ConfigAction::VerifyAndCommit, Some(TABLES.config(1)))
        .await
        .unwrap();
    let unknown = WriteRequest {
        atomicity: 77,
        ..request(1, "", 5)
    };
    assert_eq!(
        primary.client.write(unknown).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    primary.write(vec![]).await.unwrap();
}

#[tokio::test]
async fn a_new_primary_takes_over_and_the_old_one_is_shut_out() {
    let bench = Bench::start();
    let mut old = bench.ready(&TABLES).await;
    let mut new = Primary::of(&bench.server, 1, 2).await;
    assert_eq!(old.stream.advisory().await, (Code::AlreadyExists, Some(2)));
    let entry = mac_entry(&TABLES, 1, &[3]);
    assert_eq!(
        old.write(vec![insert(entry.clone())]).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    new.write(vec![insert(entry)]).await.unwrap();
}

#[tokio::test]
async fn capabilities_name_the_version() {
    let bench = Bench::start();
    let mut client = bench.client().await;
    let answer = client
        .capabilities(CapabilitiesRequest { device_id: 0 })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.p4runtime_api_version, "1.5.0");
}

#[tokio::test]
async fn roles_that_nobody_has_make_room_for_others() {
    let bench = Bench::start();
    let _primary = Primary::of(&bench.server, 1, 5).await;
    let mut client = bench.client().await;
    let mut kept = Stream::open(&mut client).await;
    kept.arbitrate(1, "kept", Some(7)).await;
    kept.advisory().await;
    for number in 0..100 {
        let mut stream = Stream::open(&mut client).await;
        stream.arbitrate(1, &format!("role {number}"), Some(9)).await;
        assert_eq!(stream.advisory().await, (Code::Ok, Some(9)), "role {number}");
        stream.close().await;
    }
    let mut without_primary = Stream::open(&mut client).await;
    without_primary.arbitrate(1, "role 99", Some(8)).await;
    assert_eq!(
        without_primary.advisory().await,
        (Code::NotFound, Some(9)),
        "the highest id of a role that nobody has is known for a while"
    );
    let mut again = Stream::open(&mut client).await;
    again.arbitrate(1, "role 0", Some(8)).await;
    assert_eq!(again.advisory().await, (Code::Ok, Some(8)), "that of the oldest is not");

    let mut living = Vec::new();
    for number in 0..60 {
        let mut stream = Stream::open(&mut client).await;
        stream.arbitrate(1, &format!("living {number}"), Some(1)).await;
        assert_eq!(stream.advisory().await.0, Code::Ok, "living {number}");
        living.push(stream);
    }
    let mut last = Stream::open(&mut client).await;
    last.arbitrate(1, "last", Some(1)).await;
    assert_eq!(last.advisory().await.0, Code::Ok);
    let ended = without_primary.next().await.unwrap_err();
    assert_eq!(ended.code(), Code::ResourceExhausted, "it makes room");
    let mut one_too_many = Stream::open(&mut client).await;
    one_too_many.arbitrate(1, "one too many", Some(1)).await;
    assert_eq!(one_too_many.next().await.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn rights_end_with_the_last_stream_of_a_role() {
    let bench = Bench::start();
    let mut client = bench.client().await;
    let mut holder = async |role: &str, election_id: u64| {
        let stream = Stream::open(&mut client).await;
        // stratum.P4RoleConfig with exclusive_p4_ids = [7]
        let config = prost_types::Any {
            type_url: "type.googleapis.com/stratum.P4RoleConfig".to_owned(),
            value: vec![1 << 3 | 2, 1, 7],
        };
        let role = Role {
            name: role.to_owned(),
            config: Some(config),
            ..Role::default()
        };
        let update = MasterArbitrationUpdate {
            device_id: 1,
            role: Some(role),
            election_id: Some(Uint128 {
                high: 0,
                low: election_id,
            }),
            status: None,
        };
        let update = stream_message_request::Update::Arbitration(update);
        stream.send(update.clone()).await;
        (stream, update)
    };
    let (mut before, _) = holder("A", 5).await;
    assert_eq!(before.advisory().await.0, Code::Ok);
    let (mut refused, _) = holder("B", 5).await;
    assert_eq!(refused.next().await.unwrap_err().code(), Code::InvalidArgument);
    before.close().await;
    let (mut after, update) = holder("B", 5).await;
    assert_eq!(after.advisory().await.0, Code::Ok);

    let mut backup = Stream::open(&mut bench.client().await).await;
    backup.arbitrate(1, "A", Some(3)).await;
    assert_eq!(backup.advisory().await, (Code::NotFound, Some(5)));
    after.send(update).await;
    assert_eq!(after.advisory().await.0, Code::Ok);
}
