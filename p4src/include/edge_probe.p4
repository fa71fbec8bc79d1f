// SPDX-License-Identifier: Apache-2.0
// Macroflows: what goes from one edge to another in one class, a queue of its own. Once a period its card ticks, and asks the network by
// a probe by how much the rate may change; the edge at the other end sends it back.
//
//   interval tick ──> macroflow ──> probe ──> agent of the output (edge_xcp.p4) ──> wavelength for probes
//   probe ──> reply ──> wavelength for probes
//   reply ──> macroflow ──> allowed rate ──> flow control
//
// Where edges share (edge_share.p4) nobody else has a say: the far edge writes a grant, and the rate is the smaller of that and what this
// edge allows.
#ifndef SLOTWISE_EDGE_PROBE_P4
#define SLOTWISE_EDGE_PROBE_P4
#include "edge_parser.p4"
#include "edge_share.p4"
#include "quotient.p4"

// By queue.
register<rate_t>(MAX_QUEUES)  allowed_rate;    // 0: it has not ticked yet
register<bit<32>>(MAX_QUEUES) sent_total;      // bytes that have left it, modulo 2^32, at its last tick
register<bit<32>>(MAX_QUEUES) probe_sequence;  // of its last probe
register<bit<32>>(MAX_QUEUES) probe_bytes;     // sent_bytes of its last probe
register<bit<32>>(MAX_QUEUES) used_bytes;      // what it sends in a period of late: a mean
register<bit<1>>(MAX_QUEUES)  waited;          // all the period before its last probe, for a train that may take longer than a period
register<bit<1>>(MAX_QUEUES)  probe_open;      // its last probe has not been answered
register<bit<8>>(MAX_QUEUES)  probe_misses;    // probes in a row that have not been, where edges share

