// SPDX-License-Identifier: Apache-2.0
// Colours that people with any colour vision can tell apart: lines after Okabe and Ito, made to stand out from either background
// (style.css), with dashes from the eighth on; heat maps in viridis.

/** Every eighth of viridis, which is close to it in between (CC0, Smith and van der Walt). */
const VIRIDIS: [number, number, number][] = [
  [68, 1, 84],
  [71, 45, 123],
  [59, 82, 139],
  [44, 114, 142],
  [33, 145, 140],
  [40, 174, 128],
  [94, 201, 98],
  [173, 220, 48],
  [253, 231, 37],
];

/** A colour for 0 to 1. */
export function viridis(part: number): [number, number, number] {
  const at = Math.min(Math.max(part, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const [from, to] = [VIRIDIS[low]!, VIRIDIS[low + 1]!];
  const mix = (k: 0 | 1 | 2) => Math.round(from[k] + (to[k] - from[k]) * (at - low));
  return [mix(0), mix(1), mix(2)];
}

export const LINES = 7;
const DASHES: number[][] = [[], [6, 3], [2, 3], [10, 3, 2, 3]];

/** A colour of the style sheet as it is now. */
export function styled(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function lineColor(index: number): string {
  return styled(`--line-${index % LINES}`);
}

export function lineDash(index: number): number[] {
  return DASHES[Math.floor(index / LINES) % DASHES.length]!;
}
