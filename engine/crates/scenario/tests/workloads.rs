// SPDX-License-Identifier: Apache-2.0
//! Workloads of scenario files.

use std::collections::BTreeMap;
use std::path::Path;

use slotwise_scenario::{FlowTransport, Scenario, ScenarioError, ScenarioFile, Transport, Workload, WorkloadSource};
use slotwise_units::{Bytes, Duration, Instant, Rate};

const ROUTER: &str = "routers: [r]
links: []
duration: 1 s
hosts:
- {name: h0..h3, at: r, rate: 1 Gbit/s, count: 2}
";

/// Reads a file with others beside it.
fn source(main: &str, others: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let others: BTreeMap<&str, &str> = others.iter().copied().collect();
    let source = ScenarioFile::read(main.as_bytes(), "main", |path: &Path| {
        let path = path.to_str().unwrap();
        let text = others.get(path).ok_or_else(|| format!("{path}: no such file"))?;
        Ok(text.as_bytes().to_vec())
    });
    source.and_then(|source| source.scenario())
}

fn workloads(entries: &str) -> Vec<Workload> {
    let text = format!("{ROUTER}workloads: [{entries}]\n");
    let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    scenario.workloads
}

fn refused(entries: &str) -> String {
    let text = format!("{ROUTER}workloads:\n- {entries}\n");
    match Scenario::parse(text.as_bytes()) {
        Err(error @ ScenarioError::Invalid(_)) => error.located(text.as_bytes()).to_string(),
        other => panic!("{other:?}"),
    }
}

/// The first flows of a workload.
fn flows(workload: &Workload, count: usize) -> Vec<slotwise_workload::Flow> {
    let mut generator = workload.generator(1, Instant::from_ns(1_000_000_000)).unwrap();
    std::iter::from_fn(|| generator.next_flow()).take(count).collect()
}

#[test]
fn a_workload_is_a_line_in_any_network() {
    let entries = "{sizes: websearch, load: 0.5}";
    for network in [
        ROUTER,
        "edges: 4\nduration: 1 s\n",
        "ring: {links: {rate: 1 Gbit/s, delay: 10 us}, stations: s0..s3}\nduration: 1 s\n",
        "ops: {switches: [a, b], links: [{between: [a, b], delay: 10 us}], edges: {edges_per_switch: 2}, wavelengths: 2, rate: 1 Gbit/s, ram: 16 KB}\nduration: 1 s\n",
        "edges: 3\nrouters: [r]\nlinks: [{from: r, to: edge0, rate: 1 Gbit/s, delay: 1 us}, {from: edge0, to: r, rate: 1 Gbit/s, delay: 1 us}]\n\
         hosts: {groups: [{name: g, at: r}]}\nduration: 1 s\n",
    ] {
        let text = format!("{network}workloads: [{entries}]\n");
        let scenario = Scenario::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{network}: {error}"));
        let [workload] = &scenario.workloads[..] else {
            panic!("{network}")
        };
        assert_eq!((workload.name.as_str(), workload.kind()), ("workload0", "poisson"));
        assert_eq!(workload.hosts.len(), scenario.host_count(), "{network}");
    }
}

#[test]
fn hosts_are_named_one_by_one_or_in_ranges() {
    let of = |entry: &str| workloads(entry).remove(0).hosts;
    assert_eq!(of("{from: h1, sizes: 1 KB, load: 0.1}"), [2, 3]);
    assert_eq!(of("{from: h1..h2, sizes: 1 KB, load: 0.1}"), [2, 3, 4, 5]);
    assert_eq!(of("{from: [h3, h0], sizes: 1 KB, load: 0.1}"), [6, 7, 0, 1]);
    assert_eq!(of("{from: h0, to: h3, sizes: 1 KB, load: 0.1}"), [0, 1, 6, 7]);
    let star = "edges: 3\nhosts: {}\nduration: 1 s\nworkloads: [{from: [edge2, h0_0], sizes: 1 KB, load: 0.1}]\n";
    assert_eq!(Scenario::parse(star.as_bytes()).unwrap().workloads[0].hosts, [2, 0]);
}

#[test]
fn the_load_is_of_the_senders_links_or_of_a_capacity() {
    let capacity = |entry: &str| match &workloads(entry)[0].source {
        WorkloadSource::Poisson { load, .. } => load.capacity,
        other => panic!("{other:?}"),
    };
    assert_eq!(capacity("{sizes: 1 KB, load: 0.1}"), Rate::from_bps(8_000_000_000));
    assert_eq!(
        capacity("{from: h0, to: h1, sizes: 1 KB, load: 0.1}"),
        Rate::from_bps(2_000_000_000)
    );
    assert_eq!(
        capacity("{sizes: 1 KB, load: 0.1, capacity: 3 Gbit/s}"),
        Rate::from_bps(3_000_000_000)
    );
}

