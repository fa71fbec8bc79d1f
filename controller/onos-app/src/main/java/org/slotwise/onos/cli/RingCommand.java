// SPDX-License-Identifier: Apache-2.0
package org.slotwise.onos.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.karaf.shell.api.action.Argument;
import org.apache.karaf.shell.api.action.Command;
import org.apache.karaf.shell.api.action.lifecycle.Service;
import org.onosproject.cli.AbstractShellCommand;
import org.slotwise.apps.AppResources;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.json.InvalidJsonException;
import org.slotwise.systems.ring.app.FairnessApp;

/** The packet ring: a line a station and a line a congested link, or a resource of its application as REST has it, to read or to change. */
@Service
@Command(scope = "onos", name = "slotwise-ring", description = "Show the packet ring, or show or change a resource of it")
public final class RingCommand extends AbstractShellCommand {
    @Argument(index = 0, name = "resource", description = "Resource; 'slotwise-app ring' lists them")
    String resource;

    @Argument(index = 1, name = "json", description = "New value, JSON as in REST")
    String json;

    @Override
    protected void doExecute() {
        AppResources ring = get(ControllerService.class).apps().stream().filter(app -> app.id().equals(FairnessApp.ID)).findFirst().orElse(null);
        if (ring == null) {
            error("%s", "no packet ring in this network");
        } else if (resource == null && !outputJson()) {
            lines(ring.reads().get("status").get(), ring.reads().get("stations").get(), ring.reads().get("spans").get())
                    .forEach(line -> print("%s", line));
        } else {
            String name = resource == null ? "status" : resource;
            try {
                print("%s", json == null ? AppCommand.read(ring, name) : AppCommand.change(ring, name, json));
            } catch (InvalidJsonException e) {
                error("%s", e.getMessage());
            }
        }
    }

    static List<String> lines(JsonNode status, JsonNode stations, JsonNode spans) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format("ring %s: mode=%s, stations=%d of %d, reroutes=%d, reports=%d, messages=%d", status.get("name").textValue(),
                status.get("mode").textValue(), status.get("stations_ready").intValue(), status.get("stations").intValue(),
                status.get("reroutes").longValue(), status.get("reports").longValue(), status.get("messages").longValue()));
        stations.get("stations").forEach(station -> lines.add(String.format("station %d, %s, device %d: %s, weight=%d, ports down=%s",
                station.get("station").intValue(), station.get("name").textValue(), station.get("device_id").longValue(),
                station.get("settled").booleanValue() ? "in sync" : station.get("ready").booleanValue() ? "connected" : "disconnected",
                station.get("weight").intValue(), station.get("dark_ports"))));
        spans.get("spans").forEach(span -> lines.add(String.format("ringlet %d, head %d: %s, advertised=%s bit/s, link=%d bit/s, reach=%d",
                span.get("ringlet").intValue(), span.get("head").intValue(), span.get("phase").textValue(),
                span.has("advertised_bps") ? span.get("advertised_bps").asText() : "any", span.get("link_bps").longValue(),
                span.get("reach").intValue())));
        return lines;
    }
}
