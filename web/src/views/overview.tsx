// SPDX-License-Identifier: Apache-2.0
// The whole run at a glance.

import { before, most, ofWholeRun } from '../history';
import { bps, bytes, count, digits, duration, percent } from '../format';
import { Plot } from '../plot';
import { Card, Empty, type ViewProps } from './shared';

export function Overview({ run, atS, theme, goTo }: ViewProps) {
  const { totals, moments, end } = run;
  const at = before(totals.timesS, atS, (timeS) => timeS);
  const has = (kind: string) => run.network.kinds.includes(kind);
  const links = run.tableAt('links', atS);
  const flows = run.tableAt('flows', atS);
  const utilization = links?.columns['utilization'] ?? [];
  const goodput = (flows?.columns['goodput_kbps'] ?? []).reduce((sum, kbps) => sum + 1e3 * kbps, 0);
  const whole = end ? ofWholeRun(end.report) : null;
  const ofLinux = end ? 0 : run.hello?.linux_flows;
  if (!run.timesS.length) {
    return <Empty>Waiting for data</Empty>;
  }
  const pairs = run.busiestPairs(8);
  const series = run.pairSeries(pairs);
  const pairName = (pair: number) => `${Math.floor(pair / run.network.edges)} → ${pair % run.network.edges}`;
  return (
    <>
      <dl class="cards">
        {has('star') && at >= 0 ? (
          <>
            {run.isMeasured ? <Card name="Goodput between edges">{bps(totals.goodputBps[at]!)}</Card> : null}
            <Card name="Granted" note="slots per frame, all pairs">
              {digits(totals.grantedSlots[at]!)}
            </Card>
            <Card name="Demand" note="slots to empty all queues">
              {count(totals.demandSlots[at]!)}
            </Card>
          </>
        ) : null}
        {flows || ofLinux ? (
          <Card
            name="Goodput of flows"
            note={
              ofLinux
                ? `${count(flows?.names.length ?? 0)} flows; ${count(ofLinux)} Linux flows added at the end`
                : `${count(flows?.names.length ?? 0)} flows`
            }
          >
            {flows ? bps(goodput) : '–'}
          </Card>
        ) : null}
        {whole ? (
          <Card
            name="Goodput of the run"
            note={`${count(whole.flows)} flows${whole.lost ? `; no results from ${count(whole.lost)} Linux flows` : ''}`}
          >
            {whole.flows ? bps(whole.bps) : '–'}
          </Card>
        ) : null}
        {links?.columns['utilization'] ? (
          <Card name="Busiest link" note={links.names[most(utilization, 1)[0] ?? 0]}>
            {percent(Math.max(0, ...utilization))}
          </Card>
        ) : null}
        {run.latenessNs !== null ? (
          <Card name="Lateness" note="99th percentile so far">
            {duration(run.latenessNs)}
          </Card>
        ) : null}
        {run.grantLatency?.count ? (
          <Card name="Grant latency" note={`99th percentile of ${count(run.grantLatency.count)}`}>
            {digits(run.grantLatency.p99_ns / 1e9 / run.frameS)} frames
          </Card>
        ) : null}
        {run.isMeasured ? (
          <Card name="Invariants" note="violated so far">
            <span class={run.violations ? 'kind fault' : ''}>{count(run.violations)}</span>
          </Card>
        ) : null}
      </dl>
      <div class="two">
        {has('star') ? (
          <>
            {run.isMeasured ? (
              <Plot
                title="Goodput"
                unit="busiest edge pairs"
                timesS={series.timesS}
                lines={pairs.map((pair, k) => ({ label: pairName(pair), values: series.goodputBps[k]! }))}
                atS={atS}
                theme={theme}
                onPick={goTo}
                format={bps}
              />
            ) : null}
            <Plot
              title="Demand and grants"
              unit="slots per frame, all pairs"
              timesS={totals.timesS}
              lines={[
                { label: 'demand', values: totals.demandSlots },
                { label: 'granted', values: totals.grantedSlots },
              ]}
              atS={atS}
              theme={theme}
              onPick={goTo}
            />
            {run.isMeasured ? (
              <Plot
                title="Grant latency"
                unit="TDM frames from the first packet, so far"
                timesS={moments.timesS}
                lines={[
                  { label: 'median', values: moments.lightP50Frames },
                  { label: '99th percentile', values: moments.lightP99Frames },
                ]}
                atS={atS}
                theme={theme}
                onPick={goTo}
              />
            ) : null}
          </>
        ) : null}
        {moments.latenessUs.some((value) => value !== null) ? (
          <Plot
            title="Lateness"
            unit="µs, 99th percentile so far"
            timesS={moments.timesS}
            lines={[{ label: '99th percentile', values: moments.latenessUs }]}
            atS={atS}
            theme={theme}
            onPick={goTo}
          />
        ) : null}
      </div>
      {end ? <Outcome run={run} /> : null}
    </>
  );
}

function Outcome({ run }: { run: ViewProps['run'] }) {
  const { report } = run.end!;
  return (
    <section class="panel" aria-label="Report">
      <h2>Report</h2>
      {report.verdict.failures.map((failure) => (
        <p key={failure} class="kind fault">
          Failed: {failure}
        </p>
      ))}
      <table>
        <thead>
          <tr>
            <th>phase</th>
            <th class="number">duration</th>
            <th class="number">flows</th>
            <th>files</th>
          </tr>
        </thead>
        <tbody>
          {report.phases.map((phase) => (
            <tr key={phase.name}>
              <td>{phase.name}</td>
              <td class="number">{duration(phase.end_ns - phase.start_ns)}</td>
              <td class="number">{count(phase.flows.length)}</td>
              <td>
                {phase.files
                  .map(
                    (file) =>
                      `${String(file['from'])} → ${String(file['to'])}, ${bytes(Number(file['bytes']))}, ${file['intact'] === true ? 'intact' : 'NOT intact'}`,
                  )
                  .join('; ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {report.verdict.notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
    </section>
  );
}
