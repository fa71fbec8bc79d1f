// SPDX-License-Identifier: Apache-2.0
// Faults, alarms, changes, and what was dropped.

import { useEffect, useState } from 'preact/hooks';

import { count, duration, seconds } from '../format';
import { ask } from '../stream';
import type { ViewProps } from './shared';

const NAMES = { change: 'change', fault: 'fault', recovery: 'recovered', fibre: 'manual', alarm: 'alarm' } as const;
const PERIOD_MS = 1000;
/** Ticks of slots in which an edge has nothing to signal: counted as drops by P4, and no loss. */
const IDLE = 'p4:NoSignaling';
const MISDIRECTED = 'p4:Misdirected';

export function NewsView({ run, atS, goTo }: ViewProps) {
  const kinds = run.end?.report.faults?.kinds ?? [];
  const violated = Object.entries(run.end?.report.invariants ?? {}).filter(([, value]) => typeof value === 'number');
  const drops = run.drops.filter((drop) => drop.reason !== IDLE).sort((a, b) => b.packets - a.packets);
  const idle = run.drops.filter((drop) => drop.reason === IDLE).reduce((sum, drop) => sum + drop.packets, 0);
  return (
    <>
      <h2>Event log</h2>
      {run.news.length ? (
        <ol class="news scroll" tabIndex={0} aria-label="Event log">
          {run.news.map((news, k) => (
            <li key={k}>
              <button onClick={() => goTo(news.at_ns / 1e9)} aria-label={`Go to ${seconds(news.at_ns / 1e9)}`}>
                {seconds(news.at_ns / 1e9)}
              </button>
              <span class={`kind ${news.kind}`}>{NAMES[news.kind]}</span>
              <span class={news.at_ns / 1e9 > atS ? 'soft' : ''}>{news.text}</span>
            </li>
          ))}
        </ol>
      ) : (
        <p class="soft">No events. Changes scheduled in the scenario are not listed.</p>
      )}
      {run.hello?.controls.rest && !run.isFinished && run.network.kinds.includes('star') ? <Alarms /> : null}
      {kinds.length ? (
        <>
          <h2>Faults by type</h2>
          <table aria-label="Faults by type">
            <thead>
              <tr>
                <th>type</th>
                <th class="number">injected</th>
                <th class="number">messages hit</th>
                <th class="number">median recovery</th>
                <th class="number">99th percentile</th>
                <th class="number">maximum</th>
                <th class="number">not recovered</th>
              </tr>
            </thead>
            <tbody>
              {kinds.map((kind) => (
                <tr key={kind.kind} data-kind={kind.kind}>
                  <td>{kind.kind}</td>
                  <td class="number">{count(kind.injected)}</td>
                  <td class="number">{count(kind.messages)}</td>
                  {[kind.p50_ns, kind.p99_ns, kind.max_ns].map((ns, k) => (
                    <td key={k} class="number">
                      {ns === null ? '–' : duration(ns)}
                    </td>
                  ))}
                  <td class="number">{count(kind.not_recovered)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      ) : null}
      {violated.length ? (
        <>
          <h2>Invariants</h2>
          <table aria-label="Invariants">
            <tbody>
              {violated.map(([name, value]) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td class="number">{count(value as number)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      ) : null}
      {run.isMeasured ? <h2>Dropped packets</h2> : null}
      {!run.isMeasured ? null : drops.length ? (
        <div class="scroll panel" tabIndex={0} role="region" aria-label="Dropped packets">
          <table aria-label="Dropped packets">
            <thead>
              <tr>
                <th>location</th>
                <th>reason</th>
                <th class="number">packets so far</th>
              </tr>
            </thead>
            <tbody>
              {drops.map((drop) => (
                <tr key={`${drop.location} ${drop.reason}`} data-drop={`${drop.location} ${drop.reason}`}>
                  <td>{drop.location}</td>
                  <td>{drop.reason.replace(/^p4:/, 'P4: ')}</td>
                  <td class="number" data-value={drop.packets}>
                    {count(drop.packets)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="soft">None.</p>
      )}
      {drops.some((drop) => drop.reason === MISDIRECTED) ? (
        <p class="soft">
          P4: Misdirected at an edge counts control messages for another edge, and all messages before the edge is
          configured. Data for another edge counts as a violation (ungranted).
        </p>
      ) : null}
      {idle ? (
        <p class="soft" data-idle={idle}>
          Idle signaling slots, not counted as drops: {count(idle)}.
        </p>
      ) : null}
    </>
  );
}

interface Members {
  membership: string;
  members: { edge: number; core?: number; state: string; faults: string[]; error_ns: number }[];
}

/** What edges that join by invitation report. */
function Alarms() {
  const [members, setMembers] = useState<Members | null>(null);
  useEffect(() => {
    let goesOn = true;
    const look = async () => {
      const now = await ask<Members>('slotwise/v1/star/members').catch(() => null);
      if (goesOn) {
        setMembers((last) => now ?? last);
        setTimeout(look, PERIOD_MS);
      }
    };
    void look();
    return () => {
      goesOn = false;
    };
  }, []);
  if (!members?.members.length) {
    return null;
  }
  return (
    <>
      <h2>Edge alarms</h2>
      <table aria-label="Edge alarms">
        <thead>
          <tr>
            <th>edge</th>
            <th>state</th>
            <th class="number">timing error</th>
            <th>alarms</th>
          </tr>
        </thead>
        <tbody>
          {members.members.map((member) => (
            <tr key={`${member.edge} ${member.core ?? 0}`}>
              <td>
                {member.edge}
                {member.core === undefined ? '' : `, core ${member.core}`}
              </td>
              <td>{member.state}</td>
              <td class="number">{member.error_ns} ns</td>
              <td class={member.faults.length ? 'kind fault' : 'soft'}>
                {member.faults.join(', ').replaceAll('_', ' ') || 'none'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
