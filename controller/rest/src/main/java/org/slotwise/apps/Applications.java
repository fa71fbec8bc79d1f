// SPDX-License-Identifier: Apache-2.0
package org.slotwise.apps;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.slotwise.apps.lambda.LambdaApplication;
import org.slotwise.apps.ops.OpsApplication;
import org.slotwise.apps.ring.RingApplication;
import org.slotwise.apps.routes.RoutesApplication;
import org.slotwise.apps.star.StarApplication;
import org.slotwise.star.schedule.Schedulers;

/** The applications that a controller knows, in the order in which they are shown, and in which a packet is offered to them. */
public final class Applications {
    private final Map<String, Application<?>> all = new LinkedHashMap<>();

    /** Takes kinds with different names. */
    private Applications(List<Application<?>> all) {
        for (Application<?> one : all) {
            if (this.all.put(one.id(), one) != null) {
                throw new IllegalArgumentException("duplicate application '" + one.id() + "'");
            }
        }
    }

    /** All that come with the controller. A new one is added at the end: ONOS knows their configurations by their places. */
    public static Applications ours(Schedulers schedulers) {
        return new Applications(List.of(
                new StarApplication(schedulers),
                new RoutesApplication(),
                new RingApplication(),
                new OpsApplication(),
                new LambdaApplication()));
    }

    /** With one more. */
    public Applications and(Application<?> another) {
        List<Application<?>> more = new ArrayList<>(all.values());
        more.add(another);
        return new Applications(more);
    }

    /** By name, in order. */
    public Map<String, Application<?>> all() {
        return all;
    }

    /** Names of all P4 programs that their switches run. */
    public List<String> programs() {
        return all.values().stream().flatMap(one -> one.programs().stream()).distinct().collect(Collectors.toList());
    }
}
