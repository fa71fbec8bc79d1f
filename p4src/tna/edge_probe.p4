// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_probe.p4, without shares and agents of outputs. What depends on registers that it writes comes twice: looked at
// first, then resubmitted with what was found, and kept.
//
//   interval tick ──> macroflow ──> mean of what has left ──resubmitted──> kept ──> probe ──> wavelength for probes
//   probe ──> reply ──> wavelength for probes
//   reply ──> macroflow ──> allowed rate ──resubmitted──> kept ──> flow control
#ifndef SLOTWISE_EDGE_PROBE_P4
#define SLOTWISE_EDGE_PROBE_P4
#include "target.p4"
#include "label_again.p4"
#include "label_macroflow.p4"
#include "../include/edge_parser.p4"

// Of a probe or reply: 0, but `below` where it is about a wavelength for data.
struct probe_traits_t {
    bit<8>  astray;  // from another port than that for probes
    bit<16> for_us;
    bit<16> own;     // from this edge itself
    bit<8>  below;
}

control ProbeTraits(in edge_headers_t hdr, in standard_metadata_t standard_metadata, in edge_metadata_t meta, inout probe_traits_t traits) {
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_port;

    @hidden action take_port() {
        traits.astray = low_port.get({ standard_metadata.ingress_port })[7:0];
    }

    @hidden action mask_port() {
        traits.astray = traits.astray & meta.wavelength_mask;
    }

    @hidden action compare() {
        traits.astray = traits.astray ^ meta.wavelengths;
        traits.for_us = hdr.label.dst_edge ^ meta.edge_id;
        traits.own = hdr.label.src_edge ^ meta.edge_id;
        traits.below = meta.wavelengths |-| hdr.label.wavelength;
    }

    apply {
        take_port();
        mask_port();
        compare();
    }
}

// A probe or reply of its wavelength, for this edge: from one port only, and with nothing of a train.
control LookAtProbe(in edge_headers_t hdr, in probe_traits_t traits, inout DropReason drop_reason) {
    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() { }

    @hidden table look_at_probe {
        key = {
            traits.astray:     ternary;
            traits.for_us:     ternary;
            traits.own:        ternary;
            traits.below:      ternary;
            hdr.label.train:   ternary;
            hdr.label.length:  ternary;
            hdr.label.packets: ternary;
            hdr.label.kind:    ternary;
            hdr.probe.queue:   ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (0, 0, 0, _, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, 0, _, 0, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, 0, 0, 0, LabelKind.PROBE, _):                   accept();
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, SIGNALING_QUEUE):     refuse(DropReason.BAD_QUEUE);
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, 0 &&& 0xfc00):        accept();
            (0, 0, _, _, 0, 0, 0, LabelKind.REPLY, _):                   refuse(DropReason.BAD_QUEUE);
            (0, 0, _, _, _, _, _, _, _):                                 refuse(DropReason.BAD_FIELD);
            (0, _, _, _, _, _, _, _, _):                                 refuse(DropReason.MISDIRECTED);
        }
    }

    apply {
        look_at_probe.apply();
    }
}

