// SPDX-License-Identifier: Apache-2.0
// The page: header, views, timeline.

import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { seconds } from './format';
import { before, History } from './history';
import './style.css';
import { connect, type Connection, type Message } from './stream';
import { Control } from './views/control';
import { Lambda } from './views/lambda';
import { NewsView } from './views/news';
import { Overview } from './views/overview';
import { TableView } from './views/parts';
import type { ViewProps } from './views/shared';
import { Star } from './views/star';

type Theme = 'light' | 'dark';
const THEME_KEY = 'slotwise-theme';

/** At most so often is the page drawn. */
const DRAW_MS = 100;

interface View {
  id: string;
  name: string;
  isThere: (run: History) => boolean;
  draw: (props: ViewProps) => preact.VNode;
}

const has = (kind: string) => (run: History) => run.network.kinds.includes(kind);

const VIEWS: View[] = [
  { id: 'overview', name: 'Overview', isThere: () => true, draw: (props) => <Overview {...props} /> },
  { id: 'star', name: 'Slot table', isThere: has('star'), draw: (props) => <Star {...props} /> },
  {
    id: 'ring',
    name: 'Ring',
    isThere: has('ring'),
    draw: (props) => (
      <TableView
        {...props}
        table="links"
        thing="station"
        plots={[
          ['added_bps', 'Add rate'],
          ['limit_bps', 'Add rate limit'],
          ['utilization', 'Link utilization'],
          ['congested_bps', 'Throughput of congested links'],
          ['active_stations', 'Stations of the congestion domain'],
        ]}
      />
    ),
  },
  {
    id: 'ops',
    name: 'Wavelengths',
    isThere: has('ops'),
    draw: (props) => (
      <TableView
        {...props}
        table="links"
        thing="wavelength"
        plots={[
          ['utilization', 'Utilization'],
          ['ram_bytes', 'Optical RAM'],
          ['queue_bytes', 'Queues'],
          ['dropped_packets', 'Dropped'],
          ['target', 'Target utilization'],
          ['light', 'Port status (1 up)'],
        ]}
      />
    ),
  },
  {
    id: 'labels',
    name: 'Labels',
    isThere: (run) => run.tables.has('labels'),
    draw: (props) => (
      <TableView
        {...props}
        table="labels"
        thing="label"
        plots={[
          ['first_fibre', 'Primary next hop (fibre)'],
          ['fibres', 'Ranked next hops'],
        ]}
      />
    ),
  },
  {
    id: 'switches',
    name: 'Switches',
    isThere: (run) => run.tables.has('switches'),
    draw: (props) => (
      <TableView
        {...props}
        table="switches"
        thing="switch"
        plots={[
          ['deflected', 'Bursts deflected'],
          ['buffered', 'Bursts buffered'],
          ['blocked', 'Bursts blocked'],
          ['forwarded', 'Bursts forwarded'],
        ]}
      />
    ),
  },
  {
    id: 'routers',
    name: 'Links',
    isThere: has('routers'),
    draw: (props) => (
      <TableView
        {...props}
        table="links"
        thing="link"
        plots={[
          ['utilization', 'Utilization'],
          ['queue_bytes', 'Queues'],
          ['dropped_packets', 'Dropped'],
          ['light', 'Port status (1 up)'],
          ['xcp_bps', 'XCP capacity'],
        ]}
      />
    ),
  },
  {
    id: 'workloads',
    name: 'Workloads',
    isThere: (run) => run.tables.has('workloads'),
    draw: (props) => (
      <TableView
        {...props}
        table="workloads"
        thing="workload"
        plots={[
          ['in_progress', 'Flows in progress'],
          ['completed', 'Flows completed'],
          ['p99_slowdown', 'Slowdown, 0.99 quantile'],
          ['median_slowdown', 'Slowdown, median'],
        ]}
      />
    ),
  },
  {
    id: 'flows',
    name: 'XCP and flows',
    isThere: (run) => run.tables.has('flows'),
    draw: (props) => (
      <TableView
        {...props}
        table="flows"
        thing="flow"
        plots={[
          ['goodput_kbps', 'Goodput'],
          ['rate_kbyte_s', 'Sender rate, kB/s'],
          ['rtt_ms', 'Round-trip time, ms'],
          ['window_packets', 'Window, packets'],
        ]}
      />
    ),
  },
  {
    id: 'lambda',
    name: 'Lambda',
    isThere: (run) => run.tables.has('gtp') || run.tables.has('sessions'),
    draw: (props) => <Lambda {...props} />,
  },
  { id: 'news', name: 'Faults and alarms', isThere: () => true, draw: (props) => <NewsView {...props} /> },
  {
    id: 'control',
    name: 'Control',
    isThere: (run) =>
      !!run.hello && !run.hello.is_finished && (run.hello.controls.rest || run.hello.controls.fibres.length > 0),
    draw: (props) => <Control {...props} />,
  },
];

const prefers = (theme: Theme) => matchMedia(`(prefers-color-scheme: ${theme})`).matches;

function firstTheme(): Theme {
  const stored = localStorage.getItem(THEME_KEY);
  return stored === 'dark' || stored === 'light' ? stored : prefers('dark') ? 'dark' : 'light';
}

