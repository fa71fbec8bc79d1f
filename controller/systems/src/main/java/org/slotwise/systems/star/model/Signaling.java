// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.model;

/** How requests and beacons travel. */
public enum Signaling {
    /** As light in slots of the frame that carry nothing else, one an edge. */
    IN_BAND,
    /** Between each switch and the controller; every slot carries data. */
    OUT_OF_BAND
}
