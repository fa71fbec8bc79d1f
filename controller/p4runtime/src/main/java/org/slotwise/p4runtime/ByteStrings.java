// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import com.google.protobuf.ByteString;

/** P4Runtime's canonical byte strings: big-endian, without leading zero bytes, zero as one byte. */
final class ByteStrings {
    private ByteStrings() {
    }

    /** Writes an unsigned number. */
    static ByteString of(long value) {
        int length = Math.max(1, (Long.SIZE - Long.numberOfLeadingZeros(value) + 7) / 8);
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (value >>> 8 * (length - 1 - i));
        }
        return ByteString.copyFrom(bytes);
    }

    /** Reads an unsigned number; throws IllegalArgumentException if it does not fit in 64 bits. */
    static long toLong(ByteString bytes) {
        long value = 0;
        for (int i = 0; i < bytes.size(); i++) {
            if (value >>> 56 != 0) {
                throw new IllegalArgumentException("value of " + bytes.size() + " bytes; expected at most 64 bits");
            }
            value = value << 8 | bytes.byteAt(i) & 0xff;
        }
        return value;
    }
}
