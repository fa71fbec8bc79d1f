// SPDX-License-Identifier: Apache-2.0
// Stacks, unions, a variable field, lookahead, advance, verify, a value set. The first byte chooses.
#include "common.p4"

error { BadLabel }

header choice_t {
    bit<8> kind;
    bit<8> argument;
}

header label_t {
    bit<7> value;
    bit<1> bottom;
    bit<8> extra;
}

header options_t {
    bit<8>     length;
    varbit<64> data;
    bit<8>     after;
}

header small_t { bit<8> tag; bit<8> value; }
header large_t { bit<8> tag; bit<32> value; }
header_union either_t { small_t small; large_t large; }

header report_t {
    bit<8>  parser_error;
    bit<8>  last_index;
    bit<8>  ahead;
    bit<8>  in_set;
    bit<16> chosen;
    bit<8>  small_is_valid;
    bit<8>  large_is_valid;
}

struct headers_t {
    report_t    report;
    choice_t    choice;
    label_t[3]  labels;
    options_t   options;
    either_t    either;
}

struct metadata_t {
    bit<8>  ahead;
    bit<8>  in_set;
    bit<32> last_index;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) special;

    state start {
        packet.extract(hdr.choice);
        transition select(hdr.choice.kind) {
            1: parse_labels;
            2: parse_options;
            3: parse_either;
            4: parse_ahead;
            5: parse_skip;
            6: parse_nothing_forever;
            special: parse_special;
            default: accept;
        }
    }

    state parse_labels {
        packet.extract(hdr.labels.next);
        verify(hdr.labels.last.value != 0x7f, error.BadLabel);
        transition select(hdr.labels.last.bottom) {
            0: parse_labels;
            1: count_labels;
        }
    }

    state count_labels {
        meta.last_index = hdr.labels.lastIndex;
        transition accept;
    }

    state parse_options {
        bit<8> length = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>)length * 8);
        transition accept;
    }

    state parse_either {
        transition select(packet.lookahead<bit<8>>()) {
            1: parse_small;
            default: parse_large;
        }
    }

    state parse_small {
        packet.extract(hdr.either.small);
        transition accept;
    }

    state parse_large {
        packet.extract(hdr.either.large);
        transition accept;
    }

    state parse_ahead {
        meta.ahead = packet.lookahead<label_t>().extra;
        transition accept;
    }

    state parse_skip {
        packet.advance((bit<32>)hdr.choice.argument * 8);
        transition accept;
    }

    state parse_nothing_forever {
        transition select(hdr.choice.argument) {
            0: accept;
            default: parse_nothing_forever;
        }
    }

    state parse_special {
        meta.in_set = 1;
        transition accept;
    }
}

NO_VERIFY(headers_t, metadata_t)
NO_COMPUTE(headers_t, metadata_t)
NO_EGRESS(headers_t, metadata_t)

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.ahead = meta.ahead;
        hdr.report.in_set = meta.in_set;
        hdr.report.last_index = (bit<8>)meta.last_index;
        if (std.parser_error == error.NoError) {
            hdr.report.parser_error = 0;
        } else if (std.parser_error == error.PacketTooShort) {
            hdr.report.parser_error = 1;
        } else if (std.parser_error == error.StackOutOfBounds) {
            hdr.report.parser_error = 2;
        } else if (std.parser_error == error.BadLabel) {
            hdr.report.parser_error = 3;
        } else if (std.parser_error == error.HeaderTooShort) {
            hdr.report.parser_error = 4;
        } else if (std.parser_error == error.ParserTimeout) {
            hdr.report.parser_error = 5;
        } else {
            hdr.report.parser_error = 0xff;
        }

        if (hdr.choice.kind == 1) {
            if (hdr.choice.argument == 0x80) {
                hdr.labels.push_front(1);
                hdr.labels[0].setValid();
                hdr.labels[0].value = 0x55;
                hdr.labels[0].extra = 0xee;
            } else if (hdr.choice.argument == 0x81) {
                hdr.labels.pop_front(1);
            } else {
                // A computed index, read and written.
                hdr.report.chosen = (bit<16>)hdr.labels[hdr.choice.argument].extra;
                hdr.labels[hdr.choice.argument].extra = 0xcc;
            }
        }
        if (hdr.choice.kind == 3 && hdr.choice.argument == 1) {
            hdr.either.large.setValid();
            hdr.either.large.tag = 9;
            hdr.either.large.value = 0x01020304;
        }
        if (hdr.either.small.isValid()) { hdr.report.small_is_valid = 1; }
        if (hdr.either.large.isValid()) { hdr.report.large_is_valid = 1; }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.choice);
        packet.emit(hdr.labels);
        packet.emit(hdr.options);
        packet.emit(hdr.either);
    }
}

SWITCH;
