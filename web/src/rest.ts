// SPDX-License-Identifier: Apache-2.0
// The state of a controller, from its REST resources: made into the messages that an engine's stream has.

import type { Frame, Hello, Network, News, StarUpdate, TableUpdate, Update } from './stream';

/** Reads a resource of one system. */
export type Read = <T>(resource: string) => Promise<T>;

/** State of a thing for the event log: chosen by people, as it should be, or not. */
interface Said {
  condition: 'chosen' | 'well' | 'alarm';
  text: string;
}

/** What one system shows. */
class Shown {
  network: Partial<Network> = {};
  frame?: Frame;
  star?: StarUpdate;
  tables = new Map<string, Map<string, Record<string, number>>>();
  said = new Map<string, Said>();

  constructor(readonly kind: string) {}

  table(name: string): Map<string, Record<string, number>> {
    const rows = this.tables.get(name) ?? new Map<string, Record<string, number>>();
    this.tables.set(name, rows);
    return rows;
  }

  note(thing: string, condition: Said['condition'], text: string): void {
    this.said.set(thing, { condition, text });
  }

  switchIs(name: string, isReady: boolean): void {
    this.note(name, isReady ? 'well' : 'alarm', `${name} ${isReady ? 'connected' : 'disconnected'}`);
  }

  portIs(name: string, isUp: boolean): void {
    this.note(`port ${name}`, isUp ? 'well' : 'alarm', `${name} is ${isUp ? 'up' : 'down'}`);
  }
}

interface Topology {
  frame: { slots: number; slot_ns: number; guard_ns: number; first_data_slot: number };
  cores: unknown[];
  edges: { id: number; fibres: { rate_bps: number }[] }[];
}

interface StarNodes {
  nodes: { kind: string; id: number; ready: boolean }[];
}

interface Demand {
  pairs: { from: number; to: number; backlog_bytes: number; granted_slots: number }[];
}

interface Scheduler {
  name: string;
  settings: Record<string, string | number>;
}

interface Members {
  members: { edge: number; core?: number; state: string; faults: string[] }[];
}

async function star(read: Read): Promise<Shown> {
  const [topology, { nodes }, demand, scheduler, { masters }, { members }] = await Promise.all([
    read<Topology>('topology'),
    read<StarNodes>('nodes'),
    read<Demand>('demand'),
    read<Scheduler>('scheduler'),
    read<{ masters: { core: number; shut_down: boolean }[] }>('shutdown'),
    read<Members>('members'),
  ]);
  const { frame, cores, edges } = topology;
  const shown = new Shown('star');
  // What a slot of the fastest fibre carries while it is open.
  const openBytes = (rateBps: number) => Math.floor((rateBps * (frame.slot_ns - frame.guard_ns)) / 8e9);
  shown.network = {
    edges: edges.length,
    cores: cores.length,
    slot_bytes: edges.map(({ fibres }) => Math.max(...fibres.map((fibre) => openBytes(fibre.rate_bps)))),
  };
  const { slots, slot_ns, guard_ns, first_data_slot } = frame;
  shown.frame = { slots, signaling_slots: first_data_slot, slot_ns, guard_ns };
  const place = new Map(edges.map(({ id }, index) => [id, index]));
  const pairs = demand.pairs.filter((pair) => pair.granted_slots > 0 || pair.backlog_bytes > 0);
  const granted = pairs.map((pair) => pair.granted_slots);
  shown.star = {
    frames: 1,
    pairs: pairs.map((pair) => place.get(pair.from)! * edges.length + place.get(pair.to)!),
    demand_bytes: pairs.map((pair) => pair.backlog_bytes),
    in_force_slots: granted,
    granted_slots: granted,
  };
  const settings = Object.entries(scheduler.settings).sort(([a], [b]) => (a < b ? -1 : 1));
  shown.note(
    'scheduler',
    'chosen',
    [scheduler.name, ...settings.map(([name, value]) => `${name} ${value}`)].join(', '),
  );
  nodes.forEach(({ kind, id, ready }) => shown.switchIs(`${kind} ${id}`, ready));
  masters.forEach(({ core, shut_down }) =>
    shown.note(`master ${core}`, 'chosen', `the master of core ${core} is ${shut_down ? 'disabled' : 'enabled'}`),
  );
  for (const { edge, core = 0, state, faults } of members) {
    const isWell = state === 'joined' && !faults.length;
    const text = [`edge ${edge} at core ${core}: ${state}`, ...faults].join(', ').replaceAll('_', ' ');
    shown.note(`member ${edge} of ${core}`, isWell ? 'well' : 'alarm', text);
  }
  return shown;
}

