// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;

/** Table entry by names, as P4Info has them: key, action, parameters. Immutable. */
public final class TableEntry {
    private final String table;
    private final List<Match> matches;
    private final int priority;
    private final String action;
    private final Map<String, Long> params;
    private final String key;

    private TableEntry(Builder builder) {
        this.table = builder.table;
        this.matches = List.copyOf(builder.matches);
        this.priority = builder.priority;
        this.action = builder.action;
        this.params = Collections.unmodifiableMap(new TreeMap<>(builder.params));
        this.key = table + matches + (priority == 0 ? "" : "@" + priority);
    }

    /** Starts an entry of {@code table}. Without a key it is the table's default entry. */
    public static Builder in(String table) {
        return new Builder(table);
    }

    /** Collects the parts of an entry. */
    public static final class Builder {
        private final String table;
        private final List<Match> matches = new ArrayList<>();
        private final Map<String, Long> params = new TreeMap<>();
        private int priority;
        private String action;

        private Builder(String table) {
            this.table = Objects.requireNonNull(table);
        }

        /** Adds a key field. */
        public Builder match(Match match) {
            matches.add(match);
            return this;
        }

        /** Adds an exact key field. */
        public Builder exact(String field, long value) {
            return match(Match.exact(field, value));
        }

        /** Sets the priority; higher wins. Tables without ternary fields have none (0). */
        public Builder priority(int value) {
            priority = value;
            return this;
        }

        /** Sets the action. */
        public Builder action(String name) {
            action = name;
            return this;
        }

        /** Adds a parameter of the action, unsigned. */
        public Builder param(String name, long value) {
            params.put(name, value);
            return this;
        }

        /** The entry. */
        public TableEntry build() {
            matches.sort((a, b) -> a.field().compareTo(b.field()));
            Objects.requireNonNull(action, "action");
            return new TableEntry(this);
        }
    }

    /** Name of the table. */
    public String table() {
        return table;
    }

    /** Key fields, ordered by name. */
    public List<Match> matches() {
        return matches;
    }

    /** Value of a key field, if the entry has it. */
    public OptionalLong matchValue(String field) {
        return matches.stream().filter(match -> match.field().equals(field)).mapToLong(Match::value).findFirst();
    }

    /** Priority; 0 if the table has none. */
    public int priority() {
        return priority;
    }

    /** Name of the action. */
    public String action() {
        return action;
    }

    /** Parameters of the action, ordered by name. */
    public Map<String, Long> params() {
        return params;
    }

    /** Whether this is the table's default entry. */
    public boolean isDefault() {
        return matches.isEmpty();
    }

    /** Table, key fields and priority as text; two entries with one key cannot both be in a switch. */
    public String key() {
        return key;
    }

    @Override
    public boolean equals(Object o) {
        if (!(o instanceof TableEntry)) {
            return false;
        }
        TableEntry other = (TableEntry) o;
        return key.equals(other.key) && action.equals(other.action) && params.equals(other.params);
    }

    @Override
    public int hashCode() {
        return Objects.hash(key, action, params);
    }

    @Override
    public String toString() {
        return key + " -> " + action + params;
    }
}
