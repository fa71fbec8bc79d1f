// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.slotwise.control.topology.InvalidNetworkException;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.rest.json.JsonFields;
import org.slotwise.rest.json.Shape;
import org.slotwise.rest.json.View;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.Grants;
import org.slotwise.systems.lambda.app.LambdaApp;
import org.slotwise.systems.lambda.model.Lambda;
import org.slotwise.systems.lambda.model.LambdaNode;
import org.slotwise.systems.lambda.model.LambdaSession;
import org.slotwise.systems.lambda.model.LambdaWeb;
import org.slotwise.systems.lambda.model.SlotRates;
import org.slotwise.wire.Limits;

/** A lambda network in the form of {@code schema/network.schema.json}, sessions as they are sent, and the views of what there is. */
public final class LambdaCodec {
    private static final String NAME = "name";
    private static final String NODES = "nodes";
    private static final String LAMBDAS = "lambdas";
    private static final String SLOTS = "slots";
    private static final String SITE = "site";
    private static final String RATE = "rate_bps";
    private static final String FROM = "from";
    private static final String TO = "to";
    private static final String DELAY = "delay_ns";
    private static final String SESSIONS = "sessions";
    private static final String UP = "up_bps";
    private static final String DOWN = "down_bps";
    /** Name of a session. */
    static final String SESSION = "session";
    private static final String SOURCE = "source";
    private static final String SINK = "sink";
    private static final String WANTED = "wanted_bps";
    private static final String WEIGHT = "weight";
    private static final String BYTES = "bytes";
    private static final String DEADLINE = "deadline_ms";
    private static final String LEASE = "lease_ms";
    private static final String LEAVE = "leave";

    /** Schema of what a session wants, without its name. */
    static final ObjectNode ASKED = Shape.schema(false, Shape.of(fields -> fields, (fields, node) -> { }, SOURCE, SINK, WANTED, WEIGHT, BYTES, DEADLINE, LEASE)
            .field(SOURCE, View.TEXT.schema()).field(SINK, View.TEXT.schema()).field(WANTED, View.integer(1, Limits.MAX_RATE_BPS).schema())
            .field(WEIGHT, View.number(LambdaSession.MIN_WEIGHT, LambdaSession.MAX_WEIGHT).schema()).field(BYTES, View.integer(1, Demand.MAX_BYTES).schema())
            .field(DEADLINE, View.integer(1, Demand.MAX_DEADLINE_MS).described("Requires bytes.").schema())
            .field(LEASE, View.integer(Demand.MIN_LEASE_MS, Demand.MAX_LEASE_MS)
                    .described("Lifetime after the last request, ms; a session with a lease is not stored.").schema())
            .optional(WANTED).optional(WEIGHT).optional(BYTES).optional(DEADLINE).optional(LEASE)).put("description", "What a session asks for");

    private LambdaCodec() {
    }

    /** Reads a network; {@code where} is its place in a larger document, or empty. */
    public static LambdaWeb decode(String where, JsonNode value) throws InvalidJsonException {
        try {
            JsonFields fields = JsonFields.of(where, value, NAME, NODES, LAMBDAS, SLOTS, SESSIONS);
            Optional<SlotRates> slots = slotRates(fields);
            List<LambdaNode> nodes = fields.list(NODES, (place, each) -> node(place, each, slots));
            List<Lambda> lambdas = new ArrayList<>();
            for (JsonNode each : fields.optional(LAMBDAS).isPresent() ? fields.array(LAMBDAS) : List.<JsonNode>of()) {
                JsonFields one = JsonFields.of(fields.place("lambdas[" + lambdas.size() + "]"), each, FROM, TO, RATE, DELAY);
                lambdas.add(new Lambda(one.name(FROM), one.name(TO), rate(one, RATE), one.optional(DELAY).isEmpty() ? Limits.MIN_DELAY_NS
                        : one.integer(DELAY, Limits.MIN_DELAY_NS, Limits.MAX_DELAY_NS)));
            }
            return new LambdaWeb(fields.name(NAME), nodes, lambdas, slots);
        } catch (InvalidNetworkException e) {
            throw InvalidJsonException.within(where, e);
        }
    }

    /** Reads the sessions that are there from the beginning. */
    public static List<Demand> sessions(String where, JsonNode value, LambdaWeb web) throws InvalidJsonException {
        JsonFields fields = JsonFields.open(where, value);
        List<Demand> sessions = new ArrayList<>();
        for (JsonNode each : fields.optional(SESSIONS).isPresent() ? fields.array(SESSIONS) : List.<JsonNode>of()) {
            sessions.add(demand(fields.place(SESSIONS + "[" + sessions.size() + "]"), web, each));
        }
        try {
            new LambdaApp(web, sessions);
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(fields.place(SESSIONS), e.getMessage());
        }
        return sessions;
    }

    private static Optional<SlotRates> slotRates(JsonFields web) throws InvalidJsonException {
        Optional<JsonNode> value = web.optional(SLOTS);
        if (value.isEmpty()) {
            return Optional.empty();
        }
        JsonFields fields = JsonFields.of(web.place(SLOTS), value.get(), "a_frame", "slot_bps");
        return Optional.of(new SlotRates((int) fields.integer("a_frame", 1, SlotRates.MAX_SLOTS),
                fields.integer("slot_bps", 1, Limits.MAX_RATE_BPS)));
    }

