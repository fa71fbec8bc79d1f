// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ops.rest;

import java.util.Map;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.AppPage.Condition;
import org.slotwise.control.topology.Node;
import org.slotwise.systems.ops.app.LabelView;

/** What optical packet switches say on the live page. */
final class OpsPage {
    private OpsPage() {
    }

    static AppPage of(LabelView view) {
        AppPage page = new AppPage("ops").table("links").table("labels");
        for (Node node : view.network().topology().nodes()) {
            LabelView.NodeView shown = view.nodes().get(node.device());
            page.switchIs(node.name(), shown.isReady());
            for (int port : view.network().opticalPorts(node.device())) {
                String name = node.name() + ":" + port;
                boolean hasLight = !shown.darkPorts().contains(port);
                page.portIs(name, hasLight).row("links", name,
                        Map.of("light", hasLight ? 1 : 0, "target", shown.targets().getOrDefault(port, 0.0)));
            }
            shown.targets().forEach((port, target) -> page.says("target " + node.name() + ":" + port, Condition.CHOSEN,
                    node.name() + ":" + port + " has target utilization " + target));
            shown.routes().forEach((edge, fibres) -> page.row("labels", node.name() + " to " + view.network().edges().get(edge).name(),
                    Map.of("first_fibre", fibres.isEmpty() ? -1 : fibres.get(0), "fibres", fibres.size())));
        }
        view.weights().forEach((number, weight) -> page.says("class " + number, Condition.CHOSEN, "class " + number + " has weight " + weight));
        return page;
    }
}
