// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.model;

import java.util.Optional;
import java.util.function.IntPredicate;
import org.slotwise.wire.WireConstants;

/** Ways between the stations of a ring: the shorter ringlet that is whole, else the other one; of two equal ones ringlet 0. */
public final class RingWays {
    private final RingNetwork network;
    /** By ringlet and station: how many links in a row are whole from there. */
    private final int[][] whole;

    /** Takes the links that have light, by the station before them along ringlet 0; asked only of links that there are. */
    public RingWays(RingNetwork network, IntPredicate hasLight) {
        this.network = network;
        int stations = network.stations().size();
        this.whole = new int[WireConstants.RINGLETS][stations];
        for (int ringlet = 0; ringlet < whole.length; ringlet++) {
            // Twice around against the ringlet: what is behind the first station is known the second time.
            for (int back = 1; back <= 2 * stations; back++) {
                int station = network.upstream(0, ringlet, back);
                boolean isLit = network.linkOut(station, ringlet).filter(link -> hasLight.test(link.from())).isPresent();
                whole[ringlet][station] =
                        isLit ? Math.min(stations - 1, whole[ringlet][network.downstream(station, ringlet)] + 1) : 0;
            }
        }
    }

    /** The way from one station to another one; empty if neither ringlet is whole. */
    public Optional<Way> way(int from, int to) {
        Optional<Way> best = Optional.empty();
        for (int ringlet = 0; ringlet < whole.length; ringlet++) {
            int hops = network.hops(from, to, ringlet);
            if (hops <= whole[ringlet][from] && (best.isEmpty() || hops < best.get().hops())) {
                best = Optional.of(new Way(ringlet, hops));
            }
        }
        return best;
    }
}
