// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.api;

import java.util.Set;
import org.onosproject.event.ListenerService;

/**
 * The controller for other applications of ONOS. What can be read and changed are the resources that REST has at
 * {@code /onos/slotwise/v1/{app}/{path}}, as JSON text, so that nothing here changes when there are more of them. Every
 * method waits for the controller's answer; on a node that does not run it they throw IllegalStateException, which says where it
 * runs.
 */
public interface SlotwiseService extends ListenerService<SlotwiseEvent, SlotwiseListener> {
    /** Whether this node runs the controller. */
    boolean isLeader();

    /** Names of the applications that run. */
    Set<String> applications();

    /** Names of an application's resources; IllegalArgumentException if there is no such application. */
    Set<String> resources(String app);

    /** Returns the resource at a path such as {@code weights/1} as JSON; IllegalArgumentException for an unknown path. */
    String read(String app, String path);

    /** Changes a resource and returns what holds now as JSON; IllegalArgumentException with the reason if that makes no sense. */
    String change(String app, String path, String json);

    /** Removes a resource such as {@code sessions/film}; IllegalArgumentException if it cannot be removed. */
    void delete(String app, String path);
}
