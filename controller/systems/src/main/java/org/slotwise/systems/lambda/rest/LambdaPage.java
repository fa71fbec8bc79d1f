// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import java.util.Map;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.AppPage.Condition;
import org.slotwise.systems.lambda.app.Grants;
import org.slotwise.systems.lambda.app.LambdaView;

/** What a lambda network says on the live page: what sessions are granted beside their max-min rates, which slots may fall short of. */
final class LambdaPage {
    private LambdaPage() {
    }

    static AppPage of(LambdaView view) {
        Grants grants = view.grants();
        AppPage page = new AppPage("lambda").table("sessions");
        double distance = 0;
        double fromZero = 0;
        for (int session = 0; session < grants.demands().size(); session++) {
            double fair = grants.rateBps(session);
            double granted = grants.grantedBps(session);
            page.row("sessions", grants.demands().get(session).session(), Map.of("rate_bps", granted, "fair_bps", fair));
            distance += (granted - fair) * (granted - fair);
            fromZero += fair * fair;
        }
        page.row("distance", "all sessions", Map.of("distance", Math.sqrt(distance), "from_zero", Math.sqrt(fromZero)));
        String refuted = grants.refuted().orElse("");
        return page.says("max-min", refuted.isEmpty() ? Condition.WELL : Condition.ALARM,
                refuted.isEmpty() ? "rates are max-min fair" : "rates are not max-min fair: " + refuted);
    }
}
