// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';

import example from '../../schema/examples/stream.json';
import { bps, columnName, duration } from './format';
import { before, History, most, ofWholeRun } from './history';
import type { Flow, Message, Report } from './stream';

function heard(messages: unknown[]): History {
  const run = new History();
  for (const message of messages as Message[]) {
    run.hear(message);
  }
  return run;
}

describe('what the stream has said', () => {
  it('has the pairs of edges as they were at any time', () => {
    const run = heard(example);
    const first = run.matrix(0.005)!;
    expect(first.demandSlots[1]).toBe(2);
    expect(first.inForceSlots[1]).toBe(3);
    const second = run.matrix(99)!;
    expect(second.demandSlots[1]).toBe(0);
    expect(second.inForceSlots[2]).toBe(1);
    // 1500 bytes in one frame of 5 ms.
    expect(second.goodputBps[2]).toBe(2_400_000);
    expect(run.matrix(0.001)).toBeNull();
    expect(run.totals.grantedSlots).toEqual([3, 1]);
    expect([...run.busy].reduce((sum, bytes) => sum + bytes)).toBe(4500);
    expect(run.busiestPairs(4)).toEqual([1, 2]);
    expect(run.pairSeries([2]).goodputBps).toEqual([[0, 2_400_000]]);
  });

  it('has tables, moments, news and the end', () => {
    const run = heard(example);
    expect(run.tableAt('links', 0.01)!.columns['utilization']).toEqual([0.5]);
    expect(run.tableAt('links', 0.001)).toBeNull();
    expect(run.moments.lightP99Frames).toEqual([0.5]);
    expect(run.news[0]!.text).toContain('islip');
    expect(run.isFinished && run.drops[0]!.packets).toBe(7);
  });

  it('begins a table anew that has other things', () => {
    const [hello] = example as Message[];
    const sessions = (now_ns: number, names: string[]) => ({
      message: 'update',
      now_ns,
      phase: 0,
      tables: [{ table: 'sessions', names, columns: { rate_bps: names.map((_, k) => k) } }],
    });
    const run = heard([hello, sessions(1e9, ['a', 'b']), sessions(2e9, ['a', 'b']), sessions(3e9, ['b'])]);
    expect(run.tables.get('sessions')).toEqual({ names: ['b'], timesS: [3], rows: { rate_bps: [[0]] } });
  });

  it('begins anew with another hello, and refuses another version', () => {
    const [hello] = example as Message[];
    expect(heard([...example, hello]).totals.timesS).toEqual([]);
    expect(() => heard([{ ...hello, version: 2 }])).toThrow('version 2');
  });
});

it('counts all flows over the whole run when it is over', () => {
  const phase = (flows: Flow[]) => ({ name: 'run', start_ns: 0, end_ns: 2e9, flows, files: [] });
  const report = (phases: Report['phases']) => ({ duration_ns: 2e9, phases }) as unknown as Report;
  expect(ofWholeRun(report([phase([{ name: 'a', bytes: 1e6 }, { name: 'b', bytes: 3e6 }, { bytes: 7e6 }])]))).toEqual({
    flows: 2,
    lost: 0,
    bps: 16e6,
  });
  expect(ofWholeRun(report([{ ...phase([]), lost_flows: 5 }]))).toEqual({ flows: 0, lost: 5, bps: 0 });
  expect(ofWholeRun(report([phase([{ bytes: 7e6 }])]))).toBeNull();
});

it('finds the last entry in time and the largest values', () => {
  const timeS = (value: number) => value;
  expect([0, 1, 2, 5].map((at) => before([1, 2, 3], at, timeS))).toEqual([-1, 0, 1, 2]);
  expect(most([0, 3, 9, 1, 4], 3)).toEqual([2, 4, 1]);
  expect(most([0, 0], 3)).toEqual([]);
});

it('says numbers with their units', () => {
  expect(bps(129_600_000)).toBe('130 Mb/s');
  expect(bps(0)).toBe('0 b/s');
  expect(duration(54_000)).toBe('54 µs');
  expect(columnName('goodput_kbps')).toBe('goodput, kb/s');
  expect(columnName('limit_bps')).toBe('add rate limit, b/s');
});
