// SPDX-License-Identifier: Apache-2.0
// Whether what goes between switch and controller arrives as it was made. Light needs none: Ethernet has its own, and line
// cards drop what fails it.
#ifndef SLOTWISE_CHECK_P4
#define SLOTWISE_CHECK_P4
#include "edge_parser.p4"

const bit<64> CRC_VALUES = 0x100000000;

#define OPTICAL_FIELDS \
    hdr.optical.version, hdr.optical.kind, hdr.optical.traffic_class, hdr.optical.src_edge, hdr.optical.dst_edge, \
    hdr.optical.queue, hdr.optical.train, hdr.optical.core, hdr.optical.sequence, hdr.optical.inner_type
#define STAMP_FIELDS hdr.stamp.sent_ns, hdr.stamp.received_ns
#define ENTRY_FIELDS(i) hdr.entries[i].backlog_bytes, hdr.entries[i].arrived_bytes

// CRC-32 of optical_t and of the message behind it.
control MessageCrc(inout edge_headers_t hdr, out bit<32> crc) {
    apply {
        if (!hdr.optical.isValid()) {
            crc = 0;
        } else if (hdr.request.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, hdr.request.frame, hdr.request.active_version, hdr.request.next_version,
                   hdr.request.block, hdr.request.flags,
                   ENTRY_FIELDS(0), ENTRY_FIELDS(1), ENTRY_FIELDS(2), ENTRY_FIELDS(3),
                   ENTRY_FIELDS(4), ENTRY_FIELDS(5), ENTRY_FIELDS(6), ENTRY_FIELDS(7),
                   ENTRY_FIELDS(8), ENTRY_FIELDS(9), ENTRY_FIELDS(10), ENTRY_FIELDS(11),
                   ENTRY_FIELDS(12), ENTRY_FIELDS(13), ENTRY_FIELDS(14), ENTRY_FIELDS(15) }, CRC_VALUES);
        } else if (hdr.commit.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, hdr.commit.frame, hdr.commit.active_version, hdr.commit.next_version,
                   hdr.commit.first_frame }, CRC_VALUES);
        } else if (hdr.sync.isValid() && hdr.stamp.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, STAMP_FIELDS, hdr.sync.session, hdr.sync.frame, hdr.sync.edge_ns, hdr.sync.phase_ns },
                 CRC_VALUES);
        } else if (hdr.invitation.isValid() && hdr.stamp.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, STAMP_FIELDS, hdr.invitation.nonce, hdr.invitation.mac, hdr.invitation.flags,
                   hdr.invitation.answer_ns }, CRC_VALUES);
        } else if (hdr.configuration.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, hdr.configuration.session, hdr.configuration.slot_ns, hdr.configuration.guard_ns,
                   hdr.configuration.slots, hdr.configuration.hold_frames, hdr.configuration.phase_ns }, CRC_VALUES);
        } else if (hdr.fault.isValid()) {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0,
                 { OPTICAL_FIELDS, hdr.fault.session, hdr.fault.frame, hdr.fault.code, hdr.fault.flags, hdr.fault.edge },
                 CRC_VALUES);
        } else {
            hash(crc, HashAlgorithm.crc32, (bit<32>)0, { OPTICAL_FIELDS }, CRC_VALUES);
        }
    }
}

// For a message to the controller.
control Seal(inout edge_headers_t hdr) {
    bit<32> crc;

    MessageCrc() message_crc;

    apply {
        message_crc.apply(hdr, crc);
        hdr.check.setValid();
        hdr.check.crc = crc;
    }
}

// Of a message from the controller.
control CheckSeal(inout edge_headers_t hdr, inout DropReason drop_reason) {
    bit<32> crc;

    MessageCrc() message_crc;

    apply {
        message_crc.apply(hdr, crc);
        if (!hdr.check.isValid() || hdr.check.crc != crc) {
            drop_reason = DropReason.BAD_CHECK;
        }
    }
}

#endif
