// SPDX-License-Identifier: Apache-2.0
//! What a file says of optical packet switches that may be, and is hardly meant.

use slotwise_units::{Bytes, Duration, Rate};
use slotwise_wire::{Ethernet, Label, Probe};

use super::{Ops, OpsMatch, Scheme};
use crate::faults::FaultKind;
use crate::model::Scenario;
use crate::reader::Reader;
use crate::routed::Source;

/// Each is reported as a problem is.
pub(crate) fn notes(scenario: &Scenario, r: &mut Reader) {
    let Some(ops) = &scenario.ops else { return };
    let packet_bytes = u64::from(scenario.routed.packet_bytes);
    if (1..packet_bytes).contains(&ops.ram.get()) {
        r.report(
            "/ops/ram_bytes".into(),
            format!("less than a packet of {packet_bytes} bytes: few bursts can be buffered"),
            format!("{packet_bytes} or more, or 0 for none"),
        );
    }
    let is_by_class = |ops: &Ops| ops.aggregation.as_ref().is_some_and(|it| it.scheme == Scheme::Class);
    if is_by_class(ops) && ops.classes.iter().all(|class| class.class == 0) {
        r.report(
            "/ops/aggregation/scheme".into(),
            "all packets are in class 0: same bursts as scheme 'full'",
            "'classes' too",
        );
    }
    classes(scenario, ops, r);
    wavelengths(ops, r);
    probes(ops, r);
    let is_of_messages = |kind| matches!(kind, FaultKind::Messages { .. });
    for (index, faults) in scenario.faults.iter().enumerate() {
        if is_of_messages(faults.kind) && ops.probes.is_none() {
            r.report(
                format!("/faults/{index}/kind"),
                "no messages to affect: this network sends only probes, and none are configured",
                "'probes' under 'ops'",
            );
        }
    }
}

/// Those that no flow has anything for.
fn classes(scenario: &Scenario, ops: &Ops, r: &mut Reader) {
    let flows = &scenario.routed.flows;
    let is_tcp = |source: &Source| matches!(source, Source::Stream { .. } | Source::Web { .. });
    for (index, class) in ops.classes.iter().enumerate() {
        let place = format!("/ops/classes/{index}/match");
        match class.matches {
            Some(OpsMatch::Dscp(dscp)) if flows.iter().all(|flow| flow.dscp != dscp) => r.report(
                place,
                format!("no flow in this scenario has DSCP {dscp}"),
                format!("a flow with 'dscp: {dscp}', unless hosts generate other traffic"),
            ),
            Some(OpsMatch::Acknowledgements) if !flows.iter().any(|flow| is_tcp(&flow.source)) => r.report(
                place,
                "no TCP flow in this scenario",
                "a TCP flow, unless hosts generate other traffic",
            ),
            _ => {}
        }
    }
}

/// A probe that the next one overtakes is not answered in time, ever: where the way is too long, or the wavelength too slow for all of an edge.
fn probes(ops: &Ops, r: &mut Reader) {
    let Some(probes) = ops.probes.filter(|_| ops.macroflows.is_some()) else {
        return;
    };
    let macroflows = ops.edges.len().saturating_sub(1) as u64 * u64::from(ops.class_count());
    let probe_bytes = (Ethernet::SIZE + Label::SIZE + Probe::SIZE) as u64 + u64::from(ops.framing_bytes);
    // As many as it asks are answered by it.
    let needed = Rate::of(Bytes::new(2 * macroflows * probe_bytes), probes.period);
    if needed > probes.rate {
        r.report(
            "/ops/probes/rate_bps".into(),
            format!("too low for the probes and replies of the {macroflows} macroflows of an edge in a period: most arrive late"),
            format!("at least {}, or a longer period", needed.bps()),
        );
    }
    let round_trip = 2 * longest_way(ops);
    if probes.period <= round_trip {
        r.report(
            "/ops/probes/period_ns".into(),
            format!("round-trip time between edges reaches {round_trip}: those replies never arrive in time"),
            format!("more than {}", round_trip.ns()),
        );
    }
}

/// Propagation between the two edges that are farthest apart, by the way that takes least; 0 without switches.
fn longest_way(ops: &Ops) -> Duration {
    let ends: Vec<(usize, Duration)> = ops
        .edges
        .iter()
        .filter_map(|edge| Some((usize::from(edge.switch?), edge.delay)))
        .collect();
    let ways = ends.iter().enumerate().filter_map(|(at, &(from, up))| {
        let ways = ways_from(ops, from);
        let others = ends.iter().skip(at + 1);
        others.filter_map(|&(to, down)| Some(up + ways[to]? + down)).max()
    });
    ways.max().unwrap_or_default()
}

/// Least propagation from a switch to each; `None`: no way leads there.
fn ways_from(ops: &Ops, from: usize) -> Vec<Option<Duration>> {
    let mut ways: Vec<Option<Duration>> = vec![None; ops.switches.len()];
    ways[from] = Some(Duration::ZERO);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for link in &ops.links {
            let [a, b] = link.between.map(usize::from);
            for (here, there) in [(a, b), (b, a)] {
                let Some(so_far) = ways[here] else { continue };
                let by_here = so_far + link.delay;
                if ways[there].is_none_or(|known| by_here < known) {
                    ways[there] = Some(by_here);
                    changed = true;
                }
            }
        }
    }
    ways
}

/// Those that edges send nothing on.
fn wavelengths(ops: &Ops, r: &mut Reader) {
    let of_class_0 = ops.classes.iter().find(|class| class.class == 0);
    let of_class_0 = of_class_0.map_or(0, |class| class.wavelength);
    let is_used =
        |&wavelength: &u8| wavelength == of_class_0 || ops.classes.iter().any(|class| class.wavelength == wavelength);
    let unused: Vec<String> = (0..ops.wavelengths)
        .filter(|wavelength| !is_used(wavelength))
        .map(|wavelength| wavelength.to_string())
        .collect();
    if unused.is_empty() {
        return;
    }
    let (many, unused) = (unused.len() > 1, unused.join(", "));
    let called = if many { "wavelengths" } else { "wavelength" };
    let reason = match ops.conversion {
        true => format!("edges do not send on {called} {unused}: only converted bursts use it"),
        false => format!("edges do not send on {called} {unused}"),
    };
    r.report("/ops/wavelengths".into(), reason, "'classes' with a 'wavelength' each");
}
