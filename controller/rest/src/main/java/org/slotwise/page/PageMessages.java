// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slotwise.rest.system.AppPage;

/** The messages of {@code schema/stream.schema.json}, made of what applications say. Pure. */
final class PageMessages {
    /** Of the form of messages. */
    private static final int VERSION = 1;
    /** Things of a table; a page has no room for more. */
    static final int MOST_THINGS = 4096;
    /** News of one update, and one more that says how many there are besides. */
    static final int MOST_NEWS = 64;

    private PageMessages() {
    }

    /** What network it is. */
    static ObjectNode hello(List<AppPage> pages) {
        ObjectNode hello = object().put("message", "hello").put("version", VERSION).put("command", "controller").put("is_finished", false);
        hello.putArray("phases");
        ObjectNode network = hello.putObject("network");
        ArrayNode kinds = network.putArray("kinds");
        pages.forEach(page -> kinds.add(page.kind()));
        network.put("edges", 0).put("cores", 0).putArray("slot_bytes");
        pages.forEach(page -> page.shape().ifPresent(shape -> shape.write(hello, network)));
        hello.putObject("controls").put("rest", true).putArray("fibres");
        return hello;
    }

    /** What is known now; {@code before} is what was said of things in the update before. */
    static ObjectNode update(List<AppPage> pages, long nowNs, Map<String, AppPage.Said> before) {
        ObjectNode update = object().put("message", "update").put("now_ns", nowNs).put("phase", 0);
        pages.forEach(page -> page.star().ifPresent(star -> update.set("star", star)));
        Map<String, Map<String, Map<String, Number>>> tables = new LinkedHashMap<>();
        pages.forEach(page -> page.tables().forEach((name, rows) -> tables.computeIfAbsent(name, any -> new LinkedHashMap<>()).putAll(rows)));
        if (!tables.isEmpty()) {
            ArrayNode all = update.putArray("tables");
            tables.forEach((name, rows) -> all.add(table(name, rows)));
        }
        ArrayNode news = news(said(pages), nowNs, before);
        if (!news.isEmpty()) {
            update.set("news", news);
        }
        return update;
    }

    /** What all of them say of things. */
    static Map<String, AppPage.Said> said(List<AppPage> pages) {
        Map<String, AppPage.Said> said = new LinkedHashMap<>();
        pages.forEach(page -> said.putAll(page.said()));
        return said;
    }

    private static ObjectNode table(String name, Map<String, Map<String, Number>> rows) {
        ObjectNode table = object().put("table", name);
        ArrayNode names = table.putArray("names");
        rows.keySet().stream().limit(MOST_THINGS).forEach(names::add);
        Set<String> columns = new LinkedHashSet<>();
        rows.values().forEach(row -> columns.addAll(row.keySet()));
        ObjectNode numbers = table.putObject("columns");
        for (String column : columns) {
            ArrayNode list = numbers.putArray(column);
            rows.values().stream().limit(MOST_THINGS).forEach(row -> add(list, row.getOrDefault(column, 0)));
        }
        return table;
    }

    private static void add(ArrayNode list, Number number) {
        if (number instanceof Double) {
            list.add(number.doubleValue());
        } else {
            list.add(number.longValue());
        }
    }

    private static ArrayNode news(Map<String, AppPage.Said> said, long nowNs, Map<String, AppPage.Said> before) {
        ArrayNode news = JsonNodeFactory.instance.arrayNode();
        int[] more = {0};
        said.forEach((thing, now) -> {
            String kind = kind(now, before.get(thing));
            if (kind == null) {
                return;
            }
            if (news.size() < MOST_NEWS) {
                news.addObject().put("at_ns", nowNs).put("kind", kind).put("text", now.text());
            } else {
                more[0]++;
            }
        });
        if (more[0] > 0) {
            news.addObject().put("at_ns", nowNs).put("kind", "alarm").put("text", "and " + more[0] + " more events");
        }
        return news;
    }

    /** The kind of news that it is; null if it is none. */
    private static String kind(AppPage.Said now, AppPage.Said before) {
        switch (now.condition()) {
            case ALARM:
                return now.equals(before) ? null : "alarm";
            case WELL:
                return before != null && before.condition() == AppPage.Condition.ALARM ? "recovery" : null;
            default:
                return before == null || now.equals(before) ? null : "change";
        }
    }

    /** Messages as a reader gets them, who asks with {@code next} the next time. */
    static String batch(String next, Collection<String> messages) {
        return "{\"next\":\"" + next + "\",\"messages\":[" + String.join(",", messages) + "]}";
    }

    private static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }
}
