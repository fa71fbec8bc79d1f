// SPDX-License-Identifier: Apache-2.0
// What may be changed while a run goes on: through the controller's REST resources, and fibres by the engine.

import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';

import { ask, type Problem } from '../stream';
import type { ViewProps } from './shared';

type Answer = { ok: boolean; text: string } | null;

function Said({ answer }: { answer: Answer }) {
  return (
    <p class={`answer ${answer ? (answer.ok ? 'good' : 'bad') : ''}`} role="status">
      {answer?.text ?? ''}
    </p>
  );
}

/** A controller that does not answer, as it is gone or busy, is asked again. */
const AGAIN_MS = 1500;

/** What a resource says, null until it does, and a way to read it anew. */
function useResource<T>(path: string): [T | null, () => Promise<T>] {
  const [state, setState] = useState<T | null>(null);
  const read = useCallback(async () => {
    const now = await ask<T>(path);
    setState(now);
    return now;
  }, [path]);
  useEffect(() => {
    let timer = 0;
    let isGone = false;
    const attempt = () => {
      read().catch(() => {
        timer = isGone ? 0 : window.setTimeout(attempt, AGAIN_MS);
      });
    };
    attempt();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [read]);
  return [state, read];
}

async function attempt(what: () => Promise<string>): Promise<Answer> {
  try {
    return { ok: true, text: await what() };
  } catch (error) {
    const problem = error as Partial<Problem>;
    return { ok: false, text: [problem.title ?? 'Failed', problem.detail ?? String(error)].filter(Boolean).join(': ') };
  }
}

export function Control({ run }: ViewProps) {
  if (run.isFinished) {
    return <p class="empty">Run finished: read-only</p>;
  }
  // Before that the controller is not there.
  if (!run.timesS.length) {
    return <p class="empty">Waiting for the run to start</p>;
  }
  const { rest, fibres } = run.hello!.controls;
  const has = (kind: string) => run.network.kinds.includes(kind);
  return (
    <div class="two">
      {rest && has('star') ? <Scheduler /> : null}
      {fibres.length ? <Fibres names={fibres} /> : null}
      {rest && has('star') ? <Masters isOverlaid={run.network.cores > 1} /> : null}
      {rest && has('ring') ? <RingMode /> : null}
      {rest && has('routers') ? <Ports app="routes" of="routers" /> : null}
      {rest && has('ring') ? <Ports app="ring" of="the ring" /> : null}
      {rest && has('ops') ? <Ports app="ops" of="optical packet switches" /> : null}
      {rest && has('ring') ? (
        <Numbers
          title="Station weights"
          path="slotwise/v1/ring/weights"
          list="weights"
          named={['device_id']}
          number="weight"
          least={1}
          most={255}
          step={1}
        />
      ) : null}
      {rest && has('ops') ? (
        <Numbers
          title="Target utilization"
          path="slotwise/v1/ops/targets"
          list="targets"
          named={['device_id', 'port']}
          number="target"
          least={0.01}
          most={1}
          step={0.01}
        />
      ) : null}
      {rest && has('ops') ? (
        <Numbers
          title="Class weights"
          path="slotwise/v1/ops/weights"
          list="weights"
          named={['class']}
          number="weight"
          least={0.001}
          most={1000}
          step={0.001}
        />
      ) : null}
      {rest && has('routers') ? (
        <Numbers
          title="XCP capacity"
          path="slotwise/v1/routes/capacities"
          list="outputs"
          named={['device_id', 'port']}
          number="xcp_bps"
          least={1e6}
          most={4e11}
          step={1e6}
        />
      ) : null}
    </div>
  );
}

interface Setting {
  name: string;
  description: string;
  type: 'choice' | 'integer' | 'rules';
  default: string | number;
  values?: string[];
  minimum?: number;
  maximum?: number;
}

interface SchedulerState {
  name: string;
  settings: Record<string, string | number>;
  available: { name: string; description: string; settings: Setting[] }[];
}

function Scheduler() {
  const [state, read] = useResource<SchedulerState>('slotwise/v1/star/scheduler');
  const [name, setName] = useState('');
  const [settings, setSettings] = useState<Record<string, string>>({});
  const [answer, setAnswer] = useState<Answer>(null);
  // Before anybody can choose: an effect after the page is drawn would take back what was chosen at once.
  useLayoutEffect(() => {
    if (state) {
      setName(state.name);
      setSettings(Object.fromEntries(Object.entries(state.settings).map(([key, value]) => [key, String(value)])));
    }
  }, [state]);
  const about = state?.available.find((scheduler) => scheduler.name === name);
  const choose = (chosen: string) => {
    const of = state?.available.find((scheduler) => scheduler.name === chosen);
    setName(chosen);
    setSettings(
      Object.fromEntries(
        (of?.settings ?? []).map((setting) => [
          setting.name,
          String(chosen === state?.name ? (state.settings[setting.name] ?? setting.default) : setting.default),
        ]),
      ),
    );
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const typed = (about?.settings ?? []).map(
      (setting) =>
        [
          setting.name,
          setting.type === 'integer' ? Number(settings[setting.name]) : (settings[setting.name] ?? ''),
        ] as const,
    );
    setAnswer(
      await attempt(async () => {
        const now = await ask<{ name: string }>('slotwise/v1/star/scheduler', {
          name,
          settings: Object.fromEntries(typed),
        });
        await read();
        return `Scheduler ${now.name} is active from the next frame.`;
      }),
    );
  };
  return (
    <section class="panel" aria-labelledby="scheduler-title">
      <h2 id="scheduler-title">Scheduler and weights</h2>
      <form class="fields" onSubmit={submit}>
        <label for="scheduler-name">Scheduler</label>
        <select id="scheduler-name" value={name} onChange={(event) => choose(event.currentTarget.value)}>
          {(state?.available ?? []).map((scheduler) => (
            <option key={scheduler.name} value={scheduler.name}>
              {scheduler.name}
            </option>
          ))}
        </select>
        {about ? <p class="help">{about.description}</p> : null}
        {(about?.settings ?? []).map((setting) => (
          <Field
            key={`${name} ${setting.name}`}
            setting={setting}
            value={settings[setting.name] ?? ''}
            onValue={(value) => setSettings({ ...settings, [setting.name]: value })}
          />
        ))}
        <span />
        <div>
          <button class="primary" type="submit" disabled={!about}>
            Apply
          </button>
        </div>
      </form>
      <Said answer={answer} />
    </section>
  );
}

function Field({ setting, value, onValue }: { setting: Setting; value: string; onValue: (value: string) => void }) {
  const id = `setting-${setting.name}`;
  const input = { id, value, 'aria-describedby': `${id}-help` };
  return (
    <>
      <label for={id}>{setting.name.replaceAll('_', ' ')}</label>
      {setting.type === 'choice' ? (
        <select {...input} onChange={(event) => onValue(event.currentTarget.value)}>
          {(setting.values ?? []).map((of) => (
            <option key={of} value={of}>
              {of}
            </option>
          ))}
        </select>
      ) : setting.type === 'integer' ? (
        <input
          {...input}
          type="number"
          min={setting.minimum}
          max={setting.maximum}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      ) : (
        <input {...input} type="text" onInput={(event) => onValue(event.currentTarget.value)} />
      )}
      <p class="help" id={`${id}-help`}>
        {setting.description}
      </p>
    </>
  );
}

interface Thing {
  name: string;
  state: string;
  isDown: boolean;
  /** Buttons: what is on them, what they are called, what they do. */
  acts: [on: string, called: string, act: () => void][];
}

/** Things that are up or down, and what can be done with each; of more than eight those are shown that have something in their names. */
function Things({ label, things }: { label: string; things: Thing[] }) {
  const [wanted, setWanted] = useState('');
  return (
    <>
      {things.length > 8 ? (
        <p>
          <label>
            Filter by name:{' '}
            <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
          </label>
        </p>
      ) : null}
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table>
          <tbody>
            {things
              .filter(({ name }) => name.includes(wanted))
              .map(({ name, state, isDown, acts }) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td class={isDown ? 'kind cut' : 'soft'}>{state}</td>
                  <td class="number">
                    {acts.map(([on, called, act]) => (
                      <>
                        <button onClick={act} aria-label={called}>
                          {on}
                        </button>{' '}
                      </>
                    ))}
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Fibres({ names }: { names: string[] }) {
  const [cut, setCut] = useState<ReadonlySet<string>>(new Set());
  const [answer, setAnswer] = useState<Answer>(null);
  const set = async (name: string, up: boolean) => {
    setAnswer(
      await attempt(async () => {
        await ask('fibre', { name, up });
        const next = new Set(cut);
        up ? next.delete(name) : next.add(name);
        setCut(next);
        return `Link ${name} is ${up ? 'up' : 'down'}.`;
      }),
    );
  };
  const things = names.map((name): Thing => ({
    name,
    state: cut.has(name) ? 'down' : 'up',
    isDown: cut.has(name),
    acts: [
      ['Take down', `Take down ${name}`, () => set(name, false)],
      ['Bring up', `Bring up ${name}`, () => set(name, true)],
    ],
  }));
  return (
    <section class="panel" aria-labelledby="fibres-title">
      <h2 id="fibres-title">Links</h2>
      <Things label="Controllable links" things={things} />
      <Said answer={answer} />
    </section>
  );
}

interface Master {
  core: number;
  master: number;
  shut_down: boolean;
}

/** Of stars that can do without: others take over, or slaves that join by invitation are told. */
function Masters({ isOverlaid }: { isOverlaid: boolean }) {
  const [state, read] = useResource<{ masters: Master[] }>('slotwise/v1/star/shutdown');
  const [joined] = useResource<{ membership: 'static' | 'invitation' }>('slotwise/v1/star/members');
  const [answer, setAnswer] = useState<Answer>(null);
  const set = async (core: number, shut_down: boolean) => {
    setAnswer(
      await attempt(async () => {
        await ask(`slotwise/v1/star/shutdown/${core}`, { shut_down });
        await read();
        return `Master of core ${core} is ${shut_down ? 'disabled' : 'enabled'}.`;
      }),
    );
  };
  if (!isOverlaid && joined?.membership !== 'invitation') {
    return null;
  }
  const things = (state?.masters ?? []).map(({ core, master, shut_down }): Thing => {
    const on = shut_down ? 'Enable' : 'Disable';
    return {
      name: `core ${core}, master edge ${master}`,
      state: shut_down ? 'disabled' : 'enabled',
      isDown: shut_down,
      acts: [[on, `${on} the master of core ${core}`, () => set(core, !shut_down)]],
    };
  });
  return (
    <section class="panel" aria-labelledby="masters-title">
      <h2 id="masters-title">Masters</h2>
      <Things label="Masters of stars" things={things} />
      <Said answer={answer} />
    </section>
  );
}

interface Port {
  device_id: number;
  port: number;
  up: boolean;
}

/** What the controller believes of ports' light: a loss that is not there, say, or one that a switch cannot tell. */
function Ports({ app, of }: { app: string; of: string }) {
  const path = `slotwise/v1/${app}/ports`;
  const [state] = useResource<{ ports: Port[] }>(path);
  // Told here since: the controller takes it in its next turn.
  const [told, setTold] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [answer, setAnswer] = useState<Answer>(null);
  const tell = async (name: string, port: Port) => {
    setAnswer(
      await attempt(async () => {
        await ask(`${path}/${port.device_id}/${port.port}`, { up: port.up });
        setTold((before) => new Map(before).set(name, port.up));
        return `Port status sent: ${name} is ${port.up ? 'up' : 'down'}.`;
      }),
    );
  };
  if (!state?.ports.length) {
    return null;
  }
  const things = state.ports.map((port): Thing => {
    const name = `device ${port.device_id}, port ${port.port}`;
    const up = told.get(name) ?? port.up;
    const mark = up ? 'Mark down' : 'Mark up';
    return {
      name,
      state: up ? 'up' : 'down',
      isDown: !up,
      acts: [[mark, `${mark}: ${name}`, () => tell(name, { ...port, up: !up })]],
    };
  });
  return (
    <section class="panel" aria-label={`Port status override of ${of}`}>
      <h2>Port status override</h2>
      <Things label={`Ports of ${of}`} things={things} />
      <Said answer={answer} />
    </section>
  );
}

const MODES = ['explicit', 'adaptive', 'controller', 'rpr-aggressive', 'rpr-conservative'];

function RingMode() {
  const path = 'slotwise/v1/ring/mode';
  const [state, read] = useResource<{ mode: string }>(path);
  const [answer, setAnswer] = useState<Answer>(null);
  const choose = async (wanted: string) => {
    setAnswer(
      await attempt(async () => {
        await ask(path, { mode: wanted });
        await read();
        return `Fairness mode: ${wanted}.`;
      }),
    );
  };
  return (
    <section class="panel" aria-labelledby="mode-title">
      <h2 id="mode-title">Ring fairness</h2>
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        <label for="ring-mode">Mode</label>
        <select id="ring-mode" value={state?.mode ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
          {MODES.map((of) => (
            <option key={of} value={of}>
              {of}
            </option>
          ))}
        </select>
      </form>
      <Said answer={answer} />
    </section>
  );
}

interface NumbersProps {
  title: string;
  path: string;
  list: string;
  /** What tells entries apart. */
  named: string[];
  number: string;
  least: number;
  most: number;
  step: number;
}

/** Entries of a resource that have one number each. */
function Numbers({ title, path, list, named, number, least, most, step }: NumbersProps) {
  const [state, read] = useResource<Record<string, Record<string, number>[]>>(path);
  const entries = state?.[list] ?? [];
  const [answer, setAnswer] = useState<Answer>(null);
  const nameOf = (entry: Record<string, number>) =>
    named.map((key) => `${key.replace('device_id', 'device')} ${entry[key]}`).join(', ');
  const set = async (entry: Record<string, number>, value: number) => {
    setAnswer(
      await attempt(async () => {
        await ask([path, ...named.map((key) => entry[key])].join('/'), { [number]: value });
        await read();
        return `${nameOf(entry)}: ${value}.`;
      }),
    );
  };
  if (!entries.length) {
    return null;
  }
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}, all`}>
        <table>
          <tbody>
            {entries.map((entry) => (
              <tr key={nameOf(entry)}>
                <td>{nameOf(entry)}</td>
                <td class="number">
                  <NumberField
                    least={least}
                    most={most}
                    step={step}
                    value={entry[number]!}
                    label={`${title}: ${nameOf(entry)}`}
                    onValue={(value) => set(entry, value)}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Said answer={answer} />
    </section>
  );
}

interface NumberFieldProps {
  least: number;
  most: number;
  step: number;
  value: number;
  label: string;
  onValue: (value: number) => void;
}

/** A number, told when it has been typed. What is being typed stays while the page is drawn anew. */
function NumberField({ least, most, step, value, label, onValue }: NumberFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const tell = (text: string) => {
    setTyped(null);
    onValue(Number(text));
  };
  return (
    <input
      type="number"
      min={least}
      max={most}
      step={step}
      value={typed ?? value}
      aria-label={label}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => tell(event.currentTarget.value)}
    />
  );
}
