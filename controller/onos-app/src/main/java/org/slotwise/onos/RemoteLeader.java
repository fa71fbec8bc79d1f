// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import java.util.Optional;

/** Where the controller runs, if not on this node. */
public interface RemoteLeader {
    /** The address of the node that leads, as a URI has it; empty if this node leads, or none does. */
    Optional<String> address();
}
