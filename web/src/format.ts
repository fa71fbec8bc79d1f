// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, for people.

const STEPS: [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** Three digits that count. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) {
    return '–';
  }
  if (size >= 100 || Number.isInteger(value)) {
    return value.toFixed(0);
  }
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function scaled(value: number, unit: string): string {
  const [factor, prefix] = STEPS.find(([step]) => Math.abs(value) >= step) ?? [1, ''];
  return `${digits(value / factor)} ${prefix}${unit}`;
}

export const bps = (value: number) => scaled(value, 'b/s');
export const bytes = (value: number) => scaled(value, 'B');
export const percent = (part: number) => `${digits(100 * part)} %`;
export const count = (value: number) => value.toLocaleString('en').replaceAll(',', ' ');

export function seconds(value: number): string {
  return `${value.toFixed(value < 100 ? 2 : 1)} s`;
}

export function duration(ns: number): string {
  if (ns >= 1e9) {
    return `${digits(ns / 1e9)} s`;
  }
  return ns >= 1e6 ? `${digits(ns / 1e6)} ms` : `${digits(ns / 1e3)} µs`;
}

/** Labels of columns that are named otherwise in the stream. */
const LABELS: Record<string, string> = {
  added: 'add rate',
  congested: 'congested-link throughput',
  fair: 'max-min rate',
  fibres: 'ranked next hops',
  'first fibre': 'primary next hop',
  light: 'port status',
  limit: 'add rate limit',
  ram: 'optical RAM',
  rtt: 'round-trip time',
  sink: 'granted by sink',
  source: 'granted by source',
  target: 'target utilization',
  xcp: 'XCP capacity',
};

/** `goodput_kbps` as `goodput, kb/s`. */
export function columnName(column: string): string {
  const units: [string, string][] = [
    ['_kbps', ', kb/s'],
    ['_mbps', ', Mb/s'],
    ['_bps', ', b/s'],
    ['_kbyte_s', ', kB/s'],
    ['_bytes', ', bytes'],
    ['_packets', ', packets'],
    ['_ms', ', ms'],
  ];
  const unit = units.find(([suffix]) => column.endsWith(suffix));
  const name = unit ? column.slice(0, -unit[0].length) : column;
  const label = name.replaceAll('_', ' ');
  return (LABELS[label] ?? label) + (unit ? unit[1] : '');
}
