// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';

import { History } from './history';
import { Poller } from './rest';

/** Answers of a controller, by path. */
type Answers = Record<string, unknown>;

const STAR: Answers = {
  '': { systems: [{ id: 'star' }, { id: 'toy' }] },
  '/star/topology': {
    frame: { slots: 10, slot_ns: 1_000_000, guard_ns: 0, first_data_slot: 2 },
    cores: [{ id: 0 }],
    edges: [
      { id: 4, fibres: [{ rate_bps: 8e6 }] },
      { id: 7, fibres: [{ rate_bps: 8e6 }, { rate_bps: 16e6 }] },
    ],
  },
  '/star/nodes': {
    nodes: [
      { kind: 'core', id: 0, ready: true },
      { kind: 'edge', id: 4, ready: true },
    ],
  },
  '/star/demand': {
    pairs: [
      { from: 4, to: 7, backlog_bytes: 2500, granted_slots: 3 },
      { from: 7, to: 4, backlog_bytes: 0, granted_slots: 0 },
    ],
  },
  '/star/scheduler': { name: 'islip', settings: { iterations: 2 } },
  '/star/shutdown': { masters: [{ core: 0, shut_down: false }] },
  '/star/members': { members: [{ edge: 7, state: 'joined', faults: [] }] },
};

const RING: Answers = {
  '': { systems: [{ id: 'ring' }] },
  '/ring/mode': { mode: 'controller' },
  '/ring/stations': { stations: [{ name: 'a', device_id: 3001, ready: true, weight: 2 }] },
  '/ring/links': { links: [{ station: 0, ringlet: 1, up: true, rate_bps: 9e6, add_limit_bps: 7e6 }] },
  '/ring/spans': { spans: [{ head: 0, ringlet: 1, link_bps: 5e6, sources: [{}, {}] }] },
};

const OTHERS: Answers = {
  '': { systems: [{ id: 'routes' }, { id: 'ops' }, { id: 'lambda' }] },
  '/routes/nodes': { nodes: [{ name: 'r', device_id: 2001, ready: true }] },
  '/routes/ports': { ports: [{ device_id: 2001, port: 2, up: true }] },
  '/routes/capacities': { outputs: [{ device_id: 2001, port: 2, xcp_bps: 5e6 }] },
  '/ops/nodes': {
    nodes: [
      { name: 's', device_id: 4001, ready: true, program: 'ops' },
      { name: 'e', device_id: 5001, ready: true, program: 'edge' },
    ],
  },
  '/ops/ports': { ports: [{ device_id: 4001, port: 256, up: true }] },
  '/ops/targets': { targets: [{ device_id: 4001, port: 256, target: 0.9 }] },
  '/ops/weights': { weights: [{ class: 1, weight: 3 }] },
  '/ops/routes': { switches: [{ name: 's', routes: [{ edge: 0, fibres: [5, 6] }] }] },
  '/lambda/sessions': {
    sessions: [
      { session: 'film', granted_bps: 3e6, fair_bps: 6e6 },
      { session: 'game', granted_bps: 4e6, fair_bps: 8e6 },
    ],
  },
  '/lambda/status': { max_min: true },
};

class Controller {
  readonly run = new History();
  private readonly poller: Poller;

  constructor(public answers: Answers) {
    this.poller = new Poller(async <T>(path: string) => this.answers[path] as T);
  }

  async poll(nowMs: number): Promise<string[]> {
    const messages = await this.poller.read(nowMs);
    messages.forEach((message) => this.run.hear(message));
    return messages.map(({ message }) => message);
  }

  /** Another answer of one path. */
  set(path: string, answer: unknown): void {
    this.answers = { ...this.answers, [path]: answer };
  }
}

const news = (run: History) => run.news.map(({ kind, text }) => `${kind}: ${text}`);

