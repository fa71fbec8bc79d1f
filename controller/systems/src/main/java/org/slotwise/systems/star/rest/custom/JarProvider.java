// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.rest.custom;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slotwise.systems.star.schedule.Scheduler;
import org.slotwise.systems.star.schedule.SchedulerProvider;
import org.slotwise.systems.star.schedule.SchedulerSettings;
import org.slotwise.systems.star.schedule.Schedulers;
import org.slotwise.systems.star.schedule.Setting;

/**
 * A scheduler that is a class of a jar. Its code runs on a thread of its own, which is waited for with a limit: a class that never
 * returns costs its schedules and that thread, and not the controller.
 */
final class JarProvider implements SchedulerProvider {
    private static final Duration LOAD_LIMIT = Duration.ofSeconds(20);
    private static final long IDLE_S = 10;

    private final SchedulerProvider provider;
    private final Duration limit;
    private final String name;
    private final String description;
    private final List<Setting> settings;
    private final boolean runsElsewhere;

    /** Takes a scheduler, and how long it is waited for. */
    JarProvider(SchedulerProvider provider, Duration limit) {
        this.provider = provider;
        this.limit = limit;
        this.name = provider.name();
        this.description = provider.description();
        this.settings = provider.settings();
        this.runsElsewhere = provider.runsElsewhere();
    }

    /**
     * Loads all schedulers of a jar; throws what their code throws, or {@link Scheduler.FailedException} if it does not return.
     *
     * @param limit longest wait for a schedule
     */
    static List<JarProvider> load(ClassLoader jar, Duration limit) {
        return new Calls("scheduler class", LOAD_LIMIT).await(() -> {
            List<JarProvider> found = new ArrayList<>();
            Schedulers.found(jar).forEach(provider -> found.add(new JarProvider(provider, limit)));
            return found;
        });
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public List<Setting> settings() {
        return settings;
    }

    @Override
    public boolean runsElsewhere() {
        return runsElsewhere;
    }

    @Override
    public Scheduler create(SchedulerSettings given) {
        Calls calls = new Calls("scheduler class", limit);
        Scheduler scheduler = calls.await(() -> provider.create(given));
        return scheduler == null ? null : (demand, current) -> calls.await(() -> scheduler.schedule(demand, current));
    }

    /** Calls of somebody's code, one at a time. */
    private static final class Calls {
        private final String what;
        private final Duration limit;
        private final ThreadPoolExecutor thread;
        private Future<?> last;

        Calls(String what, Duration limit) {
            this.what = what;
            this.limit = limit;
            this.thread = new ThreadPoolExecutor(1, 1, IDLE_S, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                Thread made = new Thread(task, "scheduler of a jar");
                made.setDaemon(true);
                return made;
            });
            thread.allowCoreThreadTimeOut(true);
        }

        <T> T await(Callable<T> call) {
            if (last != null && !last.isDone()) {
                throw new Scheduler.FailedException(what + ": still busy with an earlier call");
            }
            Future<T> answer = thread.submit(call);
            last = answer;
            try {
                return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            } catch (ExecutionException e) {
                throw rethrown(e.getCause());
            } catch (TimeoutException e) {
                throw new Scheduler.FailedException(what + ": no return within " + limit.toMillis() + " ms");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new Scheduler.FailedException(what + ": interrupted");
            }
        }

        /** The code declares no checked exceptions, and may throw them all the same. */
        private static RuntimeException rethrown(Throwable thrown) {
            if (thrown instanceof Error) {
                throw (Error) thrown;
            }
            return thrown instanceof RuntimeException ? (RuntimeException) thrown : new IllegalStateException(thrown);
        }
    }
}
