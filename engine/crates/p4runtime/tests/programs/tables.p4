// SPDX-License-Identifier: Apache-2.0
// What the P4Runtime server has to serve: every match kind, const and default entries, counters, packet I/O.
// With -DWIDER the port counter is larger and a table is added; with -DSTATEFUL there is a register.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> _pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> _pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header probe_t {
    bit<32> address;
    bit<16> port;
    bit<12> tag;
    bit<4>  kind;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    probe_t      probe;
}

struct metadata_t {}

parser TablesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88B5: parse_probe;
            default: accept;
        }
    }
    state parse_probe {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control TablesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TablesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) mac_counter;
#ifdef WIDER
    counter(1024, CounterType.packets_and_bytes) port_counter;
#else
    counter(512, CounterType.packets_and_bytes) port_counter;
#endif
#ifdef STATEFUL
    register<bit<32>>(16) seen;
#endif

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action tag(bit<12> value, bit<4> kind) {
        hdr.probe.tag = value;
        hdr.probe.kind = kind;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table mac {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; drop; @defaultonly NoAction; }
        default_action = NoAction();
        counters = mac_counter;
        size = 4;
    }

    table route {
        key = { hdr.probe.address: lpm; }
        actions = { forward; drop; @tableonly tag; }
        default_action = drop();
    }

    table acl {
        key = {
            hdr.probe.address: ternary;
            hdr.probe.port: range;
            hdr.probe.tag: optional;
        }
        actions = { tag; drop; NoAction; }
        const default_action = NoAction();
    }

    table kinds {
        key = { hdr.probe.kind: exact; }
        actions = { tag; drop; NoAction; }
        const entries = {
            3: tag(0x123, 4);
            5: drop();
        }
        default_action = NoAction();
    }

    table fallback {
        actions = { forward; drop; }
        default_action = forward(CPU_PORT);
    }

#ifdef WIDER
    table extra {
        key = { hdr.probe.tag: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
#endif

    apply {
        port_counter.count((bit<32>)standard.ingress_port);
#ifdef STATEFUL
        seen.write(0, 1);
#endif
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (!mac.apply().hit) {
            fallback.apply();
        }
        if (hdr.probe.isValid()) {
            kinds.apply();
            acl.apply();
            route.apply();
#ifdef WIDER
            extra.apply();
#endif
        }
    }
}

control TablesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in._pad = 0;
        }
    }
}

control TablesChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TablesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.probe);
    }
}

V1Switch(TablesParser(), TablesVerify(), TablesIngress(), TablesEgress(), TablesChecksum(), TablesDeparser()) main;
