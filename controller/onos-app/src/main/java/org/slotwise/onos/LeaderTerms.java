// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.onosproject.store.service.ConsistentMap;
import org.onosproject.store.service.StorageService;
import org.onosproject.store.service.Versioned;
import org.slotwise.onos.flow.Fence.SupersededException;
import org.slotwise.onos.flow.Stores;

/**
 * Whose orders count: the term of the last leader that took over, in a map that the cluster agrees on. A leader puts its own
 * there before it does anything, and compares before each write. All methods wait for the cluster and throw StorageException.
 */
final class LeaderTerms {
    private static final String MAP = "slotwise-leader";
    private static final String TERM = "term";

    private static final String BETWEEN = " ";
    /** Of taking over, while others compare their term, or read what was in force before. */
    private static final int TRIES = 8;

    private final ConsistentMap<String, String> values;
    private final String node;

    /** Takes the name of this node: ONOS has told two nodes, one of which had been cut off, that they lead in the same term. */
    LeaderTerms(StorageService storage, String node) {
        this.node = node;
        this.values = storage.<String, String>consistentMapBuilder().withName(MAP)
                .withSerializer(new TextSerializer()).build();
    }

    private String text(long term) {
        return term + BETWEEN + node;
    }

    /** Takes over; throws SupersededException if a later term has been there, or the same one of another node. */
    void begin(long term) {
        for (int tries = 0; tries < TRIES; tries++) {
            String before = Versioned.valueOrNull(Stores.ask(() -> values.get(TERM)));
            if (before == null) {
                values.putIfAbsent(TERM, text(term));
            } else if (number(before) >= term || Stores.ask(() -> values.replace(TERM, before, text(term)))) {
                break;
            }
        }
        check(term);
    }

    /** Changes whenever a leader compares its term, so with each write of one that goes on. */
    long version() {
        Versioned<String> inForce = Stores.ask(() -> values.get(TERM));
        return inForce == null ? 0 : inForce.version();
    }

    /** Takes over in any case: for a cluster that counts terms anew while the map still has those of before. */
    void beginAnew(long term) {
        values.put(TERM, text(term));
    }

    /**
     * Throws SupersededException if another term is in force. Writes the term in its own place: a node that is cut off goes on reading
     * from its own storage node what the cluster agreed on before, for seconds, but writes nothing.
     */
    void check(long term) {
        String own = text(term);
        if (!Stores.ask(() -> values.replace(TERM, own, own))) {
            String inForce = Versioned.valueOrNull(Stores.ask(() -> values.get(TERM)));
            throw new SupersededException("current term is " + inForce + ", not " + own);
        }
    }

    /** Tells the orders of this node in a term from all others: both in one number, the term above and the node's name below. */
    long mandate(long term) {
        return mandate(text(term));
    }

    private static long mandate(String text) {
        return number(text) << Integer.SIZE | Integer.toUnsignedLong(text.split(BETWEEN, -1)[1].hashCode());
    }

    /**
     * Throws SupersededException if another mandate is in force than that under which something was ordered, by this node or another.
     * Writes, as above; if another has written since this node last heard, it reads again.
     */
    void checkOrder(long mandate) {
        while (true) {
            String inForce = Versioned.valueOrNull(Stores.ask(() -> values.get(TERM)));
            if (inForce == null) {
                throw new SupersededException("no current term");
            }
            if (Stores.ask(() -> values.replace(TERM, inForce, inForce))) {
                if (mandate(inForce) != mandate) {
                    throw new SupersededException(
                            "current term is " + inForce + ", not that of the request, " + (mandate >>> Integer.SIZE));
                }
                return;
            }
        }
    }

    private static long number(String text) {
        return Long.parseLong(text.split(BETWEEN, -1)[0]);
    }
}
