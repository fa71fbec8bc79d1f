// SPDX-License-Identifier: Apache-2.0
// What the P4Runtime server has to serve beyond tables.p4: action profile and selector, meters, a register, a value set,
// a digest, multicast, clone sessions, idle timeouts, and every match kind.
#include <core.p4>
#include <v1model.p4>

const bit<9>  CPU_PORT = 510;
const bit<32> INGRESS_CLONE = 1;

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

header tagged_t {
    bit<32> address;
    bit<16> flow;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    tagged_t     tagged;
}

struct metadata_t {
    bit<2> color;
}

struct learn_t {
    bit<48> src;
    bit<9>  port;
}

parser EntitiesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) tagged_types;

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
            tagged_types: parse_tagged;
            default: accept;
        }
    }
    state parse_tagged {
        packet.extract(hdr.tagged);
        transition accept;
    }
}

control EntitiesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control EntitiesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) host_counter;
    direct_meter<bit<2>>(MeterType.packets) host_meter;
    counter(16, CounterType.packets) port_counter;
    meter(16, MeterType.bytes) port_meter;
    register<bit<48>>(8) last_source;
    action_profile(8) paths;
    @max_group_size(4)
    action_selector(HashAlgorithm.crc16, 8, 16) uplinks;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action metered(bit<9> port) {
        standard.egress_spec = port;
        host_meter.read(meta.color);
    }

    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }

    action mirror(bit<9> port, bit<32> session) {
        standard.egress_spec = port;
        clone(CloneType.I2E, session);
    }

    action learn(bit<9> port) {
        standard.egress_spec = port;
        digest<learn_t>(1, { hdr.ethernet.src, standard.ingress_port });
    }

    // Hosts that are forgotten when they are silent.
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { metered; drop; @defaultonly NoAction; }
        default_action = NoAction();
        counters = host_counter;
        meters = host_meter;
        support_timeout = true;
        size = 128;
    }

    // Every match kind that goes with others.
    table rules {
        key = {
            hdr.ethernet.dst: ternary;
            hdr.ethernet.ether_type: range;
            standard.ingress_port: optional;
        }
        actions = { forward; flood; mirror; learn; drop; NoAction; }
        default_action = NoAction();
    }

    table routes {
        key = { hdr.tagged.address: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 65536;
    }

    table by_path {
        key = { hdr.ethernet.src: exact; }
        actions = { forward; drop; NoAction; }
        implementation = paths;
    }

    table by_uplink {
        key = {
            hdr.ethernet.src: exact;
            hdr.tagged.flow: selector;
        }
        actions = { forward; drop; NoAction; }
        implementation = uplinks;
    }

    apply {
        port_counter.count((bit<32>)standard.ingress_port & 15);
        port_meter.execute_meter<bit<2>>((bit<32>)standard.ingress_port & 15, meta.color);
        last_source.write((bit<32>)standard.ingress_port & 7, hdr.ethernet.src);
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            standard.egress_spec = CPU_PORT;
            rules.apply();
            if (hdr.tagged.isValid()) {
                routes.apply();
                by_uplink.apply();
            } else {
                by_path.apply();
            }
            hosts.apply();
            if (meta.color == 2) {
                drop();
            }
        }
    }
}

control EntitiesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in._pad = 0;
        } else if (standard.instance_type == INGRESS_CLONE || standard.egress_rid != 0) {
            // Which copy it is.
            hdr.ethernet.src = (bit<48>)standard.egress_rid;
        }
    }
}

control EntitiesChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control EntitiesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tagged);
    }
}

V1Switch(EntitiesParser(), EntitiesVerify(), EntitiesIngress(), EntitiesEgress(), EntitiesChecksum(), EntitiesDeparser()) main;
