// SPDX-License-Identifier: Apache-2.0
// What the stream has said, kept so that one can go back in it.

import {
  VERSION,
  type Drop,
  type End,
  type GrantLatency,
  type Hello,
  type Message,
  type Network,
  type News,
  type Report,
  type StarUpdate,
  type TableUpdate,
} from './stream';

/** Numbers of pairs and of tables that are kept, each; then older ones are thinned out. */
const MOST_NUMBERS = 16_000_000;

/** All pairs of edges at one time, by source * edges + destination. */
export interface Matrix {
  edges: number;
  timeS: number;
  /** Slots that the backlog would fill. */
  demandSlots: Float32Array;
  /** Slots of the frame in force. */
  inForceSlots: Float32Array;
  /** Mean slots a frame since the update before. */
  meanSlots: Float32Array;
  goodputBps: Float32Array;
  demandBytes: Float64Array;
}

/** Things of one sort over time. */
export interface TableHistory {
  names: string[];
  timesS: number[];
  /** By column, then by period, then by thing. */
  rows: Record<string, number[][]>;
}

/** Sums over all pairs, a value an update that had frames. */
export interface Totals {
  timesS: number[];
  demandSlots: number[];
  grantedSlots: number[];
  goodputBps: number[];
}

export interface Moments {
  timesS: number[];
  latenessUs: (number | null)[];
  lightP50Frames: (number | null)[];
  lightP99Frames: (number | null)[];
  violations: number[];
}

export class History {
  hello: Hello | null = null;
  end: End | null = null;
  nowS = 0;
  endS = 0;
  /** By update: its time and phase. */
  timesS: number[] = [];
  phases: number[] = [];
  phase = 0;
  violations = 0;
  latenessNs: number | null = null;
  grantLatency: GrantLatency | null = null;
  drops: Drop[] = [];
  news: News[] = [];
  totals: Totals = { timesS: [], demandSlots: [], grantedSlots: [], goodputBps: [] };
  moments: Moments = { timesS: [], latenessUs: [], lightP50Frames: [], lightP99Frames: [], violations: [] };
  tables = new Map<string, TableHistory>();
  /** Whether what is delivered, dropped and violated is known, as it is to an engine, and no controller. */
  isMeasured = true;
  /** Bytes delivered by pair since the start; slots granted where that is not known. */
  busy = new Float64Array(0);
  private stars: { timeS: number; star: StarUpdate | null }[] = [];
  private kept = 0;
  private keptRows = 0;

  get network(): Network {
    return this.hello?.network ?? { kinds: [], edges: 0, cores: 0, slot_bytes: [] };
  }

  get frameS(): number {
    const frame = this.hello?.frame;
    return frame ? (frame.slots * frame.slot_ns) / 1e9 : 0;
  }

  get isFinished(): boolean {
    return this.end !== null;
  }

  /** Throws where the stream is of another version. */
  hear(message: Message): void {
    switch (message.message) {
      case 'hello':
        if (message.version !== VERSION) {
          throw new Error(`unsupported stream version ${message.version}; expected ${VERSION}`);
        }
        Object.assign(this, new History());
        this.hello = message;
        this.isMeasured = message.command !== 'controller';
        this.busy = new Float64Array(message.network.edges ** 2);
        break;
      case 'update': {
        const timeS = message.now_ns / 1e9;
        this.nowS = timeS;
        this.endS = (message.end_ns ?? message.now_ns) / 1e9;
        this.phase = message.phase;
        this.timesS.push(timeS);
        this.phases.push(message.phase);
        this.news.push(...(message.news ?? []));
        if (message.drops) {
          this.drops = message.drops;
        }
        if (message.violations !== undefined) {
          this.violations = message.violations;
          this.latenessNs = message.lateness_p99_ns ?? null;
          this.grantLatency = message.grant_latency ?? null;
          this.addMoment(timeS);
        }
        if (message.star) {
          this.addStar(timeS, message.star);
        }
        for (const table of message.tables ?? []) {
          this.addTable(timeS, table);
        }
        break;
      }
      case 'end':
        this.end = message;
        this.drops = message.report.drops;
        this.nowS = Math.max(this.nowS, message.report.duration_ns / 1e9);
    }
  }

