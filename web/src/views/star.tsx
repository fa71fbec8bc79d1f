// SPDX-License-Identifier: Apache-2.0
// A star: the slot table in force against demand, pairs of edges over time, and the slots one by one where the controller can be asked.

import { useEffect, useState } from 'preact/hooks';

import { LINES, lineColor } from '../colors';
import { bps, bytes, digits } from '../format';
import { Heatmap } from '../heatmap';
import { most, type Matrix } from '../history';
import { Plot } from '../plot';
import { ask } from '../stream';
import { Choice, Empty, type ViewProps } from './shared';

type Second = 'in-force' | 'mean' | 'unmet' | 'goodput';

const SECONDS = [
  ['in-force', 'active schedule'],
  ['mean', 'granted slots (mean)'],
  ['unmet', 'unmet demand'],
  ['goodput', 'goodput'],
] as const;

function second(matrix: Matrix, which: Second): { title: string; unit: string; values: Float32Array } {
  switch (which) {
    case 'in-force':
      return { title: 'Active schedule', unit: 'slots per frame', values: matrix.inForceSlots };
    case 'mean':
      return { title: 'Granted slots', unit: 'mean slots per frame since the last update', values: matrix.meanSlots };
    case 'unmet':
      return {
        title: 'Unmet demand',
        unit: 'slots',
        values: matrix.demandSlots.map((slots, k) => Math.max(0, slots - matrix.inForceSlots[k]!)),
      };
    case 'goodput':
      return { title: 'Goodput', unit: 'Mb/s', values: matrix.goodputBps.map((value) => value / 1e6) };
  }
}

function largest(values: ArrayLike<number>): number {
  let found = 0;
  for (let k = 0; k < values.length; k++) {
    found = Math.max(found, values[k]!);
  }
  return found;
}

export function Star({ run, atS, theme, goTo }: ViewProps) {
  const [which, setWhich] = useState<Second>('in-force');
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const matrix = run.matrix(atS);
  const { edges } = run.network;
  if (!matrix) {
    return <Empty>Waiting for the first frame</Empty>;
  }
  const right = second(matrix, which);
  const seconds = SECONDS.filter(([key]) => run.isMeasured || key !== 'goodput');
  const name = (edge: number) => (edges > 12 ? `${edge}` : `edge ${edge}`);
  const describe = (from: number, to: number) => {
    const pair = from * edges + to;
    return from === to
      ? `edge ${from} to itself: none`
      : `edge ${from} → edge ${to}: demand ${digits(matrix.demandSlots[pair]!)} slots (${bytes(matrix.demandBytes[pair]!)}), active ${digits(matrix.inForceSlots[pair]!)} slots${run.isMeasured ? `, ${bps(matrix.goodputBps[pair]!)}` : ''}`;
  };
  const shared = {
    rows: edges,
    columns: edges,
    rowName: name,
    columnName: name,
    rowLabel: 'source edge',
    columnLabel: 'destination edge',
    describe,
    cursor,
    onCursor: setCursor,
    theme,
    isVoid: (row: number, column: number) => row === column,
  };
  const pairs = cursor && cursor[0] !== cursor[1] ? [cursor[0] * edges + cursor[1]] : [];
  for (const pair of run.busiestPairs(6)) {
    if (pairs.length < 6 && !pairs.includes(pair)) {
      pairs.push(pair);
    }
  }
  const series = run.pairSeries(pairs);
  const lines = (values: number[][]) =>
    pairs.map((pair, k) => ({ label: `${Math.floor(pair / edges)} → ${pair % edges}`, values: values[k]! }));
  const demandMost = largest(matrix.demandSlots);
  const slots = run.hello?.frame?.slots ?? 0;
  return (
    <>
      <Choice legend="Compare demand with:" of={seconds} value={which} onChoose={setWhich} />
      <div class="two">
        <Heatmap
          {...shared}
          title="Demand"
          unit="slots to empty the queue"
          values={matrix.demandSlots}
          most={demandMost}
        />
        <Heatmap
          {...shared}
          title={right.title}
          unit={right.unit}
          values={right.values}
          most={
            which === 'in-force' || which === 'mean'
              ? Math.max(largest(right.values), Math.min(slots, demandMost), 1)
              : largest(right.values)
          }
        />
      </div>
      <h2>Pairs over time</h2>
      <div class="two">
        <Plot
          title="Queues"
          unit="demand in slots"
          timesS={series.timesS}
          lines={lines(series.demandSlots)}
          atS={atS}
          theme={theme}
          onPick={goTo}
        />
        <Plot
          title="Grants"
          unit="slots per frame"
          timesS={series.timesS}
          lines={lines(series.meanSlots)}
          atS={atS}
          theme={theme}
          onPick={goTo}
        />
        {run.isMeasured ? (
          <Plot
            title="Goodput"
            unit="per pair"
            timesS={series.timesS}
            lines={lines(series.goodputBps)}
            atS={atS}
            theme={theme}
            onPick={goTo}
            format={bps}
          />
        ) : null}
        <Busiest matrix={matrix} isMeasured={run.isMeasured} />
      </div>
      {run.hello?.controls.rest && !run.isFinished ? <Slots theme={theme} edges={edges} /> : null}
    </>
  );
}

