// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

/** Addition to an application, from its section of a host's configuration, with what it holds open. */
public interface Extension extends AutoCloseable {
    /** Returns the application with the addition. */
    Application<?> application();

    /** Starts what the first use would wait for. */
    void prepare();

    @Override
    void close();
}
