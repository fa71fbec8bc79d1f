// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.onosproject.store.service.StorageException;
import org.slotwise.onos.flow.Fence.SupersededException;

/** Three nodes: two that lead, one after another, and one that is the master of a switch and leads never. */
class LeaderTermsTest {
    private final FakeOnos onos = new FakeOnos();
    private final LeaderTerms first = new LeaderTerms(onos.storage, "10.0.0.1");
    private final LeaderTerms second = new LeaderTerms(onos.storage, "10.0.0.2");
    private final LeaderTerms master = new LeaderTerms(onos.storage, "10.0.0.3");

    @Test
    void anOrderCountsAtAnyNodeUntilTheNextLeaderBegins() {
        assertThrows(SupersededException.class, () -> master.checkOrder(first.mandate(4)), "nobody has led");
        first.begin(4);
        assertDoesNotThrow(() -> master.checkOrder(first.mandate(4)));
        assertThrows(SupersededException.class, () -> master.checkOrder(first.mandate(3)));
        second.begin(5);
        assertThrows(SupersededException.class, () -> master.checkOrder(first.mandate(4)));
        assertDoesNotThrow(() -> master.checkOrder(second.mandate(5)));
    }

    @Test
    void ordersOfTwoNodesInTheSameTermAreTold() {
        first.begin(4);
        second.beginAnew(4);
        assertNotEquals(first.mandate(4), second.mandate(4));
        assertThrows(SupersededException.class, () -> master.checkOrder(first.mandate(4)));
        assertDoesNotThrow(() -> master.checkOrder(second.mandate(4)));
    }

    @Test
    void aMasterThatIsCutOffKnowsNothing() {
        first.begin(4);
        onos.storage.cutOff = true;
        assertThrows(StorageException.class, () -> master.checkOrder(first.mandate(4)));
    }
}