#[test]
fn pairs_have_the_words_of_flows() {
    let ends = |entry: &str| -> Vec<(u32, u32)> {
        let flows = flows(&workloads(entry)[0], 200);
        flows.iter().map(|flow| (flow.source.0, flow.destination.0)).collect()
    };
    let base = "sizes: 1 KB, load: 0.1";
    assert!(
        ends(&format!("{{from: h0, to: h1, {base}}}"))
            .iter()
            .all(|(from, to)| *from < 2 && *to >= 2)
    );
    assert!(
        ends(&format!("{{from: h0, to: h1, pairs: same, {base}}}"))
            .iter()
            .all(|(from, to)| to - from == 2)
    );
    assert!(
        ends(&format!("{{pairs: {{shift: 3}}, {base}}}"))
            .iter()
            .all(|(from, to)| (from + 3) % 8 == *to)
    );
    assert!(
        ends(&format!("{{pairs: {{groups: 4}}, {base}}}"))
            .iter()
            .all(|(from, to)| from / 4 != to / 4)
    );
    let permutation = ends(&format!("{{pairs: permutation, {base}}}"));
    let distinct: std::collections::BTreeSet<_> = permutation.into_iter().collect();
    assert_eq!(distinct.len(), 8);
    let hot = ends(&format!("{{pairs: {{hotspot: {{hosts: 1, fraction: 1.0}}}}, {base}}}"));
    assert!(hot.iter().filter(|(_, to)| *to == hot[0].1).count() > 150);
    let turns = ends(&format!("{{pairs: [{{shift: 1}}, {{shift: 2}}], turn: 1 us, {base}}}"));
    assert!(turns.iter().all(|(from, to)| [1, 2].contains(&((to + 8 - from) % 8))));
}

#[test]
fn all_sources_of_flows_are_read() {
    let kinds = |entry: &str| workloads(entry)[0].kind();
    assert_eq!(
        kinds("{sizes: exponential 20 KB, closed: {flows_per_host: 2, pause: 1 ms}}"),
        "closed"
    );
    assert_eq!(
        kinds("{incast: {senders: 3, size: 20 KB, every: 10 ms, receiver: 1}}"),
        "incast"
    );
    assert_eq!(kinds("{incast: {senders: 3, size: 20 KB, load: 0.1}}"), "incast");
    for operation in [
        "ring",
        "tree, chunks: 4",
        "all-to-all",
        "pipeline, stages: 4, micro_batches: 2",
    ] {
        assert_eq!(
            kinds(&format!("{{collective: {{operation: {operation}, size: 16 MB}}}}")),
            "collective"
        );
    }
}

#[test]
fn transports_are_chosen_by_flow_or_by_size() {
    let entry = "{sizes: 1 KB, load: 0.1, transport: dctcp, by_size: [{below: 10 KB, transport: udp}, {below: 1 MB, transport: newreno}]}";
    let workload = &workloads(entry)[0];
    let of = |bytes| workload.transport_of(Bytes::new(bytes));
    assert_eq!(of(9_999), FlowTransport::Udp);
    assert_eq!(of(10_000), FlowTransport::Stream(Transport::NewReno));
    assert_eq!(of(1_000_000), FlowTransport::Stream(Transport::Dctcp));
    let entry =
        "{sizes: 1 KB, load: 0.1, transport: udp, by_size: [{below: 10 KB, transport: dctcp}], tcp: {min_rto: 1 ms}}";
    assert_eq!(workloads(entry)[0].tcp.min_rto_ms, Some(1));
}

#[test]
fn the_plain_form_is_the_same_scenario() {
    let text = format!(
        "{ROUTER}workloads: [{{from: h0..h2, sizes: {{table: hadoop, min: 1 KB}}, load: 0.2, start: 5 ms, tcp: {{min_rto: 1 ms}}}}, \
         {{name: b, incast: {{senders: 3, size: 20 KB, every: 10 ms}}}}]\n"
    );
    let scenario = Scenario::parse(text.as_bytes()).unwrap();
    let plain = Scenario::plain(text.as_bytes(), "scenario").unwrap();
    assert_eq!(Scenario::parse(plain.as_bytes()).unwrap(), scenario, "{plain}");
    assert_eq!(scenario.workloads[0].start, Duration::from_ms(5));
    let half = scenario.scaled_to(500).unwrap();
    assert_eq!(half.workloads[0].start, Duration::from_us(2_500));
}

