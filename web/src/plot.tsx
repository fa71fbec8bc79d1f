// SPDX-License-Identifier: Apache-2.0
// Lines over time.

import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { LINES, lineColor, lineDash, styled } from './colors';
import { digits } from './format';
import { before } from './history';

export interface Line {
  label: string;
  values: (number | null)[];
  /** As which line it is drawn, its place unless given: what belongs together has one colour, and other dashes (LINES on). */
  as?: number;
}

interface PlotProps {
  title: string;
  unit: string;
  timesS: number[];
  lines: Line[];
  /** Where the timeline stands. */
  atS: number;
  /** Changes with the colours. */
  theme: string;
  onPick?: (atS: number) => void;
  height?: number;
  format?: (value: number) => string;
}

/** More points than a screen has columns say nothing more. */
const MOST_POINTS = 4000;

/** Of every so many points one, the last among them. */
function thinned(timesS: number[], lines: Line[]): uPlot.AlignedData {
  const step = Math.max(1, Math.ceil(timesS.length / MOST_POINTS));
  if (step === 1) {
    return [timesS, ...lines.map((line) => line.values)] as uPlot.AlignedData;
  }
  const pick = <T,>(values: T[]) => values.filter((_, k) => (values.length - 1 - k) % step === 0);
  return [pick(timesS), ...lines.map((line) => pick(line.values))] as uPlot.AlignedData;
}

export function Plot(props: PlotProps) {
  const { title, unit, timesS, lines, atS, theme, height = 200, format = digits } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [width, setWidth] = useState(0);
  const labels = lines.map((line) => line.label).join('\n');

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (!width || !latest.current.lines.length) {
      return;
    }
    const axis = {
      stroke: styled('--text-soft'),
      grid: { stroke: styled('--grid'), width: 1 },
      ticks: { stroke: styled('--grid'), width: 1 },
    };
    const made = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.05 : 1] },
        },
        axes: [
          { ...axis, values: (_, at) => at.map((value) => `${value} s`) },
          { ...axis, size: 78, values: (_, at) => at.map((value) => latest.current.format?.(value) ?? digits(value)) },
        ],
        series: [
          {},
          ...lines.map((line, k) => ({
            label: line.label,
            stroke: lineColor(line.as ?? k),
            dash: lineDash(line.as ?? k),
            width: 1.75,
            points: { show: false },
          })),
        ],
        hooks: {
          draw: [
            (drawn) => {
              const x = drawn.valToPos(latest.current.atS, 'x', true);
              const { ctx, bbox } = drawn;
              if (x >= bbox.left && x <= bbox.left + bbox.width) {
                ctx.save();
                ctx.strokeStyle = styled('--text-soft');
                ctx.setLineDash([4, 4]);
                ctx.beginPath();
                ctx.moveTo(x, bbox.top);
                ctx.lineTo(x, bbox.top + bbox.height);
                ctx.stroke();
                ctx.restore();
              }
            },
          ],
        },
      },
      thinned(timesS, lines),
      place.current!,
    );
    made.over.addEventListener('click', () => {
      const at = made.posToVal(made.cursor.left ?? 0, 'x');
      latest.current.onPick?.(at);
    });
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, height, labels, theme]);

  useEffect(() => {
    plot.current?.setData(thinned(timesS, lines));
  });

  const at = before(timesS, atS, (timeS) => timeS);
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span> <span class="soft">{unit}</span>
      </figcaption>
      <div
        ref={place}
        class="plot-canvas"
        role="img"
        aria-label={`${title}, ${unit}, over time; the legend has the values at the selected time`}
      />
      {lines.length ? null : <p class="soft">No activity yet</p>}
      <ul class="legend" aria-label={`${title} at ${atS.toFixed(2)} s`}>
        {lines.map((line, k) => {
          const value = line.values[at] ?? null;
          return (
            <li key={line.label}>
              <svg width="22" height="8" aria-hidden="true">
                <line
                  x1="0"
                  y1="4"
                  x2="22"
                  y2="4"
                  stroke-width="3"
                  stroke={`var(--line-${(line.as ?? k) % LINES})`}
                  stroke-dasharray={lineDash(line.as ?? k).join(' ')}
                />
              </svg>
              {line.label} <b>{value === null ? '–' : format(value)}</b>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}
