// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control;

import org.slotwise.control.topology.DeviceId;

/**
 * The switches as a {@link ControlLoop} needs them: asynchronous, since a switch may take its time. What comes of reads and writes is
 * told on the loop's thread, before applications hear of it.
 */
public interface Switches extends DeviceWrites.Tables {
    /** Sends a packet; one that is not taken is lost like any other. */
    void send(DeviceId device, int port, byte[] frame);

    /** A switch was read. */
    default void onRead(DeviceId device, int entries) {
    }

    /** A switch could not be read. Returns whether it is still there, and is to be read again after a while. */
    default boolean onReadFailed(DeviceId device, Throwable error) {
        return true;
    }

    /** A switch has done all of a batch. */
    default void onWritten(DeviceId device) {
    }

    /** A switch has refused a batch, or part of it, or did not answer; who throws says that the loop cannot go on. */
    default void onWriteFailed(Command.Write write, Throwable error) {
    }
}
