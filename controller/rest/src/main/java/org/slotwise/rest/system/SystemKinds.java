// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest.system;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Kinds of systems that a controller knows, in their order, in which a packet is offered to them, too. */
public final class SystemKinds {
    private final Map<String, SystemKind<?>> all = new LinkedHashMap<>();

    /** Takes kinds with different names, in order; throws IllegalArgumentException if two have one name. */
    public SystemKinds(List<SystemKind<?>> all) {
        for (SystemKind<?> one : all) {
            if (this.all.put(one.id(), one) != null) {
                throw new IllegalArgumentException("duplicate application '" + one.id() + "'");
            }
        }
    }

    /** With one more. */
    public SystemKinds and(SystemKind<?> another) {
        List<SystemKind<?>> more = new ArrayList<>(all.values());
        more.add(another);
        return new SystemKinds(more);
    }

    /** Returns these kinds, one of them replaced by another of its name. */
    public SystemKinds with(SystemKind<?> replacement) {
        List<SystemKind<?>> others = new ArrayList<>();
        all.values().forEach(one -> others.add(one.id().equals(replacement.id()) ? replacement : one));
        return new SystemKinds(others);
    }

    /** By name, in order. */
    public Map<String, SystemKind<?>> all() {
        return all;
    }

    /** Names of all P4 programs that their switches run. */
    public List<String> programs() {
        return all.values().stream().flatMap(one -> one.programs().stream()).distinct().collect(Collectors.toList());
    }
}
