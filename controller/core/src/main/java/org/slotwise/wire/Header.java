// SPDX-License-Identifier: Apache-2.0
package org.slotwise.wire;

import java.util.Arrays;

/** Header of a packet. Immutable; two of a type are equal if their bytes are. */
public abstract class Header {
    Header() {
    }

    /** Returns the bytes on the wire; reserved bits are zero. */
    public abstract byte[] encode();

    @Override
    public final boolean equals(Object o) {
        return o != null && o.getClass() == getClass() && Arrays.equals(encode(), ((Header) o).encode());
    }

    @Override
    public final int hashCode() {
        return Arrays.hashCode(encode());
    }
}
