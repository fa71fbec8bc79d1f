// SPDX-License-Identifier: Apache-2.0
// Trains before the outputs of an edge: how many there are, by which output one leaves, and in which order classes do. An output
// carries one and lets others wait. Start-time fair queueing (P. Goyal, H. M. Vin, H. Cheng, IEEE/ACM Trans. Networking 5(5), 1997): a
// train starts where the one before it of its class finishes, or at the start tag of the one that is being sent if that is later, and
// finishes its own length over its class's weight after that. At an idle output it starts where the last one finishes.
//
//   train ──> first choice, room? ──> second choice, room? ──> counted, tagged
//   the line card has sent one ──> one fewer; tag of the next one
#ifndef SLOTWISE_EDGE_INGRESS_P4
#define SLOTWISE_EDGE_INGRESS_P4
#include "edge_parser.p4"
#include "quotient.p4"

// By output.
register<bit<32>>(MAX_OUTPUTS) output_trains;  // that wait or are being sent
register<bit<64>>(MAX_OUTPUTS) service_tag;    // start tag of the train that was last begun
register<bit<64>>(MAX_OUTPUTS) finish_tag;     // the last one of all trains
// By output and class.
register<bit<32>>(MAX_OUTPUTS * MAX_OUTPUT_CLASSES) waiting_trains;
register<bit<64>>(MAX_OUTPUTS * MAX_OUTPUT_CLASSES) last_tag;  // finish tag

const bit<32> PLAIN_WEIGHT = 65536;  // of a class that has none of its own

#define OUTPUT_CLASS(output, traffic_class) ((output) << 3 | (index_t)(traffic_class)[2:0])

// A train of `meta.train_bytes` gets an output and a start tag, or a reason.
control ChooseOutput(inout edge_metadata_t meta, out bit<64> tag) {
    bit<32> weight = PLAIN_WEIGHT;  // its reciprocal
    bit<8>  choice;
    bit<1>  found;
    port_t  port;
    index_t output;
    index_t cell;
    bit<32> trains;   // there
    bit<32> waiting;  // of its class, if that counts
    bit<64> service;
    bit<64> finish;
    bit<64> last;
    bit<64> cost = 0;

    // `per_byte`: the reciprocal of its weight, in 1/65536.
    action set_weight(bit<32> per_byte) {
        weight = per_byte;
    }

    table train_weight {
        key = {
            meta.traffic_class: exact @name("class");
        }
        actions = {
            set_weight;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = MAX_OUTPUT_CLASSES;
    }

    // By how much its class's tag grows.
    @hidden action weigh() {
        cost = (bit<64>)meta.train_bytes * (bit<64>)weight;
    }

    @hidden action choose() {
        found = 0;
        port = meta.egress_port;
        for (choice = 0; choice < 2; choice = choice + 1) {
            output = MAX_OUTPUTS;
            if (port >= PORT_OPTICAL_BASE) {
                output = (index_t)(port - PORT_OPTICAL_BASE);
            }
            if (found == 0 && output < MAX_OUTPUTS) {
                output_trains.read(trains, output);
                waiting = trains |-| 1;
                cell = 0;
                if (meta.fair == 1) {
                    cell = OUTPUT_CLASS(output, meta.traffic_class);
                    waiting_trains.read(waiting, cell);
                }
                if (trains == 0 || waiting < (bit<32>)meta.trains || meta.trains == NO_TRAIN_LIMIT) {
                    found = 1;
                    meta.egress_port = port;
                    output_trains.write(output, trains + 1);
                    if (meta.fair == 1) {
                        last_tag.read(tag, cell);
                        service_tag.read(service, output);
                        finish_tag.read(last, output);
                        if (trains == 0) {
                            service = last;
                        }
                        AT_LEAST(tag, service)
                        finish = tag + cost;
                        last_tag.write(cell, finish);
                        AT_LEAST(last, finish)
                        finish_tag.write(output, last);
                        if (trains == 0) {
                            service_tag.write(output, tag);
                        } else {
                            waiting_trains.write(cell, waiting + 1);
                        }
                    }
                }
            }
            port = meta.second_port;
        }
        if (found == 0) {
            meta.drop_reason = DropReason.INGRESS_FULL;
        }
    }

    apply {
        tag = 0;
        if (meta.fair == 1) {
            train_weight.apply();
            weigh();
        }
        choose();
    }
}

// A train has left by the output of `meta.core`, and the next one begins.
control TrainSent(in train_sent_t train_sent, inout edge_metadata_t meta) {
    index_t cell;
    bit<32> trains;
    bit<32> waiting;

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action find_cell() {
        cell = OUTPUT_CLASS(meta.core, train_sent.traffic_class);
    }

    @hidden action note() {
        output_trains.read(trains, meta.core);
        if (trains == 0) {
            meta.drop_reason = DropReason.STALE;
        } else {
            output_trains.write(meta.core, trains - 1);
            if ((train_sent.flags & OUTPUT_IDLE) == 0 && meta.fair == 1) {
                waiting_trains.read(waiting, cell);
                waiting_trains.write(cell, waiting |-| 1);
                service_tag.write(meta.core, train_sent.tag);
            }
        }
    }

    // A train that was on its way to the card when that fell idle began without a word: what waited is over.
    @hidden action forget_waiting() {
        for (cell = OUTPUT_CLASS(meta.core, 3w0); cell < OUTPUT_CLASS(meta.core, 3w0) + MAX_OUTPUT_CLASSES; cell = cell + 1) {
            waiting_trains.write(cell, 0);
        }
    }

    apply {
        if (meta.counts_trains == 0) {
            refuse(DropReason.NO_SIGNALING);
        } else if (meta.core == NO_CORE) {
            refuse(DropReason.BAD_QUEUE);
        } else if ((train_sent.flags & OUTPUT_IDLE) == 0 && (index_t)train_sent.traffic_class >= MAX_OUTPUT_CLASSES) {
            refuse(DropReason.BAD_FIELD);
        } else {
            find_cell();
            note();
            if ((train_sent.flags & OUTPUT_IDLE) != 0 && meta.fair == 1 && meta.drop_reason == DropReason.NONE) {
                forget_waiting();
            }
        }
    }
}

#endif
