// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slotwise.control.Event;
import org.slotwise.rest.system.Items;
import org.slotwise.rest.system.Metric;
import org.slotwise.rest.system.NamedSetting;
import org.slotwise.rest.system.ResourceTable;
import org.slotwise.rest.system.SystemResources;
import org.slotwise.rest.system.SystemResources.NotHereException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.model.LambdaWeb;

/** Sessions, what they have, and the links that they cross; sessions join, change and leave while it runs. */
final class LambdaResources {
    private static final String SESSIONS = "sessions";

    private final LambdaWeb web;
    private final NamedSetting<LambdaView, Demand> setting;

    LambdaResources(LambdaWeb web) {
        this.web = web;
        this.setting = new NamedSetting<>("session", "the session", LambdaCodec.shape(web), Demand::session, LambdaResources::put,
                LambdaResources::demand);
    }

    ResourceTable<LambdaView> table() {
        return new ResourceTable<LambdaView>(LambdaApp.ID,
                "Lambda networks: sessions with max-min fair rates over all links, as pacing rates or slots of a star.")
                .read("status", LambdaViews.STATUS)
                .read(SESSIONS, LambdaViews.SESSIONS).items(SESSIONS, new Sessions()).stored(setting)
                .read("links", LambdaViews.LINKS)
                .read("slots", LambdaViews.SLOTS)
                .metrics(view -> List.of(
                        Metric.gauge("lambda_sessions", "Active sessions.", view.grants().demands().size()),
                        Metric.gauge("lambda_granted_bps", "Sum of the granted rates, bit/s.", Math.round(view.grants().sumBps())),
                        Metric.counter("lambda_sessions_refused", "Sessions rejected after they were stored.", view.refused())));
    }

    /** A session with a lease is not stored: whoever asked for it asks again. */
    private JsonNode ask(SystemResources<LambdaView> lambda, Demand demand) {
        LambdaView view = lambda.view();
        LambdaApp.lacking(view, demand).ifPresent(reason -> {
            throw new NotHereException(reason);
        });
        if (isRenewed(view, demand)) {
            lambda.order(put(demand));
        } else {
            lambda.apply(setting.change(demand, demand.leaseMs().isEmpty()));
        }
        LambdaView after = lambda.view();
        return LambdaViews.Session.of(after, demand.session()).map(LambdaViews.SESSION::write)
                .orElseThrow(() -> new NotHereException("session '" + demand.session() + "' left at once"));
    }

    private static Event.Order put(Demand demand) {
        return Event.Call.of((LambdaApp app) -> app.put(demand));
    }

    private boolean leave(SystemResources<LambdaView> lambda, String session) {
        boolean isThere = demand(lambda.view(), session).isPresent();
        if (isThere) {
            lambda.apply(setting.removal(session, Event.Call.of((LambdaApp app) -> app.remove(session)), LambdaCodec.left(session)));
        }
        return isThere;
    }

    /** Each session by its name. */
    private final class Sessions implements Items<LambdaView> {
        @Override
        public Map<String, ObjectNode> place() {
            return Map.of(LambdaCodec.SESSION, LambdaViews.NAME.schema());
        }

        @Override
        public ObjectNode sent() {
            return LambdaCodec.ASKED;
        }

        @Override
        public ObjectNode shown() {
            return LambdaViews.SESSION.schema();
        }

        @Override
        public Optional<JsonNode> read(LambdaView view, ObjectNode place) {
            return LambdaViews.Session.of(view, name(place)).map(LambdaViews.SESSION::write);
        }

        @Override
        public Optional<JsonNode> put(SystemResources<LambdaView> lambda, ObjectNode place, JsonNode body) throws InvalidJsonException {
            return Optional.of(ask(lambda, LambdaCodec.asked(web, name(place), body)));
        }

        @Override
        public String unknown(ObjectNode place) {
            return "unknown session '" + name(place) + "'";
        }

        @Override
        public boolean canDelete() {
            return true;
        }

        @Override
        public boolean delete(SystemResources<LambdaView> lambda, ObjectNode place) {
            return leave(lambda, name(place));
        }

        private String name(ObjectNode place) {
            return place.get(LambdaCodec.SESSION).asText();
        }
    }

    private static Optional<Demand> demand(LambdaView view, String session) {
        return LambdaCodec.place(view.grants(), session).map(view.grants().demands()::get);
    }

    /** Whether all is as it was, but for a lease that begins anew: nothing to store, nor to audit. */
    private static boolean isRenewed(LambdaView view, Demand demand) {
        return demand.leaseMs().isPresent() && demand(view, demand.session()).filter(demand::equals).isPresent();
    }
}
