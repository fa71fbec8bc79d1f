// SPDX-License-Identifier: Apache-2.0
// How shared files of the edge look at what targets look at differently.
#ifndef SLOTWISE_LOOKING_P4
#define SLOTWISE_LOOKING_P4

#define FRAME_LENGTH(standard_metadata) standard_metadata.packet_length

// Of a message, behind the headers that all of its kind have.
#define EXTRACT_BODY(packet, body) packet.extract(body);

#define EXTRACT_ENTRIES(packet, entries) packet.extract(entries);

// Of TCP, with the parser behind its ports.
#define LOOK_FOR_PAYLOAD(packet, ipv4_length, acknowledgement) \
    acknowledgement = (bit<1>)(20 + ((bit<16>)packet.lookahead<bit<72>>()[7:4] << 2) == ipv4_length);

#endif
