// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_OPTICAL_P4
#define SLOTWISE_OPTICAL_P4
#include "headers.p4"

register<bit<32>>(MAX_QUEUES) sequences;  // last one given out, by queue

// Puts an optical header between Ethernet and what follows. `queue` is below MAX_QUEUES.
control Encapsulate(inout ethernet_t ethernet,
                    inout optical_t optical,
                    in OpticalKind kind,
                    in bit<8> traffic_class,
                    in bit<16> src_edge,
                    in bit<16> dst_edge,
                    in bit<16> queue) {
    bit<32> sequence;

    apply {
        sequences.read(sequence, (bit<32>)queue);
        sequence = sequence + 1;
        sequences.write((bit<32>)queue, sequence);

        optical.setValid();
        optical.version = OPTICAL_VERSION;
        optical.kind = kind;
        optical.traffic_class = traffic_class;
        optical.src_edge = src_edge;
        optical.dst_edge = dst_edge;
        optical.queue = queue;
        optical.train = 0;
        optical.core = 0;
        optical.sequence = sequence;
        optical.inner_type = ethernet.ether_type;
        ethernet.ether_type = ETHERTYPE_OPTICAL;
    }
}

#endif
