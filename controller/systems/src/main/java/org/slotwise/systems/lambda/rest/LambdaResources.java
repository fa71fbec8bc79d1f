// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Optional;
import org.slotwise.apps.Metric;
import org.slotwise.apps.NamedSetting;
import org.slotwise.apps.ResourceTable;
import org.slotwise.apps.SystemResources;
import org.slotwise.apps.SystemResources.NotHereException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.app.SessionLeft;
import org.slotwise.systems.lambda.model.LambdaWeb;

/** Sessions, what they have, and the links that they cross; sessions join, change and leave while it runs. */
final class LambdaResources {
    private static final String SESSIONS = "sessions";

    private final LambdaWeb web;
    private final NamedSetting<LambdaView, Demand> setting;
    /** One change at a time, of all callers: what was found to fit must still fit when it is taken. */
    private final Object changing = new Object();

    LambdaResources(LambdaWeb web) {
        this.web = web;
        this.setting = new NamedSetting<>("session", "the session", LambdaCodec.shape(web), Demand::session, LambdaResources::demand);
    }

    ResourceTable<LambdaView> table() {
        return new ResourceTable<LambdaView>(LambdaApp.ID,
                "Lambda networks: sessions with max-min fair rates over all links, as pacing rates or slots of a star.")
                .read("status", LambdaCodec::status)
                .read(SESSIONS, LambdaCodec::sessions).part(SESSIONS, LambdaCodec::sessions).change(SESSIONS, this::session).stored(setting)
                .read("links", LambdaCodec::links)
                .read("slots", LambdaCodec::slots)
                .page(LambdaPage::of)
                .metrics(view -> List.of(
                        Metric.gauge("lambda_sessions", "Active sessions.", view.grants().demands().size()),
                        Metric.gauge("lambda_granted_bps", "Sum of the granted rates, bit/s.", Math.round(view.grants().sumBps())),
                        Metric.counter("lambda_sessions_refused", "Sessions rejected after they were stored.", view.refused())));
    }

    /** A session with a lease is not stored: whoever asked for it asks again. */
    private JsonNode session(SystemResources<LambdaView> lambda, JsonNode body) throws InvalidJsonException {
        synchronized (changing) {
            LambdaView view = lambda.view();
            if (LambdaCodec.leaves(body)) {
                SessionLeft left = LambdaCodec.left(body);
                place(view, left.session());
                return lambda.apply(setting.removal(left.session(), left, LambdaCodec.left(left.session())));
            }
            Demand demand = LambdaCodec.asked(web, body);
            LambdaApp.lacking(view, demand).ifPresent(reason -> {
                throw new NotHereException(reason);
            });
            if (isRenewed(view, demand)) {
                lambda.order(demand);
            } else {
                lambda.apply(setting.change(demand, demand.leaseMs().isEmpty()));
            }
            LambdaView after = lambda.view();
            return LambdaCodec.session(after, place(after, demand.session()));
        }
    }

    private static Optional<Demand> demand(LambdaView view, String session) {
        return LambdaCodec.place(view.grants(), session).map(view.grants().demands()::get);
    }

    /** Whether all is as it was, but for a lease that begins anew: nothing to store, nor to audit. */
    private static boolean isRenewed(LambdaView view, Demand demand) {
        return demand.leaseMs().isPresent() && demand(view, demand.session()).filter(demand::equals).isPresent();
    }

    private static int place(LambdaView view, String session) {
        return LambdaCodec.place(view.grants(), session)
                .orElseThrow(() -> new NotHereException("unknown session '" + session + "'"));
    }
}
