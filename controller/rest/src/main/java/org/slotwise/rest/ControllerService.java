// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.List;
import org.slotwise.rest.system.SystemResources;

/** What the resources need of whoever runs the controller; may be called from any thread. */
public interface ControllerService {
    /** Returns the resources of each system that runs; throws {@link UnavailableException} if the controller does not run here. */
    List<SystemResources<?>> apps();

    /** Packet-ins that no application wanted; throws {@link UnavailableException} if the controller does not answer in time. */
    default long unclaimedPackets() {
        return 0;
    }

    /** What was asked for is of an application that is not there. */
    final class NoSuchApplicationException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason, which callers may see. */
        public NoSuchApplicationException(String reason) {
            super(reason);
        }
    }

    /** What was asked for cannot be kept over a restart, as on a full disk; so it was not done. */
    final class NotKeptException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason, which callers may see. */
        public NotKeptException(String reason, Throwable cause) {
            super(reason, cause);
        }
    }

    /** The controller does not answer. */
    final class UnavailableException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** Takes the reason. */
        public UnavailableException(String reason, Throwable cause) {
            super(reason, cause);
        }
    }
}
