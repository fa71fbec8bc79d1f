// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.slotwise.control.tables.TableEntry;
import org.slotwise.control.topology.DeviceId;

/** What an application is told. */
public abstract class Event {
    private Event() {
    }

    /** Request to one application from outside the switches: a {@link Call}, or a type of that application. */
    public abstract static class Order extends Event {
        /** Creates an order. */
        protected Order() {
        }
    }

    /** Order that calls a method of the application. */
    public static final class Call extends Order {
        private final Consumer<App<?>> method;

        private Call(Consumer<App<?>> method) {
            this.method = method;
        }

        /** Returns the order to call a method of an application of type {@code A}; sending it to another application is a defect. */
        @SuppressWarnings("unchecked")
        public static <A extends App<?>> Call of(Consumer<A> method) {
            return new Call(app -> method.accept((A) app));
        }

        void on(App<?> app) {
            method.accept(app);
        }
    }

    /** The deadline that the application asked for has come. */
    public static final class DeadlineReached extends Event {
    }

    /** Something happened at a switch. */
    public abstract static class AtDevice extends Event {
        private final DeviceId device;

        private AtDevice(DeviceId device) {
            this.device = Objects.requireNonNull(device);
        }

        /** The switch. */
        public final DeviceId device() {
            return device;
        }
    }

    /** A switch runs its program, this controller is its primary, and its tables hold {@link #entries}. */
    public static final class DeviceReady extends AtDevice {
        private final List<TableEntry> entries;

        /** Takes the switch and all entries that were read from it. */
        public DeviceReady(DeviceId device, List<TableEntry> entries) {
            super(device);
            this.entries = List.copyOf(entries);
        }

        /** Entries of the tables that the application owns. */
        public List<TableEntry> entries() {
            return entries;
        }
    }

    /** A switch cannot be reached, or another controller is its primary. */
    public static final class DeviceLost extends AtDevice {
        /** Takes the switch. */
        public DeviceLost(DeviceId device) {
            super(device);
        }
    }

    /** A switch acknowledged all of a {@link Command.Write}. */
    public static final class WriteDone extends AtDevice {
        private final long batch;

        /** Takes the switch and the number of the write. */
        public WriteDone(DeviceId device, long batch) {
            super(device);
            this.batch = batch;
        }

        /** The number of the write. */
        public long batch() {
            return batch;
        }
    }

    /** A {@link Command.Write} failed, wholly or in part. */
    public static final class WriteFailed extends AtDevice {
        private final long batch;

        /** Takes the switch and the number of the write. */
        public WriteFailed(DeviceId device, long batch) {
            super(device);
            this.batch = batch;
        }

        /** The number of the write. */
        public long batch() {
            return batch;
        }
    }

    /** A packet that a switch sent to the controller. */
    public static final class PacketIn extends AtDevice {
        private final int port;
        private final byte[] frame;

        /** Takes the switch, the ingress port, and the bytes from Ethernet on, which must not change any more. */
        public PacketIn(DeviceId device, int port, byte[] frame) {
            super(device);
            this.port = port;
            this.frame = Objects.requireNonNull(frame);
        }

        /** Ingress port. */
        public int port() {
            return port;
        }

        /** Bytes from Ethernet on; not to be changed. */
        public byte[] frame() {
            return frame;
        }
    }

    /** A port of a switch lost its light, or has it again. */
    public static final class PortChanged extends AtDevice {
        private final int port;
        private final boolean up;

        /** Takes the switch, its port, and whether that has light now. */
        public PortChanged(DeviceId device, int port, boolean up) {
            super(device);
            this.port = port;
            this.up = up;
        }

        /** The port. */
        public int port() {
            return port;
        }

        /** Whether it has light. */
        public boolean isUp() {
            return up;
        }
    }
}
