// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.app;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import org.slotwise.systems.lambda.model.LambdaSession;
import org.slotwise.wire.Limits;

/**
 * Somebody wants to send from one node to another: a session joins, or changes what it wants. With a deadline it has at the least the rate
 * at which all its bytes are there in time. With a lease it is there for so long after it was last asked for. Immutable.
 */
public final class Demand {
    /** Most bytes of a session. */
    public static final long MAX_BYTES = 1L << 60;
    /** Longest time for them, ms: a hundred days. */
    public static final long MAX_DEADLINE_MS = 100L * 24 * 3600 * 1000;
    /** Shortest lease, ms. */
    public static final long MIN_LEASE_MS = 1000;
    /** Longest lease, ms: a day. */
    public static final long MAX_LEASE_MS = 24L * 3600 * 1000;
    private static final Pattern SESSION = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}");
    private static final double BIT_MS_OF_BYTE_S = 8000;

    private final String session;
    private final int source;
    private final int sink;
    private final OptionalLong wantedBps;
    private final double weight;
    private final OptionalLong bytes;
    private final OptionalLong deadlineMs;
    private final OptionalLong leaseMs;

    /**
     * One that is there until it leaves. Throws IllegalArgumentException, saying what would be right, for what is out of its range.
     *
     * @param session its name
     * @param source number of the node that sends; {@code sink} of the one that takes, which is another
     * @param wantedBps most that it can use, b/s; empty is greedy
     * @param weight its part of a full link beside those of others, {@link LambdaSession#MIN_WEIGHT} .. {@link LambdaSession#MAX_WEIGHT}
     * @param bytes what it sends in all; needed where there is a deadline
     * @param deadlineMs time for all bytes, ms
     */
    public Demand(String session, int source, int sink, OptionalLong wantedBps, double weight, OptionalLong bytes, OptionalLong deadlineMs) {
        this.session = checkName(session);
        if (source == sink) {
            throw new IllegalArgumentException("source and sink are the same node; expected two nodes");
        }
        check("wanted_bps", wantedBps, 1, Limits.MAX_RATE_BPS);
        check("bytes", bytes, 1, MAX_BYTES);
        check("deadline_ms", deadlineMs, 1, MAX_DEADLINE_MS);
        if (!(weight >= LambdaSession.MIN_WEIGHT && weight <= LambdaSession.MAX_WEIGHT)) {
            throw new IllegalArgumentException("weight: expected " + LambdaSession.MIN_WEIGHT + " .. " + LambdaSession.MAX_WEIGHT + ", got " + weight);
        }
        if (deadlineMs.isPresent() && bytes.isEmpty()) {
            throw new IllegalArgumentException("'deadline_ms' requires 'bytes'");
        }
        this.source = source;
        this.sink = sink;
        this.wantedBps = wantedBps;
        this.weight = weight;
        this.bytes = bytes;
        this.deadlineMs = deadlineMs;
        this.leaseMs = OptionalLong.empty();
        if (wantedBps.isPresent() && leastBps() > wantedBps.getAsLong()) {
            throw new IllegalArgumentException("the deadline requires " + Math.round(leastBps()) + " b/s; expected at most 'wanted_bps', "
                    + wantedBps.getAsLong());
        }
    }

    private Demand(Demand of, OptionalLong leaseMs) {
        this.session = of.session;
        this.source = of.source;
        this.sink = of.sink;
        this.wantedBps = of.wantedBps;
        this.weight = of.weight;
        this.bytes = of.bytes;
        this.deadlineMs = of.deadlineMs;
        this.leaseMs = leaseMs;
    }

    /** The same with a lease of {@link #MIN_LEASE_MS} .. {@link #MAX_LEASE_MS}; throws IllegalArgumentException for another. */
    public Demand leased(long ms) {
        check("lease_ms", OptionalLong.of(ms), MIN_LEASE_MS, MAX_LEASE_MS);
        return new Demand(this, OptionalLong.of(ms));
    }

    /** The name, if it can be one of a session; throws IllegalArgumentException else. */
    static String checkName(String session) {
        if (!SESSION.matcher(Objects.requireNonNull(session)).matches()) {
            throw new IllegalArgumentException("invalid session name; expected 1 .. 64 letters, digits, '-' and '_', the first a letter or digit");
        }
        return session;
    }

    private static void check(String what, OptionalLong value, long least, long most) {
        if (value.isPresent() && (value.getAsLong() < least || value.getAsLong() > most)) {
            throw new IllegalArgumentException(what + ": expected " + least + " .. " + most + ", got " + value.getAsLong());
        }
    }

    /** Name of the session. */
    public String session() {
        return session;
    }

    /** Number of the node that sends. */
    public int source() {
        return source;
    }

    /** Number of the node that takes. */
    public int sink() {
        return sink;
    }

    /** Most that it can use, b/s. */
    public OptionalLong wantedBps() {
        return wantedBps;
    }

    /** Its part beside others. */
    public double weight() {
        return weight;
    }

    /** What it sends in all. */
    public OptionalLong bytes() {
        return bytes;
    }

    /** Time for all bytes, ms. */
    public OptionalLong deadlineMs() {
        return deadlineMs;
    }

    /** How long it is there after it was last asked for; empty: until it leaves. */
    public OptionalLong leaseMs() {
        return leaseMs;
    }

    /** The rate at which all bytes are there in time, b/s; 0 without a deadline. */
    public double leastBps() {
        return deadlineMs.isPresent() ? bytes.getAsLong() * BIT_MS_OF_BYTE_S / deadlineMs.getAsLong() : 0;
    }

    /** As a session over these links that has no less than {@code least} b/s, which may be more than it wants. */
    LambdaSession over(List<Integer> links, double least) {
        return new LambdaSession(links, wantedBps.isPresent() ? OptionalDouble.of(Math.max(wantedBps.getAsLong(), least)) : OptionalDouble.empty(), weight, least);
    }

    private List<Object> values() {
        return Arrays.asList(session, source, sink, wantedBps, weight, bytes, deadlineMs, leaseMs);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Demand && values().equals(((Demand) other).values());
    }

    @Override
    public int hashCode() {
        return values().hashCode();
    }
}
