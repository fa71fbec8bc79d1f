// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.flow;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.onosproject.cluster.NodeId;
import org.onosproject.mastership.MastershipAdminService;
import org.onosproject.mastership.MastershipService;
import org.onosproject.net.DeviceId;
import org.onosproject.net.MastershipRole;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slotwise.control.Backoff;

/**
 * Makes another node the master of a switch whose rules stand still in ONOS. When a switch gets a master twice within a second, ONOS's
 * table of its rules may come to wait for the first of the two terms after the second has begun ({@code DeviceFlowTable.activateMaster}):
 * it keeps each rule back, for 5 s, until a later term begins. That is what another master brings.
 */
public final class OtherMaster {
    private static final Logger LOG = LoggerFactory.getLogger(OtherMaster.class);

    private final MastershipService masters;
    private final MastershipAdminService changes;
    private final long patienceMs;

    /** Takes ONOS's services, and how long a batch of rules may take before something is done. */
    public OtherMaster(MastershipService masters, MastershipAdminService changes, long patienceMs) {
        this.masters = masters;
        this.changes = changes;
        this.patienceMs = patienceMs;
    }

    /** Looks now and then whether a batch has been answered, less often after each change; on a thread that may wait for the cluster. */
    void watch(CompletableFuture<Void> batch, DeviceId device, Executor threads) {
        watch(batch, device, threads, new Backoff(patienceMs, () -> Long.MAX_VALUE));
    }

    private void watch(CompletableFuture<Void> batch, DeviceId device, Executor threads, Backoff backoff) {
        CompletableFuture.delayedExecutor(backoff.next(), TimeUnit.MILLISECONDS, threads).execute(() -> {
            if (!batch.isDone()) {
                if (change(device)) {
                    backoff.afterFailure();
                }
                watch(batch, device, threads, backoff);
            }
        });
    }

    private boolean change(DeviceId device) {
        List<NodeId> others = masters.getNodesFor(device).backups();
        if (others.isEmpty()) {
            LOG.warn("{}: no response from ONOS: no other node can become master", device);
            return false;
        }
        NodeId next = others.get(0);
        LOG.warn("{}: no response from ONOS: node {} becomes master", device, next);
        changes.setRole(next, device, MastershipRole.MASTER);
        return true;
    }
}
