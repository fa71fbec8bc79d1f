// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slotwise.rest.system.AppPage;
import org.slotwise.rest.system.AppPage.Condition;
import org.slotwise.systems.star.app.Snapshot;
import org.slotwise.systems.star.membership.Member;
import org.slotwise.systems.star.membership.MemberState;
import org.slotwise.systems.star.model.Core;
import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.FramePlan;
import org.slotwise.systems.star.model.Network;

/** What stars say on the live page. */
final class StarPage {
    private StarPage() {
    }

    static AppPage of(Snapshot snapshot) {
        Network network = snapshot.network();
        AppPage page = new AppPage("star").star(shape(network), pairs(snapshot));
        page.says("scheduler", Condition.CHOSEN, scheduler(snapshot));
        for (Core core : network.cores()) {
            page.switchIs("core " + core.id(), snapshot.readyDevices().contains(core.device()));
        }
        for (Edge edge : network.edges()) {
            page.switchIs("edge " + edge.id(), snapshot.readyDevices().contains(edge.device()));
        }
        for (Snapshot star : snapshot.states()) {
            String core = "core " + star.network().core().id();
            page.says("master of " + core, Condition.CHOSEN, "the master of " + core + (star.isShutDown() ? " is disabled" : " is enabled"));
            star.members().forEach(member -> member(page, core, member));
        }
        return page;
    }

    private static AppPage.Shape shape(Network network) {
        FramePlan frame = network.frame();
        return new AppPage.Shape(network.cores().size(), network.edges().stream().map(network::slotBytes).collect(Collectors.toList()),
                JsonNodeFactory.instance.objectNode().put("slots", frame.slots()).put("signaling_slots", network.firstDataSlot())
                        .put("slot_ns", frame.slotNs()).put("guard_ns", frame.guardNs()));
    }

    /** Of the frame in force; granted is what is in force. */
    private static ObjectNode pairs(Snapshot snapshot) {
        ObjectNode star = JsonNodeFactory.instance.objectNode().put("frames", 1);
        ArrayNode pairs = star.putArray("pairs");
        ArrayNode demand = star.putArray("demand_bytes");
        ArrayNode inForce = star.putArray("in_force_slots");
        int[][] granted = snapshot.grantedSlots();
        for (int i = 0; i < granted.length; i++) {
            for (int j = 0; j < granted.length; j++) {
                if (granted[i][j] > 0 || snapshot.backlogBytes(i, j) > 0) {
                    pairs.add(i * granted.length + j);
                    demand.add(snapshot.backlogBytes(i, j));
                    inForce.add(granted[i][j]);
                }
            }
        }
        star.set("granted_slots", inForce.deepCopy());
        return star;
    }

    private static String scheduler(Snapshot snapshot) {
        StringBuilder text = new StringBuilder(snapshot.scheduler().title());
        for (Map.Entry<String, String> setting : new TreeMap<>(snapshot.schedulerSettings()).entrySet()) {
            text.append(", ").append(setting.getKey()).append(' ').append(setting.getValue());
        }
        return text.toString();
    }

    private static void member(AppPage page, String core, Member member) {
        boolean isWell = member.state() == MemberState.JOINED && member.faultsSinceNs().isEmpty();
        String faults = member.faultsSinceNs().keySet().stream().map(fault -> ", " + text(fault)).collect(Collectors.joining());
        page.says("member " + member.edge() + " of " + core, isWell ? Condition.WELL : Condition.ALARM,
                "edge " + member.edge() + " at " + core + ": " + text(member.state()) + faults);
    }

    private static String text(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
