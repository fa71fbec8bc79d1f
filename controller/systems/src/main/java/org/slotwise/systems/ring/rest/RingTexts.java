// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.ring.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.slotwise.systems.ring.app.RingView;

/** Resources of a packet ring as text for a terminal. */
final class RingTexts {
    private RingTexts() {
    }

    /** Writes the ring as a whole. */
    static List<String> status(RingView view) {
        JsonNode status = RingViews.STATUS.write(view);
        return List.of(String.format("ring %s: mode=%s, stations=%d of %d, reroutes=%d, reports=%d, messages=%d", status.get("name").textValue(),
                status.get("mode").textValue(), status.get("stations_ready").intValue(), status.get("stations").intValue(),
                status.get("reroutes").longValue(), status.get("reports").longValue(), status.get("messages").longValue()));
    }

    /** Writes a line per station. */
    static List<String> stations(RingView view) {
        List<String> lines = new ArrayList<>();
        RingViews.STATIONS.write(view).get("stations").forEach(station -> lines.add(String.format(
                "station %d, %s, device %d: %s, weight=%d, ports down=%s",
                station.get("station").intValue(), station.get("name").textValue(), station.get("device_id").longValue(),
                station.get("settled").booleanValue() ? "in sync" : station.get("ready").booleanValue() ? "connected" : "disconnected",
                station.get("weight").intValue(), station.get("dark_ports"))));
        return lines;
    }

    /** Writes a line per congested link. */
    static List<String> spans(RingView view) {
        List<String> lines = new ArrayList<>();
        RingViews.SPANS.write(view).get("spans").forEach(span -> lines.add(String.format(
                "ringlet %d, head %d: %s, advertised=%s bit/s, link=%d bit/s, reach=%d",
                span.get("ringlet").intValue(), span.get("head").intValue(), span.get("phase").textValue(),
                span.has("advertised_bps") ? span.get("advertised_bps").asText() : "any", span.get("link_bps").longValue(),
                span.get("reach").intValue())));
        return lines;
    }
}
