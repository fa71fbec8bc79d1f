// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.lambda.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slotwise.rest.json.View;
import org.slotwise.systems.lambda.app.Demand;
import org.slotwise.systems.lambda.app.Grants;
import org.slotwise.systems.lambda.app.LambdaView;
import org.slotwise.systems.lambda.model.LambdaSession;
import org.slotwise.wire.Limits;

/** Views of a lambda network. */
final class LambdaViews {
    /** Name of a session. */
    static final View<String> NAME = View.pattern("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$").named("SessionName");
    /** The network as a whole. */
    static final View.Fields<LambdaView> STATUS = View.<LambdaView>object("Status of the lambda network")
            .field("name", View.TEXT, view -> view.web().name())
            .field("nodes", View.COUNT, view -> view.web().nodes().size())
            .field("lambdas", View.COUNT, view -> view.web().lambdas().size())
            .field("sessions", View.COUNT, view -> view.grants().demands().size())
            .field("granted_bps", View.COUNT.described("Sum of the granted rates, bit/s."), view -> Math.round(view.grants().sumBps()))
            .field("max_min", View.FLAG.described("If true, the granted rates are max-min fair."), view -> view.grants().refuted().isEmpty());
    /** Demand and grant of a session. */
    static final View<Session> SESSION = View.<Session>object("Session and its granted rate")
            .field("session", NAME, at -> at.demand().session())
            .field("source", View.TEXT, at -> at.view.web().nodes().get(at.demand().source()).name())
            .field("sink", View.TEXT, at -> at.view.web().nodes().get(at.demand().sink()).name())
            .optionalNumber("wanted_bps", View.integer(1, Limits.MAX_RATE_BPS).described("Source limit, bit/s."), at -> at.demand().wantedBps())
            .field("weight", View.number(LambdaSession.MIN_WEIGHT, LambdaSession.MAX_WEIGHT), at -> at.demand().weight())
            .optionalNumber("bytes", View.integer(1), at -> at.demand().bytes())
            .optionalNumber("deadline_ms", View.integer(1).described("Time for `bytes`, ms."), at -> at.demand().deadlineMs())
            .optionalNumber("lease_ms", View.integer(Demand.MIN_LEASE_MS, Demand.MAX_LEASE_MS), at -> at.demand().leaseMs())
            .field("granted_bps", View.COUNT, at -> (long) (at.view.grants().grantedBps(at.place) + Grants.TOLERANCE_BPS))
            .field("fair_bps", View.COUNT.described("Max-min fair rate; above `granted_bps` where slots are rounded down."),
                    at -> Math.round(at.view.grants().rateBps(at.place)))
            .field("limited_by", View.TEXT.orNull().described("Bottleneck link; null if the session gets its source limit."),
                    at -> at.view.grants().limitedBy(at.place));
    /** Sessions, and what they have. */
    static final View.Fields<LambdaView> SESSIONS = View.<LambdaView>object("Sessions and their granted rates")
            .field("sessions", View.list(SESSION.named("LambdaSessionsItem")), view -> IntStream.range(0, view.grants().demands().size())
                    .mapToObj(place -> new Session(view, place)).collect(Collectors.toList()));
    private static final View.Fields<Link> LINK = View.<Link>object()
            .field("name", View.TEXT, at -> at.view.web().linkNames().get(at.link))
            .field("rate_bps", View.COUNT, at -> at.view.web().capacities().get(at.link).longValue())
            .field("sessions", View.COUNT, at -> at.view.grants().sessionsOver(at.link))
            .field("load_bps", View.COUNT, at -> Math.round(at.view.grants().loadBps(at.link)));
    /** Links, and what crosses them. */
    static final View.Fields<LambdaView> LINKS = View.<LambdaView>object("Links, their sessions and load")
            .field("links", View.list(LINK), view -> IntStream.range(0, view.web().capacities().size())
                    .mapToObj(link -> new Link(view, link)).collect(Collectors.toList()));
    private static final View.Fields<Pair> PAIR = View.<Pair>object()
            .field("source", View.TEXT, pair -> pair.source)
            .field("sink", View.TEXT, pair -> pair.sink)
            .field("a_frame", View.COUNT, pair -> pair.slots);
    /** Slots of each frame that pairs of nodes have. */
    static final View.Fields<LambdaView> SLOTS = View.<LambdaView>object("Slots per frame of each node pair, where nodes are edges of a star")
            .field("slots", View.list(PAIR), LambdaViews::pairs);

    private LambdaViews() {
    }

    /** A session, by its place. */
    static final class Session {
        private final LambdaView view;
        private final int place;

        Session(LambdaView view, int place) {
            this.view = view;
            this.place = place;
        }

        private Demand demand() {
            return view.grants().demands().get(place);
        }

        /** Returns the session of a name; empty if it is not there. */
        static Optional<Session> of(LambdaView view, String name) {
            return LambdaCodec.place(view.grants(), name).map(place -> new Session(view, place));
        }
    }

    private static final class Link {
        private final LambdaView view;
        private final int link;

        Link(LambdaView view, int link) {
            this.view = view;
            this.link = link;
        }
    }

    private static final class Pair {
        private final String source;
        private final String sink;
        private final int slots;

        Pair(LambdaView view, int source, int sink, int slots) {
            this.source = view.web().nodes().get(source).name();
            this.sink = view.web().nodes().get(sink).name();
            this.slots = slots;
        }
    }

    private static List<Pair> pairs(LambdaView view) {
        List<Pair> pairs = new ArrayList<>();
        view.grants().slots().ifPresent(slots -> {
            for (int i = 0; i < slots.length; i++) {
                for (int j = 0; j < slots.length; j++) {
                    if (slots[i][j] > 0) {
                        pairs.add(new Pair(view, i, j, slots[i][j]));
                    }
                }
            }
        });
        return pairs;
    }
}
