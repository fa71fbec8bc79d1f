// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import java.util.List;
import java.util.Objects;
import org.slotwise.control.tables.Update;
import org.slotwise.control.topology.DeviceId;

/** What an application wants done. */
public abstract class Command {
    private Command() {
    }

    /** Write table entries in one batch; answered by {@link Event.WriteDone} or {@link Event.WriteFailed}. */
    public static final class Write extends Command {
        private final DeviceId device;
        private final long batch;
        private final List<Update> updates;

        /** Takes the switch, a number that this application has not used before, and the changes in order. */
        public Write(DeviceId device, long batch, List<Update> updates) {
            this.device = Objects.requireNonNull(device);
            this.batch = batch;
            this.updates = List.copyOf(updates);
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }

        /** Number of this write, unique in whoever made it. */
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

        /** Takes the switch, its egress port, and the bytes from Ethernet on. */
        public PacketOut(DeviceId device, int port, byte[] frame) {
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

        /** Takes the switch. */
        public ReadTables(DeviceId device) {
            this.device = Objects.requireNonNull(device);
        }

        /** The switch. */
        public DeviceId device() {
            return device;
        }
    }

    /** Give another application an order, which it takes before anything else happens; {@link App#orders} says to whom that may be. */
    public static final class ToApp extends Command {
        private final String app;
        private final Event.Order order;

        /** Takes the name of the other application, and the order. */
        public ToApp(String app, Event.Order order) {
            this.app = Objects.requireNonNull(app);
            this.order = Objects.requireNonNull(order);
        }

        /** The application that is to take it. */
        public String app() {
            return app;
        }

        /** The order. */
        public Event.Order order() {
            return order;
        }
    }

    /** Notice for the log and for listeners of the controller. */
    public static class Notice extends Command {
        private final String app;
        private final String event;
        private final String text;
        private final boolean failure;

        /** Creates a notice: name of the application, event as words joined by underscores, and a sentence for a log. */
        public Notice(String app, String event, String text) {
            this(app, event, text, false);
        }

        private Notice(String app, String event, String text, boolean failure) {
            this.app = Objects.requireNonNull(app);
            this.event = Objects.requireNonNull(event);
            this.text = Objects.requireNonNull(text);
            this.failure = failure;
        }

        /** Returns a notice of a failure, which needs attention. */
        public static Notice ofFailure(String app, String event, String text) {
            return new Notice(app, event, text, true);
        }

        /** The application that it is of. */
        public final String app() {
            return app;
        }

        /** What happened; several applications may use one word. */
        public final String event() {
            return event;
        }

        /** Returns true for a failure, which needs attention. */
        public final boolean isFailure() {
            return failure;
        }

        @Override
        public final String toString() {
            return text;
        }
    }
}
