// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.util.List;
import java.util.Optional;
import org.slotwise.ring.RingView;
import org.slotwise.routes.RoutesView;
import org.slotwise.star.MasterShutdown;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.Snapshot;

/** What the resources need of whoever runs the controller; may be called from any thread. */
public interface ControllerService {
    /**
     * The star's state now; throws {@link UnavailableException} if it does not answer in time, and
     * {@link NoSuchApplicationException} if the network has no star.
     */
    Snapshot snapshot();

    /**
     * Chooses a scheduler and keeps the choice over restarts; throws {@link NotKeptException} if it cannot be kept, and
     * {@link UnavailableException} if the controller does not answer.
     */
    void choose(SchedulerChosen choice);

    /**
     * Shuts a core's master down or takes it back, and keeps that over restarts; {@code Network.canShutDown} holds. Throws
     * {@link NotKeptException} if it cannot be kept, and {@link UnavailableException} if the controller does not answer, or where
     * this host has no means for it.
     */
    default void shutDown(MasterShutdown shutdown) {
        throw new UnavailableException("masters cannot be shut down here", null);
    }

    /** The state of the routers now, empty if there are none; throws {@link UnavailableException} if it does not answer in time. */
    default Optional<RoutesView> routes() {
        return Optional.empty();
    }

    /** The state of the packet ring now, empty if there is none; throws {@link UnavailableException} if it does not answer in time. */
    default Optional<RingView> ring() {
        return Optional.empty();
    }

    /** Packet-ins that no application wanted; throws {@link UnavailableException} if the controller does not answer in time. */
    default long unclaimedPackets() {
        return 0;
    }

    /** The resources of each application that runs; those of the star if a host says nothing else. */
    default List<AppResources> apps() {
        return List.of(new StarResources(this));
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
