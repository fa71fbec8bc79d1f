// SPDX-License-Identifier: Apache-2.0
// What several views have.

import type { ComponentChildren } from 'preact';

import type { History } from '../history';

/** What every view is given. */
export interface ViewProps {
  run: History;
  /** Where the timeline stands. */
  atS: number;
  theme: string;
  goTo: (atS: number) => void;
}

export function Card({
  name,
  children,
  note,
}: {
  name: string;
  children: ComponentChildren;
  note?: ComponentChildren;
}) {
  return (
    <div class="card">
      <dt>{name}</dt>
      <dd>
        {children}
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  );
}

export function Choice<T extends string>({
  legend,
  of,
  value,
  onChoose,
}: {
  legend: string;
  of: readonly (readonly [T, string])[];
  value: T;
  onChoose: (value: T) => void;
}) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      {of.map(([key, name]) => (
        <label key={key}>
          <input
            type="radio"
            name={`${legend} ${of.map(([option]) => option).join(' ')}`}
            checked={value === key}
            onChange={() => onChoose(key)}
          />{' '}
          {name}
        </label>
      ))}
    </fieldset>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}