// At the other end.
control ReturnProbe(inout edge_headers_t hdr, in edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action return_probe() {
        hdr.label.dst_edge = hdr.label.src_edge;
        hdr.label.src_edge = meta.edge_id;  // for which it was
        hdr.label.kind = LabelKind.REPLY;
        hdr.label.hops_left = meta.hops;
        hdr.ethernet.src = meta.mac;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    apply {
        return_probe();
    }
}

// Of a reply: whether it is the one to the last probe, and what is allowed by it: at most twice what it sends of late, so that what is
// allowed is not far above what is used, but for who could not send.
control LookAtReply(in edge_headers_t hdr, in edge_metadata_t meta, in macroflow_t flow, inout DropReason drop_reason, inout bit<32> kept) {
    bit<16> other_edge = 0;
    bit<8>  other_class = 0;
    bit<8>  other_wavelength = 0;
    bit<32> other_sequence = 0;
    bit<32> other_bytes = 0;
    bit<32> twice = 0;
    bit<32> above = 0;
    bit<32> less = 0;

    @hidden action compare() {
        other_edge = hdr.label.src_edge ^ meta.dst_edge;
        other_class = hdr.label.traffic_class ^ meta.traffic_class;
        other_wavelength = hdr.label.wavelength ^ flow.wavelength;
        other_sequence = hdr.probe.sequence ^ flow.sequence;
        other_bytes = hdr.probe.sent_bytes ^ flow.sent;
        less = 0 - hdr.probe.feedback;
        kept = flow.allowed;
    }

    @hidden action double_rate() {
        twice = flow.rate |+| flow.rate;
    }

    @hidden action find_above() {
        above = kept |-| twice;
    }

    @hidden action bound() {
        kept = kept - above;
    }

    @hidden action fall() {
        kept = kept |-| less;
    }

    @hidden action rise() {
        kept = kept |+| hdr.probe.feedback;
    }

    @hidden table change {
        key = {
            hdr.probe.feedback: ternary;
        }
        actions = {
            rise;
            fall;
        }
        const default_action = fall();
        const entries = {
            0 &&& 0x80000000: rise();
        }
    }

    @hidden action raise() {
        kept = max(kept, flow.floor);
    }

    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() { }

    @hidden table look_at_reply {
        key = {
            other_edge:       ternary;
            other_class:      ternary;
            flow.state:       ternary;
            other_sequence:   ternary;
            other_wavelength: ternary;
            other_bytes:      ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, 0, ANSWERED, _, _, _): refuse(DropReason.STALE);
            (0, 0, _, 0, 0, 0):        accept();
            (0, 0, _, 0, _, _):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, _, _):        refuse(DropReason.STALE);
        }
    }

    apply {
        compare();
        look_at_reply.apply();
        double_rate();
        find_above();
        if (flow.shift == 0 || flow.state != WAITED) {
            bound();
        }
        change.apply();
        raise();
    }
}

// A tick has become a probe.
control Ask(inout edge_headers_t hdr, in edge_metadata_t meta, in queue_t queue, in macroflow_t flow, inout standard_metadata_t standard_metadata) {
    bit<32> spare = 0;
    bit<32> eighth = 0;

    @hidden action ask() {
        hdr.ethernet.src = meta.mac;
        hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
        hdr.linecard.setInvalid();
        hdr.label.setValid();
        hdr.label.version = LABEL_VERSION;
        hdr.label.kind = LabelKind.PROBE;
        hdr.label.traffic_class = meta.traffic_class;
        hdr.label.src_edge = meta.edge_id;
        hdr.label.dst_edge = meta.dst_edge;
        hdr.label.train = 0;
        hdr.label.length = 0;
        hdr.label.packets = 0;
        hdr.label.wavelength = flow.wavelength;
        hdr.label.deflections_left = 0;
        hdr.label.hops_left = meta.hops;
        hdr.label.reserved = 0;
        hdr.probe.setValid();
        hdr.probe.sequence = flow.sequence;
        hdr.probe.sent_bytes = flow.sent;
        hdr.probe.feedback = NO_FEEDBACK;
        hdr.probe.flags = 0;
        hdr.probe.queue = queue;
        hdr.probe.sent_ns = hdr.interval_tick.local_ns;
        standard_metadata.egress_spec = meta.egress_port;
    }

    @hidden action find_spare() {
        spare = flow.allowed |-| flow.rate;
        eighth = flow.allowed >> 3;
    }

    @hidden action compare() {
        spare = spare |-| eighth;
    }

    @hidden action be_satisfied() {
        hdr.probe.flags = PROBE_SATISFIED;
    }

    apply {
        ask();
        find_spare();
        compare();
        // Less than 7/8 of what it is allowed, and not because a train waits that takes longer than a period.
        if (flow.tells == 1 && hdr.interval_tick.least_backlog_bytes == 0 && spare != 0) {
            be_satisfied();
        }
    }
}