interface Port {
  device_id: number;
  port: number;
}

interface Node {
  name: string;
  device_id: number;
  ready: boolean;
}

const at = ({ device_id, port }: Port) => `${device_id}:${port}`;

async function routes(read: Read): Promise<Shown> {
  const [{ nodes }, { ports }, { outputs }] = await Promise.all([
    read<{ nodes: Node[] }>('nodes'),
    read<{ ports: (Port & { up: boolean })[] }>('ports'),
    read<{ outputs: (Port & { xcp_bps: number })[] }>('capacities'),
  ]);
  const shown = new Shown('routers');
  const names = new Map(nodes.map(({ device_id, name }) => [device_id, name]));
  const capacities = new Map(outputs.map((output) => [at(output), output.xcp_bps]));
  nodes.forEach(({ name, ready }) => shown.switchIs(name, ready));
  const links = shown.table('links');
  for (const port of ports) {
    const name = `${names.get(port.device_id)}:${port.port}`;
    shown.portIs(name, port.up);
    links.set(name, { light: Number(port.up), xcp_bps: capacities.get(at(port)) ?? 0 });
  }
  return shown;
}

interface Station extends Node {
  weight: number;
}

interface RingLink {
  station: number;
  ringlet: number;
  up: boolean;
  add_limit_bps: number;
}

interface Span {
  head: number;
  ringlet: number;
  link_bps: number;
  sources: unknown[];
}

async function ring(read: Read): Promise<Shown> {
  const [{ mode }, { stations }, { links }, { spans }] = await Promise.all([
    read<{ mode: string }>('mode'),
    read<{ stations: Station[] }>('stations'),
    read<{ links: RingLink[] }>('links'),
    read<{ spans: Span[] }>('spans'),
  ]);
  const shown = new Shown('ring');
  shown.note('ring mode', 'chosen', `fairness mode ${mode}`);
  for (const { name, ready, weight } of stations) {
    shown.switchIs(name, ready);
    shown.note(`weight ${name}`, 'chosen', `${name} has weight ${weight}`);
  }
  const rows = shown.table('links');
  for (const { station, ringlet, up, add_limit_bps } of links) {
    const name = `${stations[station]!.name}/${ringlet}`;
    const span = spans.find(({ head, ringlet: of }) => head === station && of === ringlet);
    shown.portIs(name, up);
    rows.set(name, {
      active_stations: span?.sources.length ?? 0,
      congested_bps: span?.link_bps ?? 0,
      light: Number(up),
      limit_bps: add_limit_bps,
    });
  }
  return shown;
}

interface OpsRoutes {
  switches: { name: string; routes: { edge: number; fibres: number[] }[] }[];
}

async function ops(read: Read): Promise<Shown> {
  const [{ nodes }, { ports }, { targets }, { weights }, { switches }] = await Promise.all([
    read<{ nodes: (Node & { program: string })[] }>('nodes'),
    read<{ ports: (Port & { up: boolean })[] }>('ports'),
    read<{ targets: (Port & { target: number })[] }>('targets'),
    read<{ weights: { class: number; weight: number }[] }>('weights'),
    read<OpsRoutes>('routes'),
  ]);
  const shown = new Shown('ops');
  const names = new Map(nodes.map(({ device_id, name }) => [device_id, name]));
  const nameOf = ({ device_id, port }: Port) => `${names.get(device_id)}:${port}`;
  const wanted = new Map(targets.map((target) => [at(target), target.target]));
  nodes.forEach(({ name, ready }) => shown.switchIs(name, ready));
  const links = shown.table('links');
  for (const port of ports) {
    shown.portIs(nameOf(port), port.up);
    links.set(nameOf(port), { light: Number(port.up), target: wanted.get(at(port)) ?? 0 });
  }
  for (const target of targets) {
    shown.note(`target ${nameOf(target)}`, 'chosen', `${nameOf(target)} has target utilization ${target.target}`);
  }
  const edges = nodes.filter(({ program }) => program === 'edge');
  const labels = shown.table('labels');
  for (const { name, routes: known } of switches) {
    for (const { edge, fibres } of known) {
      labels.set(`${name} to ${edges[edge]!.name}`, { fibres: fibres.length, first_fibre: fibres[0] ?? -1 });
    }
  }
  weights.forEach((one) => shown.note(`class ${one.class}`, 'chosen', `class ${one.class} has weight ${one.weight}`));
  return shown;
}

interface Sessions {
  sessions: { session: string; granted_bps: number; fair_bps: number }[];
}

