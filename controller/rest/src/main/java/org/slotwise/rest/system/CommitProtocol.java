// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.Optional;
import java.util.Set;
import org.slotwise.control.Command;
import org.slotwise.control.topology.DeviceId;

/**
 * Packets by which an application commits switches to a version, as a cluster needs them: a host records a commit before it is sent,
 * and keeps packets that report an older version from the next leader. May be called from any thread.
 */
public interface CommitProtocol {
    /** Version of what is committed under a key. */
    final class Version {
        private final int key;
        private final long number;

        /** Takes the key, and the version's number. */
        public Version(int key, long number) {
            this.key = key;
            this.number = number;
        }

        /** Key. */
        public int key() {
            return key;
        }

        /** Number of the version. */
        public long number() {
            return number;
        }
    }

    /** Reads the version that a packet to a switch commits it to; empty for all other packets. */
    Optional<Version> committed(byte[] frame);

    /** Reads the version that a packet from a switch reports as active; empty for all other packets, and for corrupted ones. */
    Optional<Version> active(byte[] frame);

    /** Returns by how many versions one follows another; below 0 if it precedes it. */
    long difference(long version, long other);

    /** Returns the keys whose commits are sent to a switch. */
    Set<Integer> keys(DeviceId device);

    /** Repeats a commit to the switch whose packet reports the version before. */
    Command.PacketOut repeat(Version committed, byte[] report);
}