    private static LambdaNode node(String where, JsonNode value, Optional<SlotRates> slots) throws InvalidJsonException {
        if (slots.isPresent()) {
            JsonFields fields = JsonFields.of(where, value, NAME);
            return new LambdaNode(fields.name(NAME), Optional.empty(), slots.get().nodeBps(), slots.get().nodeBps());
        }
        JsonFields fields = JsonFields.of(where, value, NAME, SITE, RATE, UP, DOWN);
        boolean same = fields.optional(RATE).isPresent();
        for (String way : List.of(UP, DOWN)) {
            if (same && fields.optional(way).isPresent()) {
                throw new InvalidJsonException(fields.place(way), "not allowed with 'rate_bps', the rate of both directions");
            }
        }
        return new LambdaNode(fields.name(NAME), fields.optional(SITE).isPresent() ? Optional.of(fields.name(SITE)) : Optional.empty(),
                rate(fields, same ? RATE : UP), rate(fields, same ? RATE : DOWN));
    }

    private static long rate(JsonFields fields, String name) throws InvalidJsonException {
        return fields.integer(name, Limits.MIN_RATE_BPS, Limits.MAX_RATE_BPS);
    }

    // ---- sessions ----

    /** Returns the fields of a session that is there until it leaves; a lease is only shown. */
    static Shape<Demand> shape(LambdaWeb web) {
        return Shape.of(fields -> demand("", web, fields), (demand, node) -> write(web, demand, node),
                SESSION, SOURCE, SINK, WANTED, WEIGHT, BYTES, DEADLINE);
    }

    /** Reads what a session wants that is there until it leaves; {@code where} is its place in a larger document, or empty. */
    static Demand demand(String where, LambdaWeb web, JsonNode value) throws InvalidJsonException {
        return demand(where, web, JsonFields.of(where, value, SESSION, SOURCE, SINK, WANTED, WEIGHT, BYTES, DEADLINE));
    }

    /** Reads what the session of a name wants, which somebody asks for now; the name is not in the value. */
    static Demand asked(LambdaWeb web, String session, JsonNode value) throws InvalidJsonException {
        JsonFields.of("", value, SOURCE, SINK, WANTED, WEIGHT, BYTES, DEADLINE, LEASE);
        JsonFields fields = JsonFields.open("", ((ObjectNode) value).deepCopy().put(SESSION, session));
        Demand demand = demand("", web, fields);
        return fields.optional(LEASE).isPresent() ? demand.leased(fields.integer(LEASE, Demand.MIN_LEASE_MS, Demand.MAX_LEASE_MS)) : demand;
    }

    private static Demand demand(String where, LambdaWeb web, JsonFields fields) throws InvalidJsonException {
        OptionalLong bytes = fields.optionalInteger(BYTES, 1, Demand.MAX_BYTES);
        OptionalLong deadlineMs = fields.optionalInteger(DEADLINE, 1, Demand.MAX_DEADLINE_MS);
        OptionalLong wantedBps = fields.optionalInteger(WANTED, 1, Limits.MAX_RATE_BPS);
        int source = node(web, fields, SOURCE);
        int sink = node(web, fields, SINK);
        double weight = fields.optional(WEIGHT).isPresent()
                ? fields.number(WEIGHT, LambdaSession.MIN_WEIGHT, LambdaSession.MAX_WEIGHT) : 1;
        try {
            return new Demand(fields.text(SESSION), source, sink, wantedBps, weight, bytes, deadlineMs);
        } catch (IllegalArgumentException e) {
            throw new InvalidJsonException(where, e.getMessage());
        }
    }

    private static int node(LambdaWeb web, JsonFields fields, String name) throws InvalidJsonException {
        String node = fields.text(name);
        return web.number(node).orElseThrow(() -> new InvalidJsonException(fields.place(name), "unknown node '" + node + "'"));
    }

    /** Writes what a session wants. */
    private static ObjectNode write(LambdaWeb web, Demand demand, ObjectNode node) {
        node.put(SESSION, demand.session())
                .put(SOURCE, web.nodes().get(demand.source()).name()).put(SINK, web.nodes().get(demand.sink()).name());
        demand.wantedBps().ifPresent(wanted -> node.put(WANTED, wanted));
        node.put(WEIGHT, demand.weight());
        demand.bytes().ifPresent(bytes -> node.put(BYTES, bytes));
        demand.deadlineMs().ifPresent(deadline -> node.put(DEADLINE, deadline));
        demand.leaseMs().ifPresent(lease -> node.put(LEASE, lease));
        return node;
    }

    /** Writes that a session has left. */
    static ObjectNode left(String session) {
        return JsonNodeFactory.instance.objectNode().put(SESSION, session).put(LEAVE, true);
    }

    /** Where a session stands; empty if it is not there. */
    static Optional<Integer> place(Grants grants, String session) {
        return IntStream.range(0, grants.demands().size()).filter(each -> grants.demands().get(each).session().equals(session)).boxed().findFirst();
    }
}