#[test]
fn tables_and_matrices_come_from_files() {
    let main = format!(
        "{ROUTER}workloads:\n- {{from: h0..h1, sizes: {{file: t.csv}}, load: 0.1, pairs: {{file: m.csv}}}}\n- {{sizes: {{file: t.csv, interpolate: linear}}, load: 0.1}}\n"
    );
    let matrix = "0 1 0 0\n0 0 1 0\n0 0 0 1\n1 0 0 0\n";
    let table = "# interpolate: steps\n100 0.5\n300 1\n";
    let scenario = source(&main, &[("t.csv", table), ("m.csv", matrix)]).unwrap();
    let drawn = flows(&scenario.workloads[0], 100);
    assert!(drawn.iter().all(|flow| (flow.source.0 + 1) % 4 == flow.destination.0));
    assert!(drawn.iter().all(|flow| [100, 300].contains(&flow.size.get())));
    let drawn = flows(&scenario.workloads[1], 100);
    assert!(drawn.iter().any(|flow| ![100, 300].contains(&flow.size.get())));
    let falling = "# interpolate: steps\n100 0.5\n\n90 1\n";
    let error = source(&main, &[("t.csv", falling), ("m.csv", matrix)])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("t.csv:4") || error.contains("t.csv, line 4") || error.contains("line 4 of t.csv"),
        "{error}"
    );
    assert!(error.contains("does not rise"), "{error}");
}

