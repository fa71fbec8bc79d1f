// SPDX-License-Identifier: Apache-2.0
// Values by row and column as colours, of any size.

import { useEffect, useRef, useState } from 'preact/hooks';

import { styled, viridis } from './colors';
import { digits } from './format';

export interface HeatmapProps {
  title: string;
  unit: string;
  rows: number;
  columns: number;
  /** By row, then column. */
  values: ArrayLike<number>;
  most: number;
  /** What a row or column is called, and both together. */
  rowName: (row: number) => string;
  columnName: (column: number) => string;
  rowLabel: string;
  columnLabel: string;
  /** All that there is to say of a cell. */
  describe: (row: number, column: number) => string;
  cursor: [number, number] | null;
  onCursor: (cell: [number, number]) => void;
  theme: string;
  /** Colours by number instead of viridis: numbers are names, not amounts. */
  colorOf?: (value: number) => string;
  /** Cells that have no value. */
  isVoid?: (row: number, column: number) => boolean;
  height?: number;
  format?: (value: number) => string;
}

const MARGIN = { left: 84, top: 26 };
/** What stands above and below a heat map in the window. */
const AROUND = 400;
/** Cells are at least so large that their number is written in them. */
const WRITTEN = 30;

/** The largest of each block, where there are more cells than pixels. */
function reduced(
  props: HeatmapProps,
  limit: number,
): { rows: number; columns: number; at: (row: number, column: number) => number } {
  const { rows, columns, values } = props;
  const [down, across] = [Math.max(1, Math.ceil(rows / limit)), Math.max(1, Math.ceil(columns / limit))];
  if (down === 1 && across === 1) {
    return { rows, columns, at: (row, column) => values[row * columns + column] ?? 0 };
  }
  const [fewRows, fewColumns] = [Math.ceil(rows / down), Math.ceil(columns / across)];
  const largest = new Float64Array(fewRows * fewColumns);
  for (let row = 0; row < rows; row++) {
    const base = Math.floor(row / down) * fewColumns;
    for (let column = 0; column < columns; column++) {
      const place = base + Math.floor(column / across);
      const value = values[row * columns + column] ?? 0;
      if (value > largest[place]!) {
        largest[place] = value;
      }
    }
  }
  return { rows: fewRows, columns: fewColumns, at: (row, column) => largest[row * fewColumns + column]! };
}

function draw(canvas: HTMLCanvasElement, props: HeatmapProps, width: number, height: number): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d')!;
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  const [inner, outer] = [width - MARGIN.left, height - MARGIN.top];
  const few = reduced(props, Math.floor(Math.max(inner, outer) * ratio));
  const nothing = styled('--cell-none');
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(nothing.slice(at, at + 2), 16)) as [number, number, number];
  const image = new ImageData(few.columns, few.rows);
  for (let row = 0; row < few.rows; row++) {
    for (let column = 0; column < few.columns; column++) {
      const value = few.at(row, column);
      const place = 4 * (row * few.columns + column);
      let color: [number, number, number] = [r, g, b];
      if (props.colorOf && value >= 0) {
        const text = props.colorOf(value);
        color = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as [number, number, number];
      } else if (!props.colorOf && value > 0) {
        color = viridis(0.08 + (0.92 * value) / (props.most || 1));
      }
      image.data.set([...color, 255], place);
    }
  }
  const small = document.createElement('canvas');
  small.width = few.columns;
  small.height = few.rows;
  small.getContext('2d')!.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, MARGIN.left, MARGIN.top, inner, outer);
  const [cellWidth, cellHeight] = [inner / props.columns, outer / props.rows];
  label(context, props, cellWidth, cellHeight);
  if (cellWidth >= WRITTEN && cellHeight >= 16) {
    write(context, props, cellWidth, cellHeight);
  }
  if (cellWidth >= 8 && cellHeight >= 8) {
    context.strokeStyle = styled('--page');
    context.lineWidth = 1;
    context.beginPath();
    for (let column = 0; column <= props.columns; column++) {
      context.moveTo(MARGIN.left + column * cellWidth, MARGIN.top);
      context.lineTo(MARGIN.left + column * cellWidth, height);
    }
    for (let row = 0; row <= props.rows; row++) {
      context.moveTo(MARGIN.left, MARGIN.top + row * cellHeight);
      context.lineTo(width, MARGIN.top + row * cellHeight);
    }
    context.stroke();
  }
  if (props.cursor) {
    const [row, column] = props.cursor;
    context.strokeStyle = styled('--focus');
    context.lineWidth = 2.5;
    const [w, h] = [Math.max(cellWidth, 4), Math.max(cellHeight, 4)];
    context.strokeRect(MARGIN.left + column * cellWidth, MARGIN.top + row * cellHeight, w, h);
  }
}

