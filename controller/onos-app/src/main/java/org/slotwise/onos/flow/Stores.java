// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.function.Supplier;
import org.onosproject.store.service.StorageException;

/**
 * Questions to ONOS's stores. What a consistent map cannot read it reports as Atomix does, which ONOS's interfaces do not know:
 * a session that is over, a partition without a leader. To the one who asks that is the same as a StorageException.
 */
public final class Stores {
    private Stores() {
    }

    /** The answer; throws StorageException, and nothing else, if there is none. */
    public static <T> T ask(Supplier<T> question) {
        try {
            return question.get();
        } catch (StorageException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new StorageException(e);
        }
    }
}