function Page() {
  const run = useRef(new History());
  const [, redraw] = useState(0);
  const [connection, setConnection] = useState<Connection>('connecting');
  const [wrong, setWrong] = useState('');
  const [theme, setTheme] = useState<Theme>(firstTheme);
  const [view, setView] = useState(() => location.hash.slice(1) || 'overview');
  /** Null follows what comes. */
  const [pickedS, setPickedS] = useState<number | null>(null);

  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);

  useEffect(() => {
    let timer = 0;
    const draw = () => {
      timer = 0;
      redraw((count) => count + 1);
    };
    const hear = (message: Message) => {
      try {
        run.current.hear(message);
        setWrong('');
      } catch (error) {
        setWrong(error instanceof Error ? error.message : String(error));
      }
      timer ||= window.setTimeout(draw, DRAW_MS);
    };
    connect(hear, setConnection);
  }, []);

  useEffect(() => {
    history.replaceState(null, '', `#${view}`);
  }, [view]);

  const now = run.current;
  const atS = pickedS ?? now.nowS;
  const views = VIEWS.filter((candidate) => candidate.isThere(now));
  const current = views.find((candidate) => candidate.id === view) ?? views[0]!;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <Header
        run={now}
        connection={connection}
        atS={atS}
        theme={theme}
        onTheme={(chosen) => {
          localStorage.setItem(THEME_KEY, chosen);
          document.documentElement.dataset['theme'] = chosen;
          setTheme(chosen);
        }}
      />
      <Tabs views={views} current={current.id} onChoose={setView} />
      <main>
        <div
          id="main"
          role="tabpanel"
          tabIndex={-1}
          aria-labelledby={`tab-${current.id}`}
          data-updates={now.timesS.length}
        >
          {wrong ? (
            <p class="kind fault" role="alert">
              {wrong}
            </p>
          ) : null}
          {now.hello ? (
            current.draw({ run: now, atS, theme, goTo: setPickedS })
          ) : (
            <p class="empty">
              {connection === 'refused' ? 'Run not found, or wrong token in the address.' : 'Waiting for the run'}
            </p>
          )}
        </div>
      </main>
      <Timeline run={now} pickedS={pickedS} onPick={setPickedS} />
    </>
  );
}

function Header({
  run,
  connection,
  atS,
  theme,
  onTheme,
}: {
  run: History;
  connection: Connection;
  atS: number;
  theme: Theme;
  onTheme: (theme: Theme) => void;
}) {
  const { hello, end } = run;
  const index = before(run.timesS, atS, (timeS) => timeS);
  const phase = run.phases[Math.max(index, 0)] ?? 0;
  const [badge, name] = end
    ? end.ok
      ? ['good', '✓ finished, ok']
      : ['bad', '✗ finished, failed']
    : connection === 'open'
      ? ['live', '● live']
      : ['bad', connection === 'lost' ? 'disconnected' : connection];
  return (
    <header>
      <h1>Slotwise{hello?.scenario ? ` · ${hello.scenario}` : ''}</h1>
      <span class={`badge ${badge}`} role="status">
        {name}
      </span>
      {hello ? (
        <div class="facts">
          <span>{hello.command}</span>
          {hello.seed === undefined ? null : (
            <span>
              seed <b>{hello.seed}</b>
            </span>
          )}
          {hello.frame ? (
            <span>
              <b>{run.network.edges}</b> edges, frames of <b>{hello.frame.slots}</b> slots of{' '}
              <b>{hello.frame.slot_ns / 1e3}</b> µs
            </span>
          ) : null}
          {phase ? (
            <span>
              phase{' '}
              <b>
                {phase}/{hello.phases.length} {run.phaseName(phase)}
              </b>
            </span>
          ) : null}
          {end?.failures.length ? <span class="kind fault">{end.failures[0]}</span> : null}
        </div>
      ) : null}
      <div class="right">
        <button onClick={() => onTheme(theme === 'dark' ? 'light' : 'dark')} aria-pressed={theme === 'dark'}>
          Dark mode
        </button>
      </div>
    </header>
  );
}

function Tabs({ views, current, onChoose }: { views: View[]; current: string; onChoose: (id: string) => void }) {
  const onKeyDown = (event: KeyboardEvent) => {
    const place = views.findIndex((view) => view.id === current);
    const moved = (
      { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: views.length - 1 } as Record<string, number>
    )[event.key];
    if (moved === undefined) {
      return;
    }
    event.preventDefault();
    const next = views[(moved + views.length) % views.length]!;
    onChoose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <nav aria-label="Views">
      <div role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {views.map((view) => (
          <button
            key={view.id}
            id={`tab-${view.id}`}
            role="tab"
            aria-selected={view.id === current}
            aria-controls="main"
            tabIndex={view.id === current ? 0 : -1}
            onClick={() => onChoose(view.id)}
          >
            {view.name}
          </button>
        ))}
      </div>
    </nav>
  );
}

function Timeline({
  run,
  pickedS,
  onPick,
}: {
  run: History;
  pickedS: number | null;
  onPick: (atS: number | null) => void;
}) {
  const last = run.timesS.length - 1;
  const index = pickedS === null ? last : before(run.timesS, pickedS, (timeS) => timeS);
  const atS = pickedS ?? run.nowS;
  const pick = (chosen: number) => onPick(chosen >= last ? null : (run.timesS[chosen] ?? null));
  return (
    <footer>
      <button
        onClick={() => onPick(pickedS === null ? run.nowS : null)}
        disabled={last < 0 || (run.isFinished && pickedS === null)}
      >
        {run.isFinished ? 'Go to end' : pickedS === null ? 'Pause' : 'Follow'}
      </button>
      <input
        type="range"
        min={0}
        max={Math.max(last, 0)}
        value={Math.max(index, 0)}
        disabled={last < 1}
        aria-label="Run time"
        aria-valuetext={seconds(atS)}
        onInput={(event) => pick(Number(event.currentTarget.value))}
      />
      <output>
        {seconds(atS)} of {seconds(Math.max(run.endS, run.nowS))}
      </output>
    </footer>
  );
}

document.documentElement.dataset['theme'] = firstTheme();
render(<Page />, document.getElementById('page')!);
