// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import org.slotwise.systems.star.model.CorePorts;

/**
 * A scheduler that knows what is fair between edges. Where several of them share a port of the core it is given sums, and what is
 * fair is asked for before ({@link SharedPortScheduler}).
 */
interface SharesFairly extends SchedulerProvider {
    /** Fair shares of the pairs of all edges in a frame with so many data slots. */
    FairShare shares(SchedulerSettings settings, CorePorts ports, int slots);
}
