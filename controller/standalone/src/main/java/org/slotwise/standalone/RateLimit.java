// SPDX-License-Identifier: Apache-2.0
package org.slotwise.standalone;

import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Token buckets by address of the caller: so many requests a second, and as many at once after a rest. */
final class RateLimit {
    /** The address unused for longest is forgotten first; to forget it is to give it a full bucket. */
    private static final int MAX_ADDRESSES = 1024;
    private static final long SECOND_NS = TimeUnit.SECONDS.toNanos(1);

    private final long perSecond;
    private final LongSupplier clockNs;
    /** By address: ns of credit, and when that was. */
    private final Map<InetAddress, long[]> buckets = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<InetAddress, long[]> eldest) {
            return size() > MAX_ADDRESSES;
        }
    };

    RateLimit(long perSecond, LongSupplier clockNs) {
        this.perSecond = perSecond;
        this.clockNs = clockNs;
    }

    /** Whether a request may be served now; counts it if so. */
    synchronized boolean admit(InetAddress address) {
        long now = clockNs.getAsLong();
        long cost = SECOND_NS / perSecond;
        long[] bucket = buckets.computeIfAbsent(address, any -> new long[] {SECOND_NS, now});
        bucket[0] = Math.min(SECOND_NS, bucket[0] + Math.min(SECOND_NS, now - bucket[1]));
        bucket[1] = now;
        if (bucket[0] < cost) {
            return false;
        }
        bucket[0] -= cost;
        return true;
    }
}
