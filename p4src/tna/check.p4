// SPDX-License-Identifier: Apache-2.0
// Stands for include/check.p4: whether what the controller sends arrives as it was made.
#ifndef SLOTWISE_CHECK_P4
#define SLOTWISE_CHECK_P4
#include "target.p4"
#include "../include/edge_parser.p4"

// CRC-32 of optical_t and of a commit behind it: nothing else that the controller sends is taken.
control MessageCrc(in edge_headers_t hdr, inout edge_metadata_t meta) {
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc;

    @hidden action of_commit() {
        meta.crc = crc.get({ hdr.optical.version, hdr.optical.kind, hdr.optical.traffic_class, hdr.optical.src_edge, hdr.optical.dst_edge,
                             hdr.optical.queue, hdr.optical.train, hdr.optical.core, hdr.optical.sequence, hdr.optical.inner_type,
                             hdr.commit.frame, hdr.commit.active_version, hdr.commit.next_version, hdr.commit.first_frame });
    }

    apply {
        of_commit();
    }
}

#endif
