// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.List;
import java.util.Objects;
import org.slotwise.core.network.CoreId;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Version;
import org.slotwise.core.tables.Update;

/** What the controller wants an adapter to do, in the order given. */
public abstract class Command {
    private Command() {
    }

    /** Write table entries in one batch; answered by {@link Event.WriteDone} or {@link Event.WriteFailed}. */
    public static final class Write extends Command {
        private final DeviceId device;
        private final long batch;
        private final List<Update> updates;

        Write(DeviceId device, long batch, List<Update> updates) {
            this.device = Objects.requireNonNull(device);
            this.batch = batch;
            this.updates = List.copyOf(updates);
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }

        /** Number of this write, unique in this controller. */
        public long batch() {
            return batch;
        }

        /** Changes, in order. */
        public List<Update> updates() {
            return updates;
        }
    }

    /** Send a packet to a switch. */
    public static final class PacketOut extends Command {
        private final DeviceId device;
        private final int port;
        private final byte[] frame;

        PacketOut(DeviceId device, int port, byte[] frame) {
            this.device = Objects.requireNonNull(device);
            this.port = port;
            this.frame = frame.clone();
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }

        /** Egress port. */
        public int port() {
            return port;
        }

        /** Bytes from Ethernet on. */
        public byte[] frame() {
            return frame.clone();
        }
    }

    /** Read all tables of a switch again; answered by {@link Event.DeviceReady} or {@link Event.DeviceLost}. */
    public static final class ReadTables extends Command {
        private final DeviceId device;

        ReadTables(DeviceId device) {
            this.device = Objects.requireNonNull(device);
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }
    }

    /** A schedule came into force at all edges of a star: nothing to do but to tell whoever wants to know. */
    public static final class ScheduleInForce extends Command {
        private final CoreId core;
        private final Version version;
        private final int changedConnections;

        ScheduleInForce(CoreId core, Version version, int changedConnections) {
            this.core = Objects.requireNonNull(core);
            this.version = Objects.requireNonNull(version);
            this.changedConnections = changedConnections;
        }

        /** The star's core. */
        public CoreId core() {
            return core;
        }

        /** Its version. */
        public Version version() {
            return version;
        }

        /** Senders, over all slots, that send to another edge than in the schedule before, or to none. */
        public int changedConnections() {
            return changedConnections;
        }
    }
}
