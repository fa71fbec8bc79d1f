// SPDX-License-Identifier: Apache-2.0
// How an edge shares its capacity among sessions, for hosts that know nothing of it: GTP's local rule (X. Wu, 2007, algorithms 2 and 3).
// A session is a macroflow. What the edge allows those that it sends is calculated when they ask, what it grants those that it takes
// when their probes come; both by what all of them were measured at last.
//
//   own probe leaves ──> measured, as a source ──> level ──> own_grant
//   another's probe ──> measured, as a sink ────> level ──> grant, in the reply
#ifndef SLOTWISE_EDGE_SHARE_P4
#define SLOTWISE_EDGE_SHARE_P4
#include "edge_parser.p4"
#include "quotient.p4"

const bit<64> MAX_ALLOWED_RATE = 0xffffffff;  // of rate_t
const bit<32> SHARE_ROUNDS = 32;

// By session: those that the edge sends, then those that it takes.
register<bit<32>>(2 * MAX_QUEUES)   session_bytes;  // in its last period
register<time_ns_t>(2 * MAX_QUEUES) session_heard;  // when it said so, and 1; 0: never
// By session that it takes.
register<bit<32>>(MAX_QUEUES) heard_sequence;  // of its last probe
// By session that it sends.
register<rate_t>(MAX_QUEUES) own_grant;  // what this edge allows it
register<time_ns_t>(1) card_clock;       // local time of the last tick of a macroflow

// What an edge shares, as the controller says.
struct share_params_t {
    bit<1>    shares;
    index_t   sessions;
    index_t   classes;
    bit<64>   capacity;     // bytes a period, of each direction
    bit<64>   alpha_q16;
    bit<64>   beta_q16;
    bit<1>    capped;
    bit<64>   periods_q16;  // a second
    time_ns_t hold_ns;
}

control ShareParams(out share_params_t params) {
    // `sessions` of each direction: edges times `classes`; session = edge * classes + class. `capacity` is less than 2^31. Who rises does so
    // by `alpha` of what is missing, at least `alpha` times `beta` of its target, and if it is `capped` to that at most. Who was not heard of
    // for `hold_ns` has left.
    action set_share(bit<16> sessions, bit<8> classes, bit<32> capacity, bit<16> alpha_q16, bit<16> beta_q16, bit<1> capped,
                     bit<32> periods_q16, time_ns_t hold_ns) {
        params.shares = 1;
        params.sessions = (index_t)sessions;
        params.classes = (index_t)classes;
        params.capacity = (bit<64>)capacity;
        params.alpha_q16 = (bit<64>)alpha_q16;
        params.beta_q16 = (bit<64>)beta_q16;
        params.capped = capped;
        params.periods_q16 = (bit<64>)periods_q16;
        params.hold_ns = hold_ns;
    }

    action no_share() {
        params = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    }

    table share_params {
        actions = {
            set_share;
            no_share;
        }
        default_action = no_share();
        size = 1;
    }

    apply {
        share_params.apply();
    }
}

// A probe that leaves for `hdr.label.dst_edge`: of this edge, or a reply.
control Share(inout edge_headers_t hdr, inout edge_metadata_t meta, in share_params_t params, in index_t queue) {
    index_t   first;    // session of its direction
    index_t   session;
    bit<32>   last;     // sequence
    time_ns_t now;
    time_ns_t heard;
    // Bytes a period, in 1/65536 but for those of registers.
    bit<64>   own;
    bit<64>   level;
    bit<64>   limit;
    bit<32>   measured;
    bit<64>   left;
    bit<64>   sharing;  // sessions
    bit<64>   step;
    bit<64>   least;
    factor_t  factor;
    bit<32>   round;
    bit<1>    settled;
    index_t   other;
    bit<64>   rate;

    @hidden action find_session() {
        first = 0;
        session = (index_t)hdr.label.dst_edge * params.classes + (index_t)hdr.label.traffic_class;
        if ((index_t)hdr.label.traffic_class >= params.classes || session >= params.sessions) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (hdr.label.kind == LabelKind.REPLY) {
            first = MAX_QUEUES;
            session_heard.read(heard, first + session);
            heard_sequence.read(last, session);
            if (heard != 0 && last - hdr.probe.sequence < PROBE_WINDOW) {
                meta.drop_reason = DropReason.STALE;
            } else if (hdr.probe.sent_bytes >> 31 != 0) {
                meta.drop_reason = DropReason.BAD_FIELD;
            } else {
                heard_sequence.write(session, hdr.probe.sequence);
            }
        }
    }

    @hidden action measure() {
        card_clock.read(now, 0);
        now = now + 1;
        session_bytes.write(first + session, hdr.probe.sent_bytes);
        session_heard.write(first + session, now);
        own = (bit<64>)hdr.probe.sent_bytes << 16;
    }

    // Sessions below `limit` have what they were measured at, the others equal parts of what is left. At first those below this one: if
    // it is below its part, it rises. Else all that are not below their part get the same: it grows until no other session is below it,
    // which takes two to four rounds; after the last one it is too small, if anything.
    @hidden action find_level() {
        limit = own;
        level = 0;
        settled = 0;
        for (round = 0; settled == 0 && round < SHARE_ROUNDS; round = round + 1) {
            left = params.capacity;
            sharing = 0;
            for (other = first; other < first + params.sessions; other = other + 1) {
                session_heard.read(heard, other);
                if (heard != 0 && now - heard <= params.hold_ns) {
                    session_bytes.read(measured, other);
                    if ((bit<64>)measured << 16 < limit) {
                        left = left |-| (bit<64>)measured;
                    } else {
                        sharing = sharing + 1;
                    }
                }
            }
            divide(left, 65536, sharing, level, factor);
            if (own < level || round != 0 && level <= limit) {
                settled = 1;
            }
            limit = level;
        }
    }

    @hidden action write_grant() {
        if (own < level) {
            step = (level - own) * params.alpha_q16 >> 16;
            least = (level * params.alpha_q16 >> 16) * params.beta_q16 >> 16;
            AT_LEAST(step, least)
            own = own + step;
            if (params.capped == 1) {
                AT_MOST(own, level)
            }
            level = own;
        }
        rate = (level >> 8) * params.periods_q16 >> 24;
        AT_MOST(rate, MAX_ALLOWED_RATE)
        if (hdr.label.kind == LabelKind.REPLY) {
            hdr.probe.feedback = rate[31:0];
        } else {
            own_grant.write(queue, rate[31:0]);
        }
    }

    apply {
        find_session();
        if (meta.drop_reason == DropReason.NONE) {
            measure();
            find_level();
            write_grant();
        }
    }
}

#endif
