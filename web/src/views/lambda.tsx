// SPDX-License-Identifier: Apache-2.0
// Sessions of a lambda network: what each has beside its max-min rate, and how far all are from that.

import { LINES } from '../colors';
import { bps } from '../format';
import { most } from '../history';
import { Plot } from '../plot';
import { TableView } from './parts';
import { Empty, type ViewProps } from './shared';

const MOST_SESSIONS = 3;

export function Lambda(props: ViewProps) {
  const { run, atS, theme, goTo } = props;
  const sessions = run.tables.get('sessions');
  const distance = run.tables.get('distance');
  if (sessions && !sessions.names.length) {
    return <Empty>No sessions</Empty>;
  }
  return (
    <>
      {sessions ? (
        <>
          <div class="two">
            <Plot
              title="Rates and max-min rates"
              unit="sessions with the highest rates; max-min rates dashed"
              timesS={sessions.timesS}
              lines={busiest(sessions.rows['rate_bps'] ?? [], sessions.names.length).flatMap((k, place) =>
                (['rate_bps', 'fair_bps'] as const).map((column) => ({
                  as: column === 'rate_bps' ? place : place + LINES,
                  label: column === 'rate_bps' ? sessions.names[k]! : `${sessions.names[k]}, max-min`,
                  values: (sessions.rows[column] ?? []).map((row) => row[k] ?? null),
                })),
              )}
              atS={atS}
              theme={theme}
              onPick={goTo}
              format={bps}
            />
            {distance ? (
              <Plot
                title="Normalized distance D/D0 from max-min rates"
                unit="2-norm, relative to zero rates"
                timesS={distance.timesS}
                lines={[
                  {
                    label: 'D/D0',
                    values: (distance.rows['distance'] ?? []).map((row, k) => part(row[0], distance.rows.d0?.[k]?.[0])),
                  },
                ]}
                atS={atS}
                theme={theme}
                onPick={goTo}
              />
            ) : null}
          </div>
          <h2>All sessions</h2>
          <TableView
            {...props}
            table="sessions"
            thing="session"
            plots={[
              ['rate_bps', 'Rates'],
              ['fair_bps', 'Max-min rates'],
            ]}
          />
        </>
      ) : null}
      {run.tables.has('gtp') ? (
        <>
          {sessions ? <h2>Grants</h2> : null}
          <TableView
            {...props}
            table="gtp"
            thing={sessions ? 'flow' : 'session'}
            plots={[
              ['received_mbps', 'Received'],
              ['sink_mbps', 'Granted by the sink'],
              ['source_mbps', 'Granted by the source'],
              ['lost_packets', 'Lost'],
            ]}
          />
        </>
      ) : null}
    </>
  );
}

function part(distance: number | undefined, fromZero: number | undefined): number | null {
  return distance === undefined || !fromZero ? null : distance / fromZero;
}

function busiest(rows: number[][], count: number): number[] {
  const sums = new Float64Array(count);
  for (const row of rows) {
    row.forEach((value, k) => {
      sums[k]! += value;
    });
  }
  return most(sums, MOST_SESSIONS);
}