function label(context: CanvasRenderingContext2D, props: HeatmapProps, cellWidth: number, cellHeight: number): void {
  context.fillStyle = styled('--text-soft');
  context.font = '12px system-ui, sans-serif';
  const stepOf = (size: number, room: number) => Math.max(1, Math.ceil(room / size));
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (let row = 0; row < props.rows; row += stepOf(cellHeight, 14)) {
    context.fillText(props.rowName(row), MARGIN.left - 6, MARGIN.top + (row + 0.5) * cellHeight);
  }
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  for (let column = 0; column < props.columns; column += stepOf(cellWidth, 46)) {
    context.fillText(props.columnName(column), MARGIN.left + (column + 0.5) * cellWidth, MARGIN.top - 8);
  }
}

function write(context: CanvasRenderingContext2D, props: HeatmapProps, cellWidth: number, cellHeight: number): void {
  context.font = '600 12px system-ui, sans-serif';
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let row = 0; row < props.rows; row++) {
    for (let column = 0; column < props.columns; column++) {
      const value = props.values[row * props.columns + column] ?? 0;
      if (props.isVoid?.(row, column) || (props.colorOf ? value < 0 : value <= 0)) {
        continue;
      }
      const background = props.colorOf ? rgb(props.colorOf(value)) : viridis(0.08 + (0.92 * value) / (props.most || 1));
      // The nearer of black and white would be hard to read.
      const luminance = 0.2126 * background[0] + 0.7152 * background[1] + 0.0722 * background[2];
      context.fillStyle = luminance > 120 ? '#000000' : '#ffffff';
      const text = digits(value);
      if (context.measureText(text).width < cellWidth) {
        context.fillText(text, MARGIN.left + (column + 0.5) * cellWidth, MARGIN.top + (row + 0.5) * cellHeight);
      }
    }
  }
}

function rgb(text: string): [number, number, number] {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as [number, number, number];
}

const MOVES: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function Heatmap(props: HeatmapProps) {
  const { rows, columns, cursor, onCursor } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  // What is said of a cell, below, is to be seen together with it.
  const height =
    props.height ??
    Math.min(Math.max(200, MARGIN.top + rows * 34), width || 400, 640, Math.max(320, window.innerHeight - AROUND));

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (width && rows && columns) {
      draw(canvas.current!, props, width, height);
    }
  });

  const cellAt = (event: MouseEvent): [number, number] | null => {
    const bounds = canvas.current!.getBoundingClientRect();
    const column = Math.floor(((event.clientX - bounds.left - MARGIN.left) / (width - MARGIN.left)) * columns);
    const row = Math.floor(((event.clientY - bounds.top - MARGIN.top) / (height - MARGIN.top)) * rows);
    return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (!move) {
      return;
    }
    event.preventDefault();
    const [row, column] = cursor ?? [-move[0], -move[1]];
    const far = event.shiftKey ? 10 : 1;
    onCursor([clamp(row + far * move[0], rows), clamp(column + far * move[1], columns)]);
  };
  const said = cursor
    ? props.describe(...cursor)
    : `Select a cell with the arrow keys: ${props.rowLabel} by ${props.columnLabel}.`;
  return (
    <figure class="heatmap">
      <figcaption>
        <span class="plot-title">{props.title}</span> <span class="soft">{props.unit}</span>
      </figcaption>
      <div ref={box} class="heatmap-box">
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${height}px` }}
          tabIndex={0}
          role="application"
          aria-roledescription="heat map"
          aria-label={`${props.title}, ${props.unit}: ${props.rowLabel} by ${props.columnLabel}. ${said}`}
          onKeyDown={onKeyDown}
          onMouseMove={(event) => {
            const cell = cellAt(event);
            if (cell) {
              onCursor(cell);
            }
          }}
        />
      </div>
      <div class="heatmap-foot">
        <output aria-live="polite">{said}</output>
        {props.colorOf ? null : <Scale most={(props.format ?? digits)(props.most)} />}
      </div>
    </figure>
  );
}

function clamp(value: number, length: number): number {
  return Math.min(Math.max(value, 0), length - 1);
}

function Scale({ most }: { most: string }) {
  const stops = [0.08, 0.31, 0.54, 0.77, 1].map((part) => `rgb(${viridis(part).join(' ')})`);
  return (
    <span class="scale" aria-label={`colours from 0 to ${most}`} role="img">
      0 <span class="scale-none" />{' '}
      <span class="scale-bar" style={{ background: `linear-gradient(90deg, ${stops.join(', ')})` }} /> {most}
    </span>
  );
}