control Macroflows(inout edge_headers_t hdr, inout edge_metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<8>  data_wavelength = 0;
    bit<64> least_rate = 0;
    bit<64> periods = 0;  // a second, in 1/256
    bit<1>  tells = 0;
    bit<8>  mean_shift = 0;

    index_t queue;
    bit<32> total;
    bit<32> sent;
    rate_t  kept;
    bit<64> allowed;  // byte/s
    bit<32> mean;     // bytes that leave in a period of late
    bit<32> used;     // that, or more in the last one
    bit<64> used_q8;  // as a rate
    bit<1>  waits;
    bit<32> sequence;
    bit<1>  open;
    bit<8>  misses = 0;
    rate_t  grant;
    edge_t  source;
    share_params_t params;

    @name(".EdgeIngress") ShareParams() share_params;
    Share() share;

    // To `dst_edge`, on this wavelength of the fibre of `port`, which is the one for probes. `floor`: byte/s that it is always
    // allowed; `periods_q8`: periods a second, in 1/256; `tells_satisfied`: it says so if it has no use for more; `shift`: what it has
    // sent of late is a mean with 2^-shift for the last period. 0, where a packet goes alone: that period says it. A train may take
    // longer than a period, so that periods without one say nothing.
    action set_macroflow(edge_t dst_edge, bit<8> traffic_class, bit<8> wavelength, port_t port, rate_t floor, bit<32> periods_q8,
                         bit<1> tells_satisfied, bit<8> shift) {
        meta.dst_edge = dst_edge;
        meta.traffic_class = traffic_class;
        data_wavelength = wavelength;
        meta.egress_port = port;
        least_rate = (bit<64>)floor;
        periods = (bit<64>)periods_q8;
        tells = tells_satisfied;
        mean_shift = shift;
    }

    table macroflow {
        key = {
            meta.queue: exact @name("queue");
        }
        actions = {
            set_macroflow;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = MAX_QUEUES;
    }

    @hidden action look_at_tick() {
        meta.queue = hdr.queue_report.queue;
        queue = (index_t)hdr.queue_report.queue;
        if (meta.queue >= SIGNALING_QUEUE) {
            meta.drop_reason = DropReason.BAD_QUEUE;
        }
    }

    @hidden action look_at_probe() {
        meta.queue = hdr.probe.queue;
        queue = (index_t)hdr.probe.queue;
        if (((bit<8>)(standard_metadata.ingress_port - PORT_OPTICAL_BASE) & meta.wavelength_mask) != meta.wavelengths) {
            meta.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (hdr.label.dst_edge != meta.edge_id) {
            meta.drop_reason = DropReason.MISDIRECTED;
        } else if (hdr.label.src_edge == meta.edge_id || hdr.label.wavelength >= meta.wavelengths
                   || hdr.label.train != 0 || hdr.label.length != 0 || hdr.label.packets != 0) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else if (hdr.label.kind == LabelKind.REPLY && meta.queue >= SIGNALING_QUEUE) {
            meta.drop_reason = DropReason.BAD_QUEUE;
        }
    }

    // At the other end.
    @hidden action return_probe() {
        source = hdr.label.src_edge;
        hdr.label.src_edge = hdr.label.dst_edge;
        hdr.label.dst_edge = source;
        hdr.label.kind = LabelKind.REPLY;
        hdr.label.hops_left = meta.hops;
        hdr.ethernet.src = meta.mac;
        meta.egress_port = standard_metadata.ingress_port;
    }

    // The wavelength's port; the agent of that output, if there is one, adds what it has to say.
    @hidden action find_output() {
        meta.output = (index_t)(meta.egress_port - (port_t)meta.wavelengths + (port_t)data_wavelength);
        meta.duty = Duty.TICK_XCP;
        allowed_rate.read(kept, queue);
        allowed = (bit<64>)kept;
        probe_sequence.read(sequence, queue);
        probe_open.read(open, queue);
        probe_bytes.read(sent, queue);
        used_bytes.read(used, queue);
        waited.read(waits, queue);
    }

    // Byte/s, in 1/256: of the last period, or of late if that is more.
    @hidden action find_rate() {
        AT_LEAST(used, sent)
        used_q8 = (bit<64>)used * periods;
    }

    @hidden action measure() {
        mean = used - (used >> mean_shift) + (sent >> mean_shift);
        used = mean;
        waits = 0;
        if (hdr.interval_tick.least_backlog_bytes != 0) {
            waits = 1;
        }
    }

    @hidden action count_leaving() {
        total = hdr.queue_report.arrived_bytes - hdr.queue_report.backlog_bytes;
        sent_total.read(sent, queue);
        sent_total.write(queue, total);
        sent = total - sent;
    }

    // The rate is that of `allowed`, from now on.
    @hidden action tell_rate() {
        allowed_rate.write(queue, allowed[31:0]);
        meta.core = meta.output - (index_t)PORT_OPTICAL_BASE;
        meta.to_linecard = 1;
        meta.op = FlowOp.SET_RATE;
        meta.value = allowed << 3;
    }

    @hidden action count_misses() {
        card_clock.write(0, hdr.interval_tick.local_ns);
        if (open == 1) {
            probe_misses.read(misses, queue);
            misses = misses + 1;
        }
        probe_misses.write(queue, misses);
    }

    // Nobody has granted anything for some periods: half of it is left, and the network is asked again in the next period.
    @hidden action halve() {
        probe_misses.write(queue, 1);
        allowed = allowed >> 1;
        AT_LEAST(allowed, least_rate)
    }

    // A card that says that less has left the queue than a period ago has begun anew, and is asked again then.
    @hidden action ask() {
        AT_LEAST(allowed, least_rate)
        allowed_rate.write(queue, allowed[31:0]);
        if (sent >> 31 != 0) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            sequence = sequence + 1;
            probe_sequence.write(queue, sequence);
            probe_bytes.write(queue, sent);
            probe_open.write(queue, 1);
            used_bytes.write(queue, mean);
            waited.write(queue, waits);
            meta.xcp = 1;
            hdr.ethernet.src = meta.mac;
            hdr.ethernet.ether_type = ETHERTYPE_OPTICAL;
            hdr.label.setValid();
            hdr.label.version = LABEL_VERSION;
            hdr.label.kind = LabelKind.PROBE;
            hdr.label.traffic_class = meta.traffic_class;
            hdr.label.src_edge = meta.edge_id;
            hdr.label.dst_edge = meta.dst_edge;
            hdr.label.train = 0;
            hdr.label.length = 0;
            hdr.label.packets = 0;
            hdr.label.wavelength = data_wavelength;
            hdr.label.deflections_left = 0;
            hdr.label.hops_left = meta.hops;
            hdr.label.reserved = 0;
            hdr.probe.setValid();
            hdr.probe.sequence = sequence;
            hdr.probe.sent_bytes = sent;
            hdr.probe.feedback = NO_FEEDBACK;
            hdr.probe.flags = 0;
            // Less than 7/8 of what it is allowed, and not because a train waits that takes longer than a period.
            if (tells == 1 && waits == 0 && used_q8 >> 5 < 7 * allowed) {
                hdr.probe.flags = PROBE_SATISFIED;
            }
            if (params.shares == 1) {
                hdr.probe.flags = hdr.probe.flags | PROBE_GRANT;
            }
            hdr.probe.queue = meta.queue;
            hdr.probe.sent_ns = hdr.interval_tick.local_ns;
        }
        hdr.linecard.setInvalid();
        hdr.interval_tick.setInvalid();
        hdr.queue_report.setInvalid();
    }

    // At most twice what it sends of late, so that what is allowed is not far above what is used, but for who could not send: what it was
    // allowed adds up until its train may leave. With 2^31 added nothing is negative.
    @hidden action take() {
        if (hdr.label.src_edge != meta.dst_edge || hdr.label.traffic_class != meta.traffic_class) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (open == 0 || hdr.probe.sequence != sequence) {
            meta.drop_reason = DropReason.STALE;
        } else if (hdr.label.wavelength != data_wavelength || hdr.probe.sent_bytes != sent
                   || params.shares == 1 && (hdr.probe.flags & PROBE_GRANT) == 0) {
            meta.drop_reason = DropReason.BAD_FIELD;
        } else {
            probe_open.write(queue, 0);
            if (params.shares == 1) {
                own_grant.read(grant, queue);
                allowed = (bit<64>)grant;
                AT_MOST(allowed, (bit<64>)hdr.probe.feedback)
            } else {
                if (mean_shift == 0 || waits == 0) {
                    AT_MOST(allowed, used_q8 >> 7)
                }
                allowed = (allowed + (bit<64>)(hdr.probe.feedback ^ 0x80000000)) |-| 0x80000000;
            }
            AT_LEAST(allowed, least_rate)
            AT_MOST(allowed, MAX_ALLOWED_RATE)
            hdr.label.setInvalid();
            hdr.probe.setInvalid();
        }
    }

    @hidden action refuse_probe(DropReason reason) {
        meta.drop_reason = reason;
    }

    // A queue that is none is an output.
    @hidden action of_output() {
        meta.output = queue;
        meta.xcp = 1;
        meta.duty = Duty.TICK_XCP;
    }

    @hidden action send_probe() {
        standard_metadata.egress_spec = meta.egress_port;
    }

    apply {
        if (hdr.probe.isValid()) {
            look_at_probe();
        } else {
            look_at_tick();
        }
        if (meta.drop_reason == DropReason.NONE) {
            share_params.apply(params);
            if (hdr.probe.isValid() && hdr.label.kind == LabelKind.PROBE) {
                return_probe();
            } else if (macroflow.apply().hit) {
                find_output();
                if (hdr.probe.isValid()) {
                    find_rate();
                    take();
                    if (meta.drop_reason == DropReason.NONE) {
                        tell_rate();
                    }
                } else if (hdr.interval_tick.timer == IntervalTimer.CONTROL) {
                    count_leaving();
                    if (params.shares == 1) {
                        count_misses();
                    }
                    if (misses >= GRANT_PERIODS) {
                        halve();
                        tell_rate();
                    } else {
                        measure();
                        find_rate();
                        ask();
                    }
                } else {
                    refuse_probe(DropReason.NO_SIGNALING);
                }
            } else if (hdr.probe.isValid()) {
                refuse_probe(DropReason.NO_VOQ);
            } else {
                of_output();
            }
            if (hdr.probe.isValid() && meta.drop_reason == DropReason.NONE) {
                if (params.shares == 1 && (hdr.probe.flags & PROBE_GRANT) != 0) {
                    share.apply(hdr, meta, params, queue);
                }
                if (meta.drop_reason == DropReason.NONE) {
                    send_probe();
                }
            }
        }
    }
}

#endif
