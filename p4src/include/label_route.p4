// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_LABEL_ROUTE_P4
#define SLOTWISE_LABEL_ROUTE_P4
#include "counting.p4"
#include "ops_parser.p4"

// The next fibres to an edge, for whatever has a label.
control LabelRoute(in ops_headers_t hdr, inout ops_metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) label_route_counter;

    // The best one first; NO_FIBRE where there are fewer.
    action to_fibres(bit<8> first, bit<8> second, bit<8> third, bit<8> fourth) {
        meta.choices = first ++ second ++ third ++ fourth;
        COUNT(label_route_counter)
    }

    action no_fibres() {
        meta.choices = 0xffffffff;
    }

    table label_route {
        key = {
            hdr.label.dst_edge: exact @name("dst_edge");
        }
        actions = {
            to_fibres;
            @defaultonly no_fibres;
        }
        const default_action = no_fibres();
        counters = label_route_counter;
        size = 1024;
    }

    apply {
        label_route.apply();
    }
}

#endif
