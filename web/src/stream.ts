// SPDX-License-Identifier: Apache-2.0
// The stream of a run's state (schema/stream.schema.json), and the connection it comes by.

import { Poller } from './rest';

export interface Frame {
  slots: number;
  signaling_slots: number;
  slot_ns: number;
  guard_ns: number;
}

export interface Network {
  kinds: string[];
  edges: number;
  cores: number;
  /** What a slot of each edge carries, bytes as on the fibre. */
  slot_bytes: number[];
}

export interface Hello {
  message: 'hello';
  version: number;
  command: string;
  /** These two are not known to a controller. */
  scenario?: string;
  seed?: number;
  is_finished: boolean;
  phases: string[];
  network: Network;
  frame?: Frame;
  controls: { rest: boolean; fibres: string[] };
  /** Flows over the whole run that hosts of Linux play: they are counted when it is over. */
  linux_flows?: number;
}

export interface GrantLatency {
  count: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
}

/** Pairs of edges, column by column; a pair is source * edges + destination. */
export interface StarUpdate {
  frames: number;
  pairs: number[];
  demand_bytes: number[];
  in_force_slots: number[];
  granted_slots: number[];
  /** Not known to a controller. */
  delivered_bytes?: number[];
}

export interface TableUpdate {
  table: string;
  names: string[];
  columns: Record<string, number[]>;
}

export interface Drop {
  location: string;
  reason: string;
  packets: number;
}

export interface News {
  at_ns: number;
  kind: 'change' | 'fault' | 'recovery' | 'fibre' | 'alarm';
  text: string;
}

export interface Update {
  message: 'update';
  now_ns: number;
  /** Not known to a controller. */
  end_ns?: number;
  phase: number;
  violations?: number;
  lateness_p99_ns?: number;
  grant_latency?: GrantLatency;
  star?: StarUpdate;
  tables?: TableUpdate[];
  drops?: Drop[];
  news?: News[];
}

/** A flow in a report; those over the whole run have a name. */
export interface Flow {
  name?: unknown;
  bytes?: unknown;
}

/** The report without its series; the page shows some of it. */
export interface Report {
  verdict: { ok: boolean; failures: string[]; notes: string[] };
  duration_ns: number;
  phases: {
    name: string;
    start_ns: number;
    end_ns: number;
    flows: Flow[];
    files: Record<string, unknown>[];
    lost_flows?: number;
  }[];
  invariants: Record<string, number | string[]>;
  drops: Drop[];
  lateness?: { p50_ns: number; p99_ns: number; max_ns: number };
  grant_latency?: GrantLatency;
  faults?: { kinds: FaultSummary[] };
  [other: string]: unknown;
}

export interface FaultSummary {
  kind: string;
  injected: number;
  messages: number;
  not_recovered: number;
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

export interface End {
  message: 'end';
  ok: boolean;
  failures: string[];
  report: Report;
}

export type Message = Hello | Update | End;

export type Connection = 'connecting' | 'open' | 'lost' | 'refused';

export const VERSION = 1;

const RETRY_MS = 1500;
/** A connection that lived at least so long may have been dropped as it did not keep up. */
const STABLE_MS = 500;

const POLL_MS = 500;
/** Pauses are so many times as long as the answers took: a large network costs no larger part of a core. */
const POLL_PAUSE = 9;

/** Whether this page comes from a controller, whose REST resources it polls; an engine sends messages over a socket. */
const isPolled = () => document.querySelector('meta[name="slotwise-stream"]')?.getAttribute('content') === 'poll';

/** The token of the address, which the server wants to see again. */
export function token(): string {
  // As it stands there: URLSearchParams would make spaces of the '+' that a token may have.
  return decodeURIComponent(/[?&]token=([^&]*)/.exec(location.search)?.[1] ?? '');
}

/** Reads the stream, again when it was cut off; `hear` gets each message, `onState` the state of the connection. */
export function connect(hear: (message: Message) => void, onState: (connection: Connection) => void): void {
  if (isPolled()) {
    void poll(hear, onState);
  } else {
    listen(hear, onState);
  }
}

async function poll(hear: (message: Message) => void, onState: (connection: Connection) => void): Promise<never> {
  const poller = new Poller((path) => ask(`slotwise/v1${path}`));
  for (;;) {
    const begin = performance.now();
    try {
      const messages = await poller.read(Date.now());
      onState('open');
      messages.forEach(hear);
    } catch (error) {
      onState((error as Partial<Problem>).status === 401 ? 'refused' : 'lost');
    }
    const waitMs = Math.max(POLL_MS, POLL_PAUSE * (performance.now() - begin));
    await new Promise((wake) => setTimeout(wake, waitMs));
  }
}

function listen(hear: (message: Message) => void, onState: (connection: Connection) => void): void {
  let isOver = false;
  let failures = 0;
  const open = () => {
    const opened = performance.now();
    const address = new URL(`stream?token=${encodeURIComponent(token())}`, location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    socket.onopen = () => onState('open');
    socket.onmessage = (event) => {
      failures = 0;
      const message = JSON.parse(event.data as string) as Message;
      if (message.message === 'end') {
        isOver = true;
      }
      hear(message);
    };
    socket.onclose = () => {
      failures = performance.now() - opened > STABLE_MS ? 0 : failures + 1;
      onState(failures > 3 ? 'refused' : 'lost');
      if (!isOver) {
        setTimeout(open, RETRY_MS);
      }
    };
  };
  open();
}

export interface Problem {
  title: string;
  status: number;
  detail: string;
}

/** Asks the run's engine or controller, by its path: below `api/`, or at a controller where it always is. Throws a {@link Problem}. */
export async function ask<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(new URL(`${isPolled() ? '../../' : 'api/'}${path}`, location.href), {
    method: body === undefined ? 'GET' : 'PUT',
    redirect: 'manual',
    headers: {
      // Without a token who asks is known by other means, which this header would hide.
      ...(token() ? { Authorization: `Bearer ${token()}` } : {}),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.type === 'opaqueredirect') {
    // Another node of the controller's cluster leads now. Its answers are not for this page, but the page itself is sent there.
    location.reload();
    return new Promise(() => undefined);
  }
  const answer: unknown = await response.json().catch(() => ({}));
  if (!response.ok) {
    const problem = answer as Partial<Problem>;
    throw { title: response.statusText, status: response.status, detail: '', ...problem } satisfies Problem;
  }
  return answer as T;
}
