// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.ws.rs.Produces;
import javax.ws.rs.container.ContainerRequestContext;
import javax.ws.rs.container.ContainerRequestFilter;
import javax.ws.rs.container.ResourceInfo;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.ext.Provider;

/** Refuses requests whose Accept gives quality 0 to all that a resource has (RFC 9110, 12.4.2): Jersey takes that for acceptable. */
@Provider
public final class RefusedTypes implements ContainerRequestFilter {
    private static final String QUALITY = "q";

    @Context
    private ResourceInfo resource;

    @Override
    public void filter(ContainerRequestContext request) {
        List<MediaType> ranges = request.getAcceptableMediaTypes();
        List<MediaType> produced = produced();
        if (!produced.isEmpty() && produced.stream().allMatch(type -> isRefused(type, ranges))) {
            String types = produced.stream().map(MediaType::toString).collect(Collectors.joining(", "));
            throw new ProblemException(406, "unsupported Accept; expected " + types);
        }
    }

    private List<MediaType> produced() {
        Method method = resource.getResourceMethod();
        if (method == null) {
            return List.of();
        }
        Produces declared = method.getAnnotation(Produces.class);
        for (Class<?> type = resource.getResourceClass(); declared == null && type != null; type = type.getSuperclass()) {
            declared = type.getAnnotation(Produces.class);
        }
        return declared == null ? List.of()
                : Stream.of(declared.value()).map(MediaType::valueOf).collect(Collectors.toList());
    }

    /** Looks at the most specific ranges of a type: the others do not count beside them. */
    static boolean isRefused(MediaType type, List<MediaType> ranges) {
        int best = ranges.stream().filter(type::isCompatible).mapToInt(RefusedTypes::specificity).max().orElse(-1);
        return best >= 0 && ranges.stream().filter(type::isCompatible)
                .filter(range -> specificity(range) == best).allMatch(RefusedTypes::hasQualityZero);
    }

    private static int specificity(MediaType range) {
        return range.isWildcardType() ? 0 : range.isWildcardSubtype() ? 1 : 2;
    }

    private static boolean hasQualityZero(MediaType range) {
        return Double.parseDouble(range.getParameters().getOrDefault(QUALITY, "1")) == 0;
    }
}
