// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.slotwise.apps.Choice;
import org.slotwise.control.AppState;
import org.slotwise.control.Event;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.app.SessionLeft;
import org.slotwise.systems.lambda.model.LambdaWeb;

/**
 * A session that joins, changes or leaves, and how it is kept: as what was asked for, by its name. One that has left is not, nor is one with a
 * lease: whoever asked for it asks again.
 */
final class KeptSession implements Choice<LambdaView> {
    private static final String PREFIX = "session_";

    private final LambdaWeb web;
    private final Event.Order order;
    private final String session;

    /** Takes a session that joins, or changes. */
    KeptSession(LambdaWeb web, Demand demand) {
        this.web = web;
        this.order = demand;
        this.session = demand.session();
    }

    /** Takes one that leaves. */
    KeptSession(LambdaWeb web, SessionLeft left) {
        this.web = web;
        this.order = left;
        this.session = left.session();
    }

    @Override
    public String what() {
        return "session";
    }

    @Override
    public String title() {
        return "the session";
    }

    @Override
    public Event.Order order() {
        return order;
    }

    @Override
    public ObjectNode told() {
        return order instanceof Demand ? LambdaCodec.demand(web, (Demand) order) : LambdaCodec.left(session);
    }

    @Override
    public ObjectNode audited(LambdaView before) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        LambdaCodec.place(before.grants(), session)
                .ifPresent(place -> node.set("before", LambdaCodec.demand(web, before.grants().demands().get(place))));
        node.set("after", told());
        return node;
    }

    @Override
    public void keep(AppState state) throws IOException {
        if (order instanceof Demand && ((Demand) order).leaseMs().isEmpty()) {
            state.keep(PREFIX + session, told().toString());
        } else if (state.all().containsKey(PREFIX + session)) {
            Map<String, String> rest = new TreeMap<>(state.all());
            rest.remove(PREFIX + session);
            state.keepOnly(rest);
        }
    }

    /** What makes a session of key and text, if its nodes are still there. */
    static BiFunction<String, String, Optional<Event.Order>> reader(LambdaWeb web) {
        return (key, text) -> {
            try {
                Demand demand = LambdaCodec.demand("", web, JsonFields.parse(text.getBytes(StandardCharsets.UTF_8)));
                return key.equals(PREFIX + demand.session()) ? Optional.of(demand) : Optional.empty();
            } catch (InvalidJsonException e) {
                return Optional.empty();
            }
        };
    }
}
