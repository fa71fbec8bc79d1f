// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_ROUTER_CONTROL_P4
#define SLOTWISE_ROUTER_CONTROL_P4
#include "access.p4"
#include "router_parser.p4"

// What a router knows about itself; one default action that the controller sets.
control RouterParams(inout router_metadata_t meta) {
    action set_router_params(mac_t mac) {
        meta.mac = mac;
    }

    table router_params {
        actions = {
            set_router_params;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    apply {
        router_params.apply();
    }
}

// IPv4 to a port and the next hop behind it.
control RouterForwarding(inout router_headers_t hdr,
                         inout router_metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;

    action to_port(port_t port, mac_t mac) {
        AGE(hdr.ipv4)
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        standard_metadata.egress_spec = port;
        meta.output = (index_t)port;
    }

    action no_route() {
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    table ipv4_route {
        key = {
            hdr.ipv4.dst: lpm @name("dst");
        }
        actions = {
            to_port;
            @defaultonly no_route;
        }
        const default_action = no_route();
        counters = ipv4_route_counter;
        size = 8192;
    }

    apply {
        if (ipv4_route.apply().hit) {
            meta.xcp = hdr.xcp.isValid();
        }
    }
}

#endif
