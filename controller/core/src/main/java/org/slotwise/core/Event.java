// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.slotwise.core.network.CoreId;
import org.slotwise.core.network.DeviceId;
import org.slotwise.core.network.Network;
import org.slotwise.core.schedule.SchedulerKind;
import org.slotwise.core.tables.TableEntry;

/** What an adapter tells the controller. */
public abstract class Event {
    private Event() {
    }

    /** A switch runs its program, this controller is its primary, and its tables hold {@link #entries}. */
    public static final class DeviceReady extends Event {
        private final DeviceId device;
        private final List<TableEntry> entries;

        /** Takes the switch and all entries that were read from it. */
        public DeviceReady(DeviceId device, List<TableEntry> entries) {
            this.device = Objects.requireNonNull(device);
            this.entries = List.copyOf(entries);
        }

        DeviceId device() {
            return device;
        }

        List<TableEntry> entries() {
            return entries;
        }
    }

    /** A switch cannot be reached, or another controller is its primary. */
    public static final class DeviceLost extends Event {
        private final DeviceId device;

        /** Takes the switch. */
        public DeviceLost(DeviceId device) {
            this.device = Objects.requireNonNull(device);
        }

        DeviceId device() {
            return device;
        }
    }

    /** A switch acknowledged all of a {@link Command.Write}. */
    public static final class WriteDone extends Event {
        private final DeviceId device;
        private final long batch;

        /** Takes the switch and the number of the write. */
        public WriteDone(DeviceId device, long batch) {
            this.device = Objects.requireNonNull(device);
            this.batch = batch;
        }

        DeviceId device() {
            return device;
        }

        long batch() {
            return batch;
        }
    }

    /** A {@link Command.Write} failed, wholly or in part; the adapter reads the switch again and says so. */
    public static final class WriteFailed extends Event {
        private final DeviceId device;
        private final long batch;

        /** Takes the switch and the number of the write. */
        public WriteFailed(DeviceId device, long batch) {
            this.device = Objects.requireNonNull(device);
            this.batch = batch;
        }

        DeviceId device() {
            return device;
        }

        long batch() {
            return batch;
        }
    }

    /** A packet that a switch sent to the controller. */
    public static final class PacketIn extends Event {
        private final DeviceId device;
        private final int port;
        private final byte[] frame;

        /** Takes the switch, the ingress port, and the bytes from Ethernet on, which must not change any more. */
        public PacketIn(DeviceId device, int port, byte[] frame) {
            this.device = Objects.requireNonNull(device);
            this.port = port;
            this.frame = Objects.requireNonNull(frame);
        }

        DeviceId device() {
            return device;
        }

        int port() {
            return port;
        }

        byte[] frame() {
            return frame;
        }
    }

    /** The deadline that the controller asked for has come. */
    public static final class DeadlineReached extends Event {
    }

    /** Someone shuts a core's master down, or takes it back; {@link Network#canShutDown} says where that is possible. */
    public static final class MasterShutdown extends Event {
        private final CoreId core;
        private final boolean down;

        /** Takes the core, and whether its master is to be down. */
        public MasterShutdown(CoreId core, boolean down) {
            this.core = Objects.requireNonNull(core);
            this.down = down;
        }

        /** The core. */
        public CoreId core() {
            return core;
        }

        /** Whether its master is to be down. */
        public boolean isDown() {
            return down;
        }
    }

    /** Someone chose a scheduler; takes effect with the next round. */
    public static final class SchedulerChosen extends Event {
        private final SchedulerKind kind;
        private final Map<String, String> settings;

        /** Takes the scheduler and settings that {@link SchedulerKind#completeSettings} gave. */
        public SchedulerChosen(SchedulerKind kind, Map<String, String> settings) {
            this.kind = Objects.requireNonNull(kind);
            this.settings = Map.copyOf(settings);
        }

        /** The scheduler. */
        public SchedulerKind kind() {
            return kind;
        }

        /** Its settings, all of them. */
        public Map<String, String> settings() {
            return settings;
        }
    }
}
