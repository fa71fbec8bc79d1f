// SPDX-License-Identifier: Apache-2.0
// Which version of the schedule is in force, and which comes. The bank of a version is its lowest bit.
//
//   beacon ──> EXAMINE_BEACON ──> KEEP_BEACON ──> known_*, next_* ──> FLIP_VERSION at a slot's start ──> active_version
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "headers.p4"
#include "verdict.p4"

// By core, since an edge is in several stars; a core's own are at 0.
register<frame_t>(MAX_CORES)   current_frame;   // of this switch's last slot tick
register<version_t>(MAX_CORES) active_version;  // changes at a slot's start only
register<bit<1>>(MAX_CORES)    beacon_heard;
register<version_t>(MAX_CORES) known_version;   // in force from known_frame on, says the master
register<frame_t>(MAX_CORES)   known_frame;     // of the newest beacon
register<version_t>(MAX_CORES) next_version;    // equals known_version when nothing is announced
register<frame_t>(MAX_CORES)   next_frame;      // from which next_version holds

// What these registers hold for one core.
struct versions_t {
    frame_t   now;
    version_t active;
    bit<1>    heard;
    frame_t   known_frame;
    version_t next;
    frame_t   next_frame;
}

// Whether serial number `a` is newer than `b`, or the same.
#define IS_NEWER(a, b) ((int<32>)((a) - (b)) > 0)
#define IS_NOT_OLDER(a, b) ((int<32>)((a) - (b)) >= 0)

// Whether a message that names the `frame` in which it was made is neither of this one, `now`, nor of the `window` before.
#define IS_OUTSIDE(frame, now, window) ((now) + FRAME_LEAD - (frame) > (window) + FRAME_LEAD)
#define EXAMINE_FRAME(frame, now, window, wrong) \
    if (IS_OUTSIDE(frame, now, window)) { \
        wrong.ahead = 1; \
        if (IS_NEWER(now, frame)) { \
            wrong.old = 1; \
        } \
    }

#define READ_VERSIONS(core, versions) \
    active_version.read(versions.active, core); \
    known_frame.read(versions.known_frame, core); \
    next_version.read(versions.next, core); \
    next_frame.read(versions.next_frame, core);

// What messages are compared with besides, and slot ticks are not.
#define READ_CLOCK(core, versions) \
    current_frame.read(versions.now, core); \
    beacon_heard.read(versions.heard, core);

// At a slot's start: the newest version whose frame has come at this switch is in force. The announced one is then the known one
// too: 2^31 frames from now next_frame will be ahead again.
#define FLIP_VERSION(core, frame, versions) \
    if (IS_NOT_OLDER(frame, versions.next_frame)) { \
        versions.active = versions.next; \
        known_version.write(core, versions.active); \
    } else if (IS_NOT_OLDER(frame, versions.known_frame)) { \
        known_version.read(versions.active, core); \
    } \
    active_version.write(core, versions.active);

// A beacon of the master counts if it is newer than the last one. Its versions may be older than those known: the master
// has started anew then. What was heard longer ago than the window no longer tells old from new.
#define EXAMINE_BEACON(versions, beacon, wrong) \
    if (beacon.next_version != beacon.active_version) { \
        if (beacon.next_version != beacon.active_version + 1) { \
            wrong.bad_commit = 1; \
        } \
        if (beacon.first_frame - beacon.frame - 1 >= FRAME_WINDOW) { \
            wrong.bad_field = 1; \
        } \
    } \
    EXAMINE_FRAME(beacon.frame, versions.now, FRAME_WINDOW, wrong) \
    if (versions.heard == 1 && !IS_OUTSIDE(versions.known_frame, versions.now, FRAME_WINDOW) \
        && !IS_NEWER(beacon.frame, versions.known_frame)) { \
        wrong.stale = 1; \
    }

// What is in force does not change before the next slot's start: a beacon that comes before its frame, or after a flip that
// it announces, does no harm.
#define KEEP_BEACON(core, beacon) \
    beacon_heard.write(core, 1); \
    known_version.write(core, beacon.active_version); \
    known_frame.write(core, beacon.frame); \
    next_version.write(core, beacon.next_version); \
    next_frame.write(core, beacon.first_frame);

#endif
