// SPDX-License-Identifier: Apache-2.0
// What has periods: links of routers, stations of a ring, wavelengths and optical packet switches, flows, sessions of GTP.

import { useState } from 'preact/hooks';

import { bps, bytes, columnName, count, digits, percent } from '../format';
import { Heatmap } from '../heatmap';
import { most, type TableHistory } from '../history';
import { Plot } from '../plot';
import { Choice, Empty, type ViewProps } from './shared';

/** How a column of a table is said. */
function formatOf(column: string): (value: number) => string {
  if (column === 'utilization') {
    return percent;
  }
  if (column.endsWith('_kbps')) {
    return (value) => bps(1e3 * value);
  }
  if (column.endsWith('_mbps')) {
    return (value) => bps(1e6 * value);
  }
  if (column.endsWith('_bps')) {
    return bps;
  }
  if (column.endsWith('_bytes')) {
    return bytes;
  }
  return column.endsWith('_packets') && !column.startsWith('window') ? (value) => count(Math.round(value)) : digits;
}

/** Columns of the heat map over time: so many periods, or averages of several. */
const MOST_COLUMNS = 240;

function overTime(
  table: TableHistory,
  rows: number[][],
  things: number[],
): { values: Float32Array; columns: number; endsS: number[] } {
  const together = Math.max(1, Math.ceil(rows.length / MOST_COLUMNS));
  const columns = Math.ceil(rows.length / together);
  const values = new Float32Array(things.length * columns);
  const endsS: number[] = [];
  for (let column = 0; column < columns; column++) {
    const from = column * together;
    const to = Math.min(from + together, rows.length);
    endsS.push(table.timesS[to - 1]!);
    things.forEach((thing, row) => {
      let sum = 0;
      for (let period = from; period < to; period++) {
        sum += rows[period]?.[thing] ?? 0;
      }
      values[row * columns + column] = sum / (to - from);
    });
  }
  return { values, columns, endsS };
}

interface TableViewProps extends ViewProps {
  table: string;
  /** What a thing is. */
  thing: string;
  /** The columns that lines are drawn of. */
  plots: [column: string, title: string][];
}

const MOST_LINES = 7;

/** The plural of what a thing is. */
function several(thing: string): string {
  return thing + (thing.endsWith('ch') ? 'es' : 's');
}

/** A table: a heat map of things over time, lines of those with the most, and all numbers at the timeline's time. */
export function TableView({ run, atS, theme, goTo, table: name, thing, plots }: TableViewProps) {
  const table = run.tables.get(name);
  const available = table ? Object.keys(table.rows) : [];
  const [chosen, setColumn] = useState<string>(plots[0]![0]);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const [wanted, setWanted] = useState('');
  if (!table || !table.timesS.length) {
    return <Empty>Waiting for the first sampling period</Empty>;
  }
  // What was chosen may be of another table.
  const column = [chosen, plots[0]![0]].find((key) => available.includes(key)) ?? available[0]!;
  const rows = table.rows[column]!;
  const things = table.names.map((_, k) => k).filter((k) => table.names[k]!.includes(wanted));
  const { values, columns, endsS } = overTime(table, rows, things);
  const most_ = values.reduce((found, value) => Math.max(found, value), 0);
  const format = formatOf(column);
  const now = run.tableAt(name, atS);
  const linesOf = (of: string) => {
    const data = table.rows[of] ?? [];
    const sums = table.names.map((_, k) =>
      things.includes(k) ? data.reduce((sum, row) => sum + (row[k] ?? 0), 0) : 0,
    );
    const first = cursor ? [things[cursor[0]]!] : [];
    const shown = [...first, ...most(sums, MOST_LINES).filter((k) => !first.includes(k))].slice(0, MOST_LINES);
    return shown.map((k) => ({ label: table.names[k]!, values: data.map((row) => row[k] ?? null) }));
  };
  return (
    <>
      <Choice
        legend="Show:"
        of={available.map((key) => [key, columnName(key)] as const)}
        value={column}
        onChoose={setColumn}
      />
      {table.names.length > 12 ? (
        <p>
          <label>
            Filter by {thing} name:{' '}
            <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
        </p>
      ) : null}
      <Heatmap
        title={sentence(columnName(column))}
        unit={`by ${thing} and time`}
        rows={things.length}
        columns={columns}
        values={values}
        most={most_}
        rowName={(row) => shortened(table.names[things[row]!] ?? '')}
        columnName={(at) => `${endsS[at]!.toFixed(1)} s`}
        rowLabel={thing}
        columnLabel="time"
        describe={(row, at) =>
          `${table.names[things[row]!]} at ${endsS[at]!.toFixed(2)} s: ${format(values[row * columns + at]!)}`
        }
        cursor={cursor && cursor[0] < things.length && cursor[1] < columns ? cursor : null}
        onCursor={setCursor}
        theme={theme}
        format={format}
        height={Math.min(560, 26 + Math.max(100, things.length * 18))}
      />
      <div class="two" style={{ marginTop: '1rem' }}>
        {plots
          .filter(([of]) => available.includes(of))
          .map(([of, title]) => (
            <Plot
              key={of}
              title={title}
              unit={`${several(thing)} with the highest values`}
              timesS={table.timesS}
              lines={linesOf(of)}
              atS={atS}
              theme={theme}
              onPick={goTo}
              format={formatOf(of)}
            />
          ))}
      </div>
      {now ? (
        <>
          <h2>At {atS.toFixed(2)} s</h2>
          <div class="panel scroll" tabIndex={0} role="region" aria-label={`${several(thing)} now`}>
            <table aria-label={`All ${several(thing)}`}>
              <thead>
                <tr>
                  <th>{thing}</th>
                  {available.map((key) => (
                    <th key={key} class="number">
                      {columnName(key)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {things.map((k) => (
                  <tr key={k} data-name={table.names[k]}>
                    <td>{table.names[k]}</td>
                    {available.map((key) => (
                      <td key={key} class="number" data-column={key} data-value={now.columns[key]?.[k]}>
                        {formatOf(key)(now.columns[key]?.[k] ?? 0)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      ) : null}
    </>
  );
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function shortened(name: string): string {
  return name.length > 12 ? `${name.slice(0, 11)}…` : name;
}
