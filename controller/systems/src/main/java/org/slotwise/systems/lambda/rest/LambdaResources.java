// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slotwise.apps.AppPage;
import org.slotwise.apps.AppResources;
import org.slotwise.apps.Metric;
import org.slotwise.apps.Running;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.app.SessionLeft;

/** Sessions, what they have, and the links that they cross; sessions join, change and leave while it runs. */
public final class LambdaResources implements AppResources {
    private static final String SESSIONS = "sessions";

    private final Running<LambdaView> running;
    private final Object changing;
    private final Map<String, Supplier<JsonNode>> reads = new LinkedHashMap<>();

    /** Takes the application, and the lock of those that change it. */
    public LambdaResources(Running<LambdaView> running, Object changing) {
        this.running = running;
        this.changing = changing;
        show("status", LambdaCodec::status);
        show(SESSIONS, LambdaCodec::sessions);
        show("links", LambdaCodec::links);
        show("slots", LambdaCodec::slots);
    }

    private void show(String name, Function<LambdaView, JsonNode> shown) {
        reads.put(name, () -> shown.apply(running.view()));
    }

    @Override
    public String id() {
        return LambdaApp.ID;
    }

    @Override
    public String description() {
        return "Lambda networks: sessions with max-min fair rates over all links, as pacing rates or slots of a star.";
    }

    @Override
    public Map<String, Supplier<JsonNode>> reads() {
        return reads;
    }

    @Override
    public Map<String, Function<String, JsonNode>> parts() {
        return Map.of(SESSIONS, name -> LambdaCodec.sessions(running.view(), name));
    }

    @Override
    public Map<String, Change> changes() {
        return Map.of(SESSIONS, this::session);
    }

    @Override
    public Optional<AppPage> page() {
        return Optional.of(LambdaPage.of(running.view()));
    }

    @Override
    public List<Metric> metrics() {
        LambdaView view = running.view();
        return List.of(
                Metric.gauge("lambda_sessions", "Active sessions.", view.grants().demands().size()),
                Metric.gauge("lambda_granted_bps", "Sum of the granted rates, bit/s.", Math.round(view.grants().sumBps())),
                Metric.counter("lambda_sessions_refused", "Sessions rejected after they were stored.", view.refused()));
    }

    private JsonNode session(JsonNode body) throws InvalidJsonException {
        synchronized (changing) {
            LambdaView view = running.view();
            if (LambdaCodec.leaves(body)) {
                SessionLeft left = LambdaCodec.left(body);
                place(view, left.session());
                running.choose(new KeptSession(view.web(), left));
                return LambdaCodec.left(left.session());
            }
            Demand demand = LambdaCodec.asked(view.web(), body);
            LambdaApp.lacking(view, demand).ifPresent(reason -> {
                throw new NotHereException(reason);
            });
            if (isRenewed(view, demand)) {
                running.order(demand);
            } else {
                running.choose(new KeptSession(view.web(), demand));
            }
            LambdaView after = running.view();
            return LambdaCodec.session(after, place(after, demand.session()));
        }
    }

    /** Whether all is as it was, but for a lease that begins anew: nothing to keep, nor to audit. */
    private static boolean isRenewed(LambdaView view, Demand demand) {
        return demand.leaseMs().isPresent()
                && LambdaCodec.place(view.grants(), demand.session()).map(view.grants().demands()::get).filter(demand::equals).isPresent();
    }

    private static int place(LambdaView view, String session) {
        return LambdaCodec.place(view.grants(), session)
                .orElseThrow(() -> new NotHereException("unknown session '" + session + "'"));
    }
}