describe('what a controller shows', () => {
  it('is a star with its frame, pairs and slots', async () => {
    const star = new Controller(STAR);
    expect(await star.poll(5000)).toEqual(['hello', 'update']);
    expect(star.run.network).toEqual({ kinds: ['star'], edges: 2, cores: 1, slot_bytes: [1000, 2000] });
    expect(star.run.isMeasured).toBe(false);
    expect(star.run.frameS).toBe(0.01);
    const matrix = star.run.matrix(0)!;
    expect([...matrix.inForceSlots]).toEqual([0, 3, 0, 0]);
    expect([...matrix.demandSlots]).toEqual([0, 3, 0, 0]);
    expect(news(star.run)).toEqual([]);
    expect(await star.poll(6500)).toEqual(['update']);
    expect(star.run.nowS).toBe(1.5);
  });

  it('reports what changes, fails and recovers', async () => {
    const star = new Controller(STAR);
    await star.poll(0);
    star.set('/star/scheduler', { name: 'fair', settings: { order: 'contiguous', estimator: 'ewma' } });
    star.set('/star/shutdown', { masters: [{ core: 0, shut_down: true }] });
    star.set('/star/members', { members: [{ edge: 7, core: 1, state: 'joined', faults: ['loss_of_signal'] }] });
    star.set('/star/nodes', { nodes: [{ kind: 'edge', id: 4, ready: false }] });
    await star.poll(1000);
    await star.poll(2000);
    star.set('/star/nodes', { nodes: [{ kind: 'edge', id: 4, ready: true }] });
    await star.poll(3000);
    expect(news(star.run)).toEqual([
      'change: fair, estimator ewma, order contiguous',
      'alarm: edge 4 disconnected',
      'change: the master of core 0 is disabled',
      'alarm: edge 7 at core 1: joined, loss of signal',
      'recovery: edge 4 connected',
    ]);
  });

  it('begins anew with another network', async () => {
    const controller = new Controller(STAR);
    await controller.poll(0);
    controller.answers = RING;
    expect(await controller.poll(1000)).toEqual(['hello', 'update']);
    expect(controller.run.network.kinds).toEqual(['ring']);
    expect(controller.run.tableAt('links', 0)).toEqual({
      names: ['a/1'],
      columns: { active_stations: [2], congested_bps: [5e6], light: [1], limit_bps: [7e6] },
    });
  });

  it('has tables of all systems', async () => {
    const controller = new Controller(OTHERS);
    await controller.poll(0);
    expect(controller.run.network.kinds).toEqual(['routers', 'ops', 'lambda']);
    expect(controller.run.tableAt('links', 0)).toEqual({
      names: ['r:2', 's:256'],
      columns: { light: [1, 1], xcp_bps: [5e6, 0], target: [0, 0.9] },
    });
    expect(controller.run.tableAt('labels', 0)!.names).toEqual(['s to e']);
    expect(controller.run.tableAt('sessions', 0)!.columns['fair_bps']).toEqual([6e6, 8e6]);
    expect(controller.run.tableAt('distance', 0)!.columns).toEqual({ distance: [5e6], d0: [1e7] });
    controller.set('/routes/ports', { ports: [{ device_id: 2001, port: 2, up: false }] });
    controller.set('/lambda/status', { max_min: false });
    controller.set('/ops/weights', { weights: [{ class: 1, weight: 4 }] });
    await controller.poll(1000);
    expect(news(controller.run)).toEqual([
      'alarm: r:2 is down',
      'change: class 1 has weight 4',
      'alarm: rates are not max-min fair',
    ]);
  });

  it('is bounded in things and events', async () => {
    const ports = (up: boolean) => ({ ports: [...Array(5000).keys()].map((port) => ({ device_id: 1, port, up })) });
    const controller = new Controller({
      '': { systems: [{ id: 'routes' }] },
      '/routes/nodes': { nodes: [{ name: 'r', device_id: 1, ready: true }] },
      '/routes/capacities': { outputs: [] },
      '/routes/ports': ports(true),
    });
    await controller.poll(0);
    controller.set('/routes/ports', ports(false));
    await controller.poll(1000);
    expect(controller.run.tableAt('links', 0)!.names.length).toBe(4096);
    expect(news(controller.run).length).toBe(65);
    expect(news(controller.run)[64]).toBe('alarm: and 4936 more events');
  });
});
