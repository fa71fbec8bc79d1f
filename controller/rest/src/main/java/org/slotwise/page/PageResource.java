// SPDX-License-Identifier: Apache-2.0
package org.slotwise.page;

import java.util.Set;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.core.Context;
import javax.ws.rs.core.Response;
import javax.ws.rs.core.UriInfo;
import org.slotwise.rest.ProblemException;

/** Files of the live page, the one that the engine has. It reads and changes the other resources. Access is checked by the host. */
@Path(PageResource.BELOW)
public final class PageResource {
    /** What all its addresses begin with, counted from the base of the resources. */
    static final String BELOW = "slotwise/page";
    /** Where the page is. */
    public static final String PATH = "/" + BELOW + "/";
    /** What it refers to, which has nothing of the controller in it. */
    public static final Set<String> ASSETS = Set.of(PATH + "assets/page.js", PATH + "assets/page.css");

    private final PageFiles files = new PageFiles();

    private PageResource() {
    }

    /** The page, and its headers. */
    public static Set<Object> singletons(PageHeaders.Frames frames) {
        return Set.of(new PageResource(), new PageHeaders(frames));
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
}