// The rate of a reply, for the card of the output that the macroflow leaves by.
control TellRate(inout edge_headers_t hdr, in edge_metadata_t meta, in macroflow_t flow, in rate_t rate, inout standard_metadata_t standard_metadata) {
    bit<8> output = 0;

    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) low_port;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) wide;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) low_bits;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) high_bits;

    // In bit/s, by a hash that changes nothing, so that it lies apart from what rates are reckoned with.
    @hidden action set_low() {
        hdr.flow_control.value[31:0] = low_bits.get({ rate[28:0], 3w0 });
    }

    @hidden action set_high() {
        hdr.flow_control.value[63:32] = high_bits.get({ rate[31:29] });
    }

    @hidden action find_port() {
        output = low_port.get({ meta.egress_port })[7:0];
    }

    @hidden action find_fibre() {
        output = output - meta.wavelengths;
    }

    @hidden action find_output() {
        output = output + flow.wavelength;
    }

    @hidden action name_output() {
        hdr.linecard.port = wide.get({ output });
    }

    @hidden action name_port() {
        hdr.linecard.port = hdr.linecard.port + (bit<16>)PORT_OPTICAL_BASE;
    }

    @hidden action tell() {
        hdr.ethernet.ether_type = ETHERTYPE_LINECARD;
        hdr.linecard.setValid();
        hdr.linecard.version = LINECARD_VERSION;
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.linecard.reserved = 0;
        hdr.flow_control.setValid();
        hdr.flow_control.queue = hdr.probe.queue;
        hdr.flow_control.op = FlowOp.SET_RATE;
        hdr.flow_control.reserved = 0;
        hdr.flow_control.open_ns = 0;
        hdr.flow_control.close_ns = 0;
        hdr.label.setInvalid();
        hdr.probe.setInvalid();
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        find_port();
        find_fibre();
        find_output();
        tell();
        set_low();
        set_high();
        name_output();
        name_port();
    }
}

// What becomes of a tick, a probe or a reply, by what it is and whether its macroflow is known; `returns`: a probe that goes back.
control ProbeRules(in edge_headers_t hdr, in bit<1> is_again, in bit<8> again, in queue_t queue, in bit<1> is_known, inout ProbeOp op, inout bit<1> returns,
                   inout DropReason drop_reason) {
    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action go(ProbeOp found) {
        op = found;
    }

    @hidden action go_back() {
        returns = 1;
    }

    @hidden table probe_rules {
        key = {
            is_again:                ternary;
            again:                   ternary;
            hdr.probe.isValid():     ternary;
            hdr.label.kind:          ternary;
            queue:                   ternary;
            is_known:                ternary;
            hdr.interval_tick.timer: ternary;
        }
        actions = {
            refuse;
            go;
            go_back;
        }
        const default_action = refuse(DropReason.BAD_QUEUE);
        const entries = {
            (1, AGAIN_TICK, _, _, _, 1, _):                                go(ProbeOp.ASK);
            (1, AGAIN_REPLY, _, _, _, 1, _):                               go(ProbeOp.TAKE);
            (_, _, true, LabelKind.PROBE, _, _, _):                        go_back();
            (_, _, true, _, _, 1, _):                                      go(ProbeOp.ANSWER);
            (_, _, true, _, _, _, _):                                      refuse(DropReason.NO_VOQ);
            (_, _, _, _, SIGNALING_QUEUE, _, _):                           refuse(DropReason.BAD_QUEUE);
            (_, _, _, _, 0 &&& 0xfc00, 1, (bit<8>)IntervalTimer.CONTROL):  go(ProbeOp.LOOK);
            (_, _, _, _, 0 &&& 0xfc00, _, _):                              refuse(DropReason.NO_SIGNALING);
        }
    }

    apply {
        probe_rules.apply();
    }
}

#endif
