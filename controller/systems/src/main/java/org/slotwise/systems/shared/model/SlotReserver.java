// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.shared.model;

import java.util.Optional;

/** The application that takes {@link SlotsReserved}, as seen by one that sends it. */
public interface SlotReserver {
    /** Name of that application. */
    String APP = "star";

    /** Returns why {@link SlotsReserved} cannot be for so many edges, and up to so many slots of a frame of each; empty if it can. */
    Optional<String> cannotReserve(int edges, int slots);
}