  private addMoment(timeS: number): void {
    const { moments, grantLatency, frameS } = this;
    const inFrames = (ns: number | undefined) =>
      ns === undefined || !grantLatency?.count || !frameS ? null : ns / 1e9 / frameS;
    moments.timesS.push(timeS);
    moments.latenessUs.push(this.latenessNs === null ? null : this.latenessNs / 1e3);
    moments.lightP50Frames.push(inFrames(grantLatency?.p50_ns));
    moments.lightP99Frames.push(inFrames(grantLatency?.p99_ns));
    moments.violations.push(this.violations);
  }

  private slotBytes(from: number): number {
    return this.network.slot_bytes[from] || Infinity;
  }

  private addStar(timeS: number, star: StarUpdate): void {
    const { edges } = this.network;
    let demandSlots = 0;
    let granted = 0;
    let delivered = 0;
    star.pairs.forEach((pair, k) => {
      demandSlots += Math.ceil(star.demand_bytes[k]! / this.slotBytes(Math.floor(pair / edges)));
      granted += star.granted_slots[k]!;
      delivered += star.delivered_bytes?.[k] ?? 0;
      this.busy[pair]! += star.delivered_bytes?.[k] ?? star.granted_slots[k]!;
    });
    const { totals } = this;
    totals.timesS.push(timeS);
    totals.demandSlots.push(demandSlots);
    totals.grantedSlots.push(granted / Math.max(star.frames, 1));
    totals.goodputBps.push((delivered * 8) / (Math.max(star.frames, 1) * this.frameS));
    this.stars.push({ timeS, star });
    this.kept += 5 * star.pairs.length;
    // Sums of them stay.
    for (let k = 0; this.kept > MOST_NUMBERS && k < this.stars.length - 1; k++) {
      const old = this.stars[k]!;
      this.kept -= 5 * (old.star?.pairs.length ?? 0);
      old.star = null;
    }
    if (this.stars[0]?.star === null) {
      this.stars = this.stars.filter((entry) => entry.star !== null);
    }
  }

  private addTable(timeS: number, update: TableUpdate): void {
    let table = this.tables.get(update.table);
    const isSame =
      table?.names.length === update.names.length && update.names.every((name, k) => name === table!.names[k]);
    if (!table || !isSame) {
      table = { names: update.names, timesS: [], rows: {} };
      this.tables.set(update.table, table);
    }
    table.timesS.push(timeS);
    for (const [column, numbers] of Object.entries(update.columns)) {
      (table.rows[column] ??= []).push(numbers);
      this.keptRows += numbers.length;
    }
    if (this.keptRows > MOST_NUMBERS) {
      this.thinTables();
    }
  }

  /** Of all but the newest periods every second one goes. */
  private thinTables(): void {
    this.keptRows = 0;
    for (const table of this.tables.values()) {
      const newest = Math.floor(table.timesS.length / 2);
      const stays = (_: unknown, k: number) => k >= newest || k % 2 === 0;
      table.timesS = table.timesS.filter(stays);
      for (const [column, rows] of Object.entries(table.rows)) {
        const thinned = rows.filter(stays);
        table.rows[column] = thinned;
        this.keptRows += thinned.reduce((sum, row) => sum + row.length, 0);
      }
    }
  }