function Busiest({ matrix, isMeasured }: { matrix: Matrix; isMeasured: boolean }) {
  const { edges } = matrix;
  return (
    <figure>
      <figcaption>
        <span class="plot-title">Busiest pairs</span> <span class="soft">at {matrix.timeS.toFixed(2)} s</span>
      </figcaption>
      <div class="scroll">
        <table aria-label="Busiest pairs">
          <thead>
            <tr>
              <th>pair</th>
              <th class="number">backlog</th>
              <th class="number">demand</th>
              <th class="number">active slots</th>
              {isMeasured ? <th class="number">goodput</th> : null}
            </tr>
          </thead>
          <tbody>
            {most(isMeasured ? matrix.goodputBps : matrix.inForceSlots, 12).map((pair) => (
              <tr key={pair} data-pair={`${Math.floor(pair / edges)}-${pair % edges}`}>
                <td>
                  {Math.floor(pair / edges)} → {pair % edges}
                </td>
                <td class="number">{bytes(matrix.demandBytes[pair]!)}</td>
                <td class="number">{digits(matrix.demandSlots[pair]!)}</td>
                <td class="number">{digits(matrix.inForceSlots[pair]!)}</td>
                {isMeasured ? <td class="number">{bps(matrix.goodputBps[pair]!)}</td> : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

interface Schedule {
  version: number | null;
  slots: number;
  first_data_slot: number;
  edges: { edge: number; core?: number; slots: { slot: number; use: 'signaling' | 'data'; to: number }[] }[];
}

const PERIOD_MS = 500;

/** The slots of the frame in force, one by one: what the controller has written. */
function Slots({ theme, edges }: { theme: string; edges: number }) {
  const [schedule, setSchedule] = useState<Schedule | null>(null);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  useEffect(() => {
    let goesOn = true;
    const look = async () => {
      const now = await ask<Schedule>('slotwise/v1/star/schedule').catch(() => null);
      if (goesOn) {
        setSchedule((last) => now ?? last);
        setTimeout(look, PERIOD_MS);
      }
    };
    void look();
    return () => {
      goesOn = false;
    };
  }, []);
  if (!schedule) {
    return null;
  }
  const rows = schedule.edges.length;
  const values = new Float32Array(rows * schedule.slots).fill(-1);
  const uses = new Map<number, string>();
  schedule.edges.forEach((entry, row) => {
    for (const { slot, use, to } of entry.slots) {
      values[row * schedule.slots + slot] = use === 'data' ? to : -1;
      uses.set(row * schedule.slots + slot, use);
    }
  });
  const nameOf = (row: number) => {
    const entry = schedule.edges[row]!;
    return entry.core === undefined ? `edge ${entry.edge}` : `${entry.edge}, core ${entry.core}`;
  };
  return (
    <>
      <h2>Active slot table</h2>
      <Heatmap
        title={`Version ${schedule.version ?? '–'}`}
        unit="destination edge per slot; empty: idle or signaling"
        rows={rows}
        columns={schedule.slots}
        values={values}
        most={edges}
        rowName={nameOf}
        columnName={(slot) => `${slot}`}
        rowLabel="edge"
        columnLabel="slot"
        describe={(row, slot) => {
          const to = values[row * schedule.slots + slot]!;
          return to >= 0
            ? `${nameOf(row)}, slot ${slot}: to edge ${to}`
            : `${nameOf(row)}, slot ${slot}: ${uses.get(row * schedule.slots + slot) ?? 'idle'}`;
        }}
        cursor={cursor}
        onCursor={setCursor}
        theme={theme}
        colorOf={(to) => lineColor(to % LINES)}
        height={Math.min(640, 26 + Math.max(120, rows * 24))}
      />
    </>
  );
}
