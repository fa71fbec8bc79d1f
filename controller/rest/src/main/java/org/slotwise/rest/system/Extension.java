// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

/** Addition to a system, from its section of a host's configuration, with what it holds open. */
public interface Extension extends AutoCloseable {
    /** Returns the system with the addition. */
    SystemKind<?> kind();

    /** Starts what the first use would wait for. */
    void prepare();

    @Override
    void close();
}
