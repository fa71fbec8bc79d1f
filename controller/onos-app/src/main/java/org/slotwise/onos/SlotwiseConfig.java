// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos;

import org.onosproject.core.ApplicationId;
import org.onosproject.net.config.Config;
import org.onosproject.net.config.InvalidFieldException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.NetworkCodec;
import org.slotwise.rest.json.SchedulerCodec;
import org.slotwise.star.SchedulerChosen;
import org.slotwise.star.network.Network;
import org.slotwise.star.schedule.InvalidSettingsException;
import org.slotwise.star.schedule.Schedulers;

/**
 * The network, in ONOS's network configuration at {@code apps/org.slotwise.app/network}; in the form of
 * {@code schema/network.schema.json}.
 */
public final class SlotwiseConfig extends Config<ApplicationId> {
    /** Key below the application. */
    public static final String KEY = "network";

    /** Always true: throws InvalidFieldException with place and reason instead of saying no. */
    @Override
    public boolean isValid() {
        network();
        scheduler();
        return true;
    }

    /** The network; throws InvalidFieldException. */
    Network network() {
        try {
            return NetworkCodec.decode("", object);
        } catch (InvalidJsonException e) {
            throw new InvalidFieldException(KEY, e.getMessage());
        }
    }

    /** The scheduler to begin with; throws InvalidFieldException. */
    SchedulerChosen scheduler() {
        try {
            return SchedulerCodec.decode("scheduler", JsonFields.open("", object).required("scheduler"),
                    Schedulers.ours());
        } catch (InvalidJsonException | InvalidSettingsException e) {
            throw new InvalidFieldException(KEY, e.getMessage());
        }
    }
}
