// SPDX-License-Identifier: Apache-2.0
package org.slotwise.control.tables;

import java.util.Objects;

/** One change of one table entry. */
public final class Update {
    /** What is done with the entry. */
    public enum Type {
        /** The key is new. */
        INSERT,
        /** The key exists; action and parameters change. */
        MODIFY,
        /** The key goes. */
        DELETE
    }

    private final Type type;
    private final TableEntry entry;

    /** Takes the change and the entry. */
    public Update(Type type, TableEntry entry) {
        this.type = Objects.requireNonNull(type);
        this.entry = Objects.requireNonNull(entry);
    }

    /** What is done. */
    public Type type() {
        return type;
    }

    /** The entry. */
    public TableEntry entry() {
        return entry;
    }

    @Override
    public boolean equals(Object o) {
        return o instanceof Update && ((Update) o).type == type && ((Update) o).entry.equals(entry);
    }

    @Override
    public int hashCode() {
        return Objects.hash(type, entry);
    }

    @Override
    public String toString() {
        return type + " " + entry;
    }
}