#[test]
fn lists_traces_and_their_errors_are_read_from_a_directory() {
    let directory = std::env::temp_dir().join(format!("slotwise-workloads-{}", std::process::id()));
    let data = directory.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
    let main = directory.join("main.yaml");
    write(
        &main,
        &format!("{ROUTER}workloads:\n- list: {{file: flows.csv}}\n- coflows: {{file: trace.txt, divide: 1000}}\n"),
    );
    write(
        &directory.join("flows.csv"),
        "start_ns,from,to,size_bytes\n10,h0.0,h3.1,1000\n20,1,2,500\n",
    );
    write(&data.join("trace.txt"), "4 1\n7 5 2 0 1 1 2:3.0\n");
    let open = || ScenarioFile::open_with(&main, Some(&data)).and_then(|file| file.scenario());
    let scenario = open().unwrap();
    let listed = flows(&scenario.workloads[0], 10);
    assert_eq!(
        listed
            .iter()
            .map(|flow| (flow.source.0, flow.destination.0))
            .collect::<Vec<_>>(),
        [(0, 7), (1, 2)]
    );
    let coflow = flows(&scenario.workloads[1], 10);
    assert_eq!(
        coflow.iter().map(|flow| flow.size.get()).collect::<Vec<_>>(),
        [1500, 1500]
    );
    assert_eq!(coflow[0].start, Instant::from_ns(5_000_000));

    let refused = |text: &str| {
        write(&directory.join("flows.csv"), text);
        open().unwrap_err().to_string()
    };
    let unknown = refused("start_ns,from,to,size_bytes\n10,h0.0,h9.0,1000\n");
    assert!(
        unknown.contains("flows.csv: line 2") && unknown.contains("unknown host 'h9.0'"),
        "{unknown}"
    );
    assert!(unknown.contains("line 7"), "the line of the scenario: {unknown}");
    assert!(refused("start_ns,from,to,size_bytes\n").contains("no flows"));
    write(
        &directory.join("flows.csv"),
        "start_ns,from,to,size_bytes\n10,0,1,1000\n",
    );
    write(&data.join("trace.txt"), "4 1\n7 5 2 0 1 2 2:3.0\n");
    let open_coflow = open().unwrap_err().to_string();
    assert!(
        open_coflow.contains("trace.txt: line 2: coflow without an end"),
        "{open_coflow}"
    );
    write(&data.join("trace.txt"), "150 0\n");
    assert!(open().unwrap_err().to_string().contains("at least 150 hosts"));
    let alone = Scenario::parse(&std::fs::read(&main).unwrap()).unwrap_err().to_string();
    assert!(alone.contains("scenario without a directory"), "{alone}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn packets_of_a_capture_are_datagrams_of_their_size() {
    let directory = std::env::temp_dir().join(format!("slotwise-capture-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    // Version 2.4, raw IP; of each packet the IP header.
    let mut capture: Vec<u8> = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    for length in [1500_u16, 29, 20] {
        let record = [0, 0, 20, u32::from(length)];
        capture.extend(record.iter().flat_map(|word| word.to_le_bytes()));
        let [high, low] = length.to_be_bytes();
        capture.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    }
    std::fs::write(directory.join("c.pcap"), capture).unwrap();
    let main = directory.join("main.yaml");
    std::fs::write(&main, format!("{ROUTER}workloads:\n- pcap: {{file: c.pcap}}\n")).unwrap();
    let scenario = ScenarioFile::open(&main).and_then(|file| file.scenario()).unwrap();
    let sizes: Vec<u64> = flows(&scenario.workloads[0], 10)
        .iter()
        .map(|flow| flow.size.get())
        .collect();
    assert_eq!(sizes, [1472, 1, 1]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (entry, expected) in [
        ("{sizes: websearch}", "at least one of load, closed"),
        ("{load: 0.5}", "missing key 'sizes'"),
        ("{sizes: nothing, load: 0.5}", "found 'nothing'"),
        ("{sizes: 1 KB, load: 0}", "a number above 0 and at most 100"),
        (
            "{sizes: 1 KB, load: 0.5, closed: {}}",
            "'load' does not apply with 'closed'",
        ),
        ("{sizes: 1 KB, load: 0.5, from: h9}", "unknown hosts: found 'h9'"),
        ("{sizes: 1 KB, load: 0.5, from: [h0, h0]}", "given twice"),
        ("{sizes: 1 KB, load: 0.5, pairs: same}", "no receivers"),
        (
            "{sizes: 1 KB, load: 0.5, pairs: {skew: 0.5, shift: 1}}",
            "none or several patterns",
        ),
        (
            "{sizes: 1 KB, load: 0.5, pairs: [all, permutation]}",
            "several patterns without the time of each",
        ),
        (
            "{sizes: 1 KB, load: 0.5, pairs: {groups: 3}}",
            "a divisor of the 8 hosts",
        ),
        ("{incast: {senders: 8, size: 1 KB}}", "'senders': out of range"),
        (
            "{collective: {operation: pipeline, size: 1 KB, stages: 3}}",
            "'stages': out of range",
        ),
        (
            "{sizes: 1 KB, load: 0.5, transport: udp, tcp: linux}",
            "/workloads/0/tcp: 'tcp' where all flows are 'udp'; expected another 'transport', or no such key",
        ),
        (
            "{sizes: 1 KB, load: 0.5, transport: udp, by_size: [{below: 1 KB, transport: udp}], tcp: {min_rto: 1 ms}}",
            "/workloads/0/tcp: 'tcp' where all flows are 'udp'",
        ),
        (
            "{sizes: 1 KB, load: 0.5, transport: udp, sack: true}",
            "/workloads/0/sack: 'sack' where all flows are 'udp'",
        ),
        (
            "{pcap: {file: c.pcap}, tcp: {min_rto: 1 ms}}",
            "/workloads/0/tcp: 'tcp' where all flows are 'udp'",
        ),
        (
            "{sizes: 1 KB, load: 0.5, by_size: [{below: 1 KB, transport: xcp}], tcp: linux}",
            "/workloads/0/tcp: Linux has no XCP",
        ),
        (
            "{sizes: 1 KB, load: 0.5, by_size: [{below: 1 KB, transport: newreno}], tcp: {rack: true}}",
            "/workloads/0/tcp/rack: RACK without SACK",
        ),
        (
            "{sizes: 1 KB, load: 0.5, packet_bytes: 9000}",
            "exceed the largest packet",
        ),
        ("{sizes: 1 KB, load: 0.5, start: 2 s}", "after the end of the run"),
        (
            "{sizes: 1 KB, load: 0.5, start: 2 ms, stop: 1 ms}",
            "a stop before the start",
        ),
        (
            "{sizes: {table: websearch, min: 1 GB}, load: 0.5}",
            "at most the largest size of the table",
        ),
        (
            "{sizes: 1 KB, load: 0.5, by_size: [{below: 2 KB, transport: udp}, {below: 1 KB, transport: udp}]}",
            "does not rise",
        ),
        ("{sizes: 1 KB, load: 0.5, transport: sctp}", "found 'sctp'"),
    ] {
        let error = refused(entry);
        assert!(error.contains(expected) && error.contains("line 7"), "{entry}: {error}");
    }
    let text =
        format!("{ROUTER}workloads:\n- {{name: a, sizes: 1 KB, load: 0.1}}\n- {{name: a, sizes: 1 KB, load: 0.1}}\n");
    let error = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("duplicate name 'a'"), "{error}");
}

#[test]
fn hosts_without_a_path_are_refused() {
    let text = "routers: [a, b]\nlinks: [{from: a, to: b, rate: 1 Gbit/s, delay: 1 us}]\nduration: 1 s\n\
                workloads: [{sizes: 1 KB, load: 0.1}]\n";
    let error = Scenario::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("no path from router1 to router0"), "{error}");
}