  /** The pairs as they were at a time; null before the first frame. */
  matrix(atS: number): Matrix | null {
    const index = before(this.stars, atS, (entry) => entry.timeS);
    const entry = this.stars[index];
    if (!entry?.star) {
      return null;
    }
    const { edges } = this.network;
    const { star } = entry;
    const dense = () => new Float32Array(edges * edges);
    const matrix: Matrix = {
      edges,
      timeS: entry.timeS,
      demandSlots: dense(),
      inForceSlots: dense(),
      meanSlots: dense(),
      goodputBps: dense(),
      demandBytes: new Float64Array(edges * edges),
    };
    const seconds = Math.max(star.frames, 1) * this.frameS;
    star.pairs.forEach((pair, k) => {
      matrix.demandBytes[pair] = star.demand_bytes[k]!;
      matrix.demandSlots[pair] = Math.ceil(star.demand_bytes[k]! / this.slotBytes(Math.floor(pair / edges)));
      matrix.inForceSlots[pair] = star.in_force_slots[k]!;
      matrix.meanSlots[pair] = star.granted_slots[k]! / Math.max(star.frames, 1);
      matrix.goodputBps[pair] = ((star.delivered_bytes?.[k] ?? 0) * 8) / seconds;
    });
    return matrix;
  }

  /** Pairs over time, of those asked for. */
  pairSeries(pairs: number[]): {
    timesS: number[];
    goodputBps: number[][];
    meanSlots: number[][];
    demandSlots: number[][];
  } {
    const { edges } = this.network;
    const places = new Map(pairs.map((pair, place) => [pair, place]));
    const columns = () => pairs.map(() => new Array<number>(this.stars.length).fill(0));
    const [goodputBps, meanSlots, demandSlots] = [columns(), columns(), columns()];
    this.stars.forEach(({ star }, time) => {
      star?.pairs.forEach((pair, k) => {
        const place = places.get(pair);
        if (place === undefined) {
          return;
        }
        const frames = Math.max(star.frames, 1);
        goodputBps[place]![time] = ((star.delivered_bytes?.[k] ?? 0) * 8) / (frames * this.frameS);
        meanSlots[place]![time] = star.granted_slots[k]! / frames;
        demandSlots[place]![time] = Math.ceil(star.demand_bytes[k]! / this.slotBytes(Math.floor(pair / edges)));
      });
    });
    return { timesS: this.stars.map((entry) => entry.timeS), goodputBps, meanSlots, demandSlots };
  }

  /** The pairs that got most since the start. */
  busiestPairs(count: number): number[] {
    return most(this.busy, count);
  }

  /** A table's numbers at a time, by column. */
  tableAt(name: string, atS: number): { names: string[]; columns: Record<string, number[]> } | null {
    const table = this.tables.get(name);
    const index = table ? before(table.timesS, atS, (timeS) => timeS) : -1;
    if (!table || index < 0) {
      return null;
    }
    const columns = Object.entries(table.rows).map(([column, rows]) => [column, rows[index] ?? []] as const);
    return { names: table.names, columns: Object.fromEntries(columns) };
  }

  phaseName(phase: number): string {
    return this.hello?.phases[phase - 1] ?? '';
  }
}

/** What all flows over the whole run got through by its report, those of Linux among them; null if there are none. */
export function ofWholeRun(report: Report): { flows: number; lost: number; bps: number } | null {
  const flows = report.phases.flatMap((phase) => phase.flows).filter((flow) => typeof flow.name === 'string');
  const lost = report.phases.reduce((sum, phase) => sum + (phase.lost_flows ?? 0), 0);
  const delivered = flows.reduce((sum, flow) => sum + (typeof flow.bytes === 'number' ? flow.bytes : 0), 0);
  return flows.length || lost
    ? { flows: flows.length, lost, bps: (delivered * 8e9) / Math.max(report.duration_ns, 1) }
    : null;
}

/** Index of the last entry at or before a time; -1 if there is none. Entries are in order of time. */
export function before<T>(entries: T[], atS: number, timeS: (entry: T) => number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeS(entries[middle]!) <= atS + 1e-9) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** Indices of the largest values that are not 0, largest first. */
export function most(values: ArrayLike<number>, count: number): number[] {
  const found: number[] = [];
  for (let k = 0; k < values.length; k++) {
    const value = values[k]!;
    if (value <= 0 || (found.length === count && value <= values[found[count - 1]!]!)) {
      continue;
    }
    let place = found.length;
    while (place > 0 && values[found[place - 1]!]! < value) {
      place--;
    }
    found.splice(place, 0, k);
    found.length = Math.min(found.length, count);
  }
  return found;
}
