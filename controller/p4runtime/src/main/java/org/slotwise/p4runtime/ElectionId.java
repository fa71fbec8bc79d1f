// SPDX-License-Identifier: Apache-2.0
package org.slotwise.p4runtime;

import java.math.BigInteger;
import p4.v1.P4RuntimeOuterClass.Uint128;

/**
 * P4Runtime's election id, an unsigned number of 128 bits: the switch's primary is the controller with the highest, and a switch
 * remembers the highest that it ever had.
 *
 * @param value 0 to {@link #MAX}
 */
record ElectionId(BigInteger value) {
    /** The highest that there is. */
    static final ElectionId MAX = new ElectionId(BigInteger.ONE.shiftLeft(128).subtract(BigInteger.ONE));
    private static final BigInteger LOW = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    /** Of a number that is not negative. */
    static ElectionId of(long value) {
        return new ElectionId(BigInteger.valueOf(value));
    }

    /** As the wire has it. */
    static ElectionId of(Uint128 wire) {
        BigInteger high = new BigInteger(Long.toUnsignedString(wire.getHigh())).shiftLeft(64);
        return new ElectionId(high.or(new BigInteger(Long.toUnsignedString(wire.getLow()))));
    }

    /** For the wire. */
    Uint128 toWire() {
        return Uint128.newBuilder().setHigh(value.shiftRight(64).longValue()).setLow(value.and(LOW).longValue()).build();
    }

    /** The next one above both, or {@link #MAX} if there is none. */
    ElectionId above(ElectionId other) {
        ElectionId next = new ElectionId(value.max(other.value).add(BigInteger.ONE));
        return next.value.compareTo(MAX.value) > 0 ? MAX : next;
    }

    @Override
    public String toString() {
        return value.toString();
    }
}
