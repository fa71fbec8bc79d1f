// SPDX-License-Identifier: Apache-2.0
package org.slotwise.rest;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.Response;
import org.slotwise.rest.system.SystemResources.Condition;

/**
 * Preconditions of a request (RFC 9110, section 13), which prevent lost updates between callers. Jersey's evaluation is not used: it
 * treats an empty header as absent, ignores text after a tag, and compares weak tags of {@code If-None-Match} strongly.
 */
final class Preconditions implements Condition {
    private static final Pattern ELEMENT = Pattern.compile("[ \t]*((?:W/)?\"[!#-~\\x80-\\xff]*\")?[ \t]*(?:,|$)");
    private static final String ANY = "*";
    private static final String WEAK = "W/";

    private final Optional<Set<String>> match;
    private final Optional<Set<String>> noneMatch;

    private Preconditions(HttpHeaders headers) {
        this.match = tags(headers, HttpHeaders.IF_MATCH);
        this.noneMatch = tags(headers, HttpHeaders.IF_NONE_MATCH);
    }

    /** Returns the condition of a request that changes something; throws {@link ProblemException} 400 for malformed tags. */
    static Condition of(HttpHeaders headers) {
        Preconditions all = new Preconditions(headers);
        return all.match.isEmpty() && all.noneMatch.isEmpty() ? NONE : all;
    }

    /** Answers a reader with a value and its entity tag, or with the tag alone if the reader has the value. */
    static Response answer(HttpHeaders headers, JsonNode value) {
        Preconditions all = new Preconditions(headers);
        byte[] text = text(value);
        String tag = tag(text);
        if (!all.isMatch(Optional.of(tag))) {
            throw failed("another entity tag");
        }
        Response.ResponseBuilder answer = all.isNoneMatch(Optional.of(tag)) ? Response.ok(value)
                : Response.notModified().header(HttpHeaders.CONTENT_LENGTH, text.length);
        return answer.header(HttpHeaders.ETAG, tag).build();
    }

    @Override
    public void check(Optional<JsonNode> now) {
        Optional<String> tag = now.map(value -> tag(text(value)));
        if (!isMatch(tag) || !isNoneMatch(tag)) {
            throw failed(now.isPresent() ? "another entity tag" : "nothing at this place");
        }
    }

    private static ProblemException failed(String found) {
        return new ProblemException(412, "precondition failed: " + found + "; expected If-Match with the ETag of a GET, or If-None-Match: * for a new resource");
    }

    private boolean isMatch(Optional<String> tag) {
        return match.isEmpty() || tag.isPresent() && (match.get().contains(ANY) || match.get().contains(tag.get()));
    }

    private boolean isNoneMatch(Optional<String> tag) {
        return noneMatch.isEmpty() || tag.isEmpty()
                || !noneMatch.get().contains(ANY) && !noneMatch.get().contains(tag.get()) && !noneMatch.get().contains(WEAK + tag.get());
    }

    /** Returns the entity tags of a header verbatim, or {@code *}; empty without the header. */
    private static Optional<Set<String>> tags(HttpHeaders headers, String name) {
        String list = headers.getHeaderString(name);
        if (list == null) {
            return Optional.empty();
        }
        if (list.strip().equals(ANY)) {
            return Optional.of(Set.of(ANY));
        }
        Set<String> tags = new HashSet<>();
        Matcher element = ELEMENT.matcher(list);
        for (int begin = 0; begin < list.length(); begin = element.end()) {
            if (!element.region(begin, list.length()).lookingAt()) {
                throw malformed(name, list);
            }
            Optional.ofNullable(element.group(1)).ifPresent(tags::add);
        }
        if (tags.isEmpty()) {
            throw malformed(name, list);
        }
        return Optional.of(tags);
    }

    private static ProblemException malformed(String name, String list) {
        return new ProblemException(400, "header " + name + " is malformed; expected * or entity tags such as \"a1\", got '" + list + "'");
    }

    /** Returns a strong entity tag, which differs after any change of the JSON text. */
    private static String tag(byte[] text) {
        return '"' + UUID.nameUUIDFromBytes(text).toString() + '"';
    }

    private static byte[] text(JsonNode value) {
        return value.toString().getBytes(StandardCharsets.UTF_8);
    }
}
