// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.routes.rest;

import java.util.Map;
import org.slotwise.rest.system.AppPage;
import org.slotwise.systems.routes.app.RoutesView;
import org.slotwise.systems.routes.model.Router;
import org.slotwise.systems.routes.model.RouterPort;

/** What routers say on the live page. */
final class RoutesPage {
    private RoutesPage() {
    }

    static AppPage of(RoutesView view) {
        AppPage page = new AppPage("routers").table("links");
        view.routers().forEach((device, shown) -> {
            Router router = view.network().routers().get(device);
            page.switchIs(router.name(), shown.isReady());
            for (RouterPort port : router.ports()) {
                String name = router.name() + ":" + port.number();
                boolean hasLight = !shown.darkPorts().contains(port.number());
                page.portIs(name, hasLight).row("links", name,
                        Map.of("light", hasLight ? 1 : 0, "xcp_bps", shown.xcpBps().getOrDefault(port.number(), 0L)));
            }
        });
        return page;
    }
}