async function lambda(read: Read): Promise<Shown> {
  const [{ sessions }, { max_min }] = await Promise.all([
    read<Sessions>('sessions'),
    read<{ max_min: boolean }>('status'),
  ]);
  const shown = new Shown('lambda');
  const rows = shown.table('sessions');
  sessions.forEach(({ session, granted_bps, fair_bps }) => rows.set(session, { fair_bps, rate_bps: granted_bps }));
  const norm = (of: (session: Sessions['sessions'][number]) => number) => Math.hypot(...sessions.map(of));
  shown.table('distance').set('all sessions', {
    distance: norm((session) => session.granted_bps - session.fair_bps),
    d0: norm((session) => session.fair_bps),
  });
  shown.note('max-min', max_min ? 'well' : 'alarm', `rates are ${max_min ? '' : 'not '}max-min fair`);
  return shown;
}

/** Readers of systems, by name; a system without one is not shown. */
const SYSTEMS: Record<string, (read: Read) => Promise<Shown>> = { star, routes, ring, ops, lambda };

/** Things of a table, and events of an update, that are shown at most. */
const MAX_THINGS = 4096;
const MAX_NEWS = 64;

function hello(systems: Shown[]): Hello {
  const network: Network = { kinds: systems.map(({ kind }) => kind), edges: 0, cores: 0, slot_bytes: [] };
  systems.forEach((system) => Object.assign(network, system.network));
  return {
    message: 'hello',
    version: 1,
    command: 'controller',
    is_finished: false,
    phases: [],
    network,
    frame: systems.find(({ frame }) => frame)?.frame,
    controls: { rest: true, fibres: [] },
  };
}

function tables(systems: Shown[]): TableUpdate[] {
  const all = new Map<string, Map<string, Record<string, number>>>();
  for (const [name, rows] of systems.flatMap((system) => [...system.tables])) {
    all.set(name, new Map([...(all.get(name) ?? []), ...rows]));
  }
  return [...all].map(([table, named]) => {
    const rows = [...named].slice(0, MAX_THINGS);
    const columns = new Set(rows.flatMap(([, row]) => Object.keys(row)));
    return {
      table,
      names: rows.map(([name]) => name),
      columns: Object.fromEntries([...columns].map((column) => [column, rows.map(([, row]) => row[column] ?? 0)])),
    };
  });
}

/** Kind of event that a state is after another one; null if it is none. */
function change(now: Said, before: Said | undefined): News['kind'] | null {
  const isSame = before?.condition === now.condition && before.text === now.text;
  switch (now.condition) {
    case 'alarm':
      return isSame ? null : 'alarm';
    case 'well':
      return before?.condition === 'alarm' ? 'recovery' : null;
    case 'chosen':
      return !before || isSame ? null : 'change';
  }
}

/** Makes messages of what is read: another `hello` whenever the network is another one. */
export class Poller {
  private last = '';
  private sinceMs = 0;
  private said = new Map<string, Said>();

  /** Takes what reads a path of REST, `''` for the list of systems. */
  constructor(private readonly get: <T>(path: string) => Promise<T>) {}

  async read(nowMs: number): Promise<(Hello | Update)[]> {
    const { systems } = await this.get<{ systems: { id: string }[] }>('');
    const known = systems.map(({ id }) => id).filter((id) => id in SYSTEMS);
    const shown = await Promise.all(known.map((id) => SYSTEMS[id]!((resource) => this.get(`/${id}/${resource}`))));
    const messages: (Hello | Update)[] = [];
    const first = hello(shown);
    const text = JSON.stringify(first);
    if (text !== this.last) {
      [this.last, this.sinceMs] = [text, nowMs];
      this.said.clear();
      messages.push(first);
    }
    messages.push(this.update(shown, (nowMs - this.sinceMs) * 1e6));
    return messages;
  }

  private update(systems: Shown[], now_ns: number): Update {
    const said = new Map(systems.flatMap((system) => [...system.said]));
    const events: News[] = [];
    for (const [thing, now] of said) {
      const kind = change(now, this.said.get(thing));
      if (kind) {
        events.push({ at_ns: now_ns, kind, text: now.text });
      }
    }
    this.said = said;
    const news = events.slice(0, MAX_NEWS);
    if (events.length > MAX_NEWS) {
      news.push({ at_ns: now_ns, kind: 'alarm', text: `and ${events.length - MAX_NEWS} more events` });
    }
    return {
      message: 'update',
      now_ns,
      phase: 0,
      star: systems.find((system) => system.star)?.star,
      tables: tables(systems),
      news,
    };
  }
}
