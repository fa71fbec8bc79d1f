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
#define ENTRY_FIELDS(i) hdr.entries.backlog_bytes_##i, hdr.entries.arrived_bytes_##i

// CRC-32 of optical_t and of the message behind it.
control MessageCrc(in edge_headers_t hdr, inout edge_metadata_t meta) {
    @hidden action of_request() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, hdr.request.frame, hdr.request.active_version, hdr.request.next_version,
               hdr.request.block, hdr.request.flags,
               ENTRY_FIELDS(0), ENTRY_FIELDS(1), ENTRY_FIELDS(2), ENTRY_FIELDS(3),
               ENTRY_FIELDS(4), ENTRY_FIELDS(5), ENTRY_FIELDS(6), ENTRY_FIELDS(7),
               ENTRY_FIELDS(8), ENTRY_FIELDS(9), ENTRY_FIELDS(10), ENTRY_FIELDS(11),
               ENTRY_FIELDS(12), ENTRY_FIELDS(13), ENTRY_FIELDS(14), ENTRY_FIELDS(15) }, CRC_VALUES);
    }

    @hidden action of_commit() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, hdr.commit.frame, hdr.commit.active_version, hdr.commit.next_version,
               hdr.commit.first_frame }, CRC_VALUES);
    }

    @hidden action of_invitation() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, STAMP_FIELDS, hdr.invitation.nonce, hdr.invitation.mac, hdr.invitation.flags,
               hdr.invitation.answer_ns }, CRC_VALUES);
    }

    @hidden action of_configuration() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, hdr.configuration.session, hdr.configuration.slot_ns, hdr.configuration.guard_ns,
               hdr.configuration.slots, hdr.configuration.hold_frames, hdr.configuration.phase_ns }, CRC_VALUES);
    }

    @hidden action of_sync() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, STAMP_FIELDS, hdr.sync.session, hdr.sync.frame, hdr.sync.edge_ns, hdr.sync.phase_ns }, CRC_VALUES);
    }

    @hidden action of_fault() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS, hdr.fault.session, hdr.fault.frame, hdr.fault.code, hdr.fault.flags, hdr.fault.edge }, CRC_VALUES);
    }

    @hidden action of_header() {
        hash(meta.crc, HashAlgorithm.crc32, (bit<32>)0,
             { OPTICAL_FIELDS }, CRC_VALUES);
    }

    @hidden table message_crc {
        key = {
            hdr.optical.version: exact;
            hdr.optical.kind:    exact;
        }
        actions = {
            of_request;
            of_commit;
            of_invitation;
            of_configuration;
            of_sync;
            of_fault;
            of_header;
        }
        const default_action = of_header();
        const entries = {
            (OPTICAL_VERSION, OpticalKind.REQUEST):       of_request();
            (OPTICAL_VERSION, OpticalKind.COMMIT):        of_commit();
            (OPTICAL_VERSION, OpticalKind.INVITATION):    of_invitation();
            (OPTICAL_VERSION, OpticalKind.CONFIGURATION): of_configuration();
            (OPTICAL_VERSION, OpticalKind.SYNC):          of_sync();
            (OPTICAL_VERSION, OpticalKind.FAULT):         of_fault();
        }
    }

    apply {
        message_crc.apply();
    }
}

#endif
