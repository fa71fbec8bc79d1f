// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.util.Set;
import javax.ws.rs.DefaultValue;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.QueryParam;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;
import javax.ws.rs.core.UriInfo;
import org.slotwise.rest.ControllerService;
import org.slotwise.rest.ProblemException;

/**
 * The live page, the one that the engine has: its files, and its stream, which it asks for again and again. What it changes goes through
 * the other resources. Who may see it is the host's to check.
 */
@Path(PageResource.BELOW)
public final class PageResource {
    /** What all its addresses begin with, counted from the base of the resources. */
    static final String BELOW = "slotwise/page";
    /** Where the page is. */
    public static final String PATH = "/" + BELOW + "/";
    /** What it refers to, which has nothing of the controller in it. */
    public static final Set<String> ASSETS = Set.of(PATH + "assets/page.js", PATH + "assets/page.css");

    private final PageFiles files = new PageFiles();
    private final PageStream stream;

    private PageResource(ControllerService service) {
        this.stream = new PageStream(service, System::currentTimeMillis);
    }

    /** The page of the controller that is shown, and its headers. */
    public static Set<Object> singletons(ControllerService service, PageHeaders.Frames frames) {
        return Set.of(new PageResource(service), new PageHeaders(frames));
    }

    /** The page. Its files are found beside it, so its address ends with a slash. */
    @GET
    public Response index(@Context UriInfo asked) {
        if (!asked.getRequestUri().getPath().endsWith("/")) {
            return Response.temporaryRedirect(asked.getRequestUriBuilder().path("/").build()).build();
        }
        return Response.ok(files.index(), "text/html; charset=utf-8").build();
    }

    /** Its program and style. */
    @GET
    @Path("assets/{name}")
    public Response asset(@PathParam("name") String name) {
        byte[] file = files.asset(name).orElseThrow(() -> new ProblemException(404, "unknown file of the page"));
        return Response.ok(file, PageFiles.type(name)).build();
    }

    /** Its stream, from a cursor on. */
    @GET
    @Path("stream")
    public Response stream(@QueryParam("after") @DefaultValue("") String cursor) {
        if (!cursor.isEmpty() && !PageStream.isCursor(cursor)) {
            throw new ProblemException(400, "invalid 'after'; expected the 'next' of a response, or none");
        }
        return Response.ok(stream.since(cursor), MediaType.APPLICATION_JSON).build();
    }
}
