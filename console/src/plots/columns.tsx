import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { chooseScale, curve, type Point, roundedUp, shareOf } from './scale.ts';
import { plotTexts as texts } from './texts.ts';
import { Axis } from './time-series.tsx';

/** One column: what counts upwards, and what counts downwards below the line. */
export interface Bar {
  readonly up: number;
  readonly down?: number;
  readonly isUnusual?: boolean;
  /** What is usual here. */
  readonly usual?: { readonly from: number; readonly to: number };
}

const WIDTH = 600;
const UP = 90;
const DOWN = 24;
const GAP = 0.18;

/** Two ends of what is selected, in any order. */
export type Selection = readonly [from: number, to: number];

/** Columns over spans of time. Dragging, or Shift with the arrow keys, selects some; Enter or letting go opens them. */
export function Columns({
  label,
  bars,
  labels,
  textOf,
  onOpen,
  children,
}: {
  label: string;
  bars: readonly Bar[];
  /** The spans in order, as people call them. */
  labels: readonly string[];
  textOf: (index: number) => string;
  /** With the first and the last of what was selected. */
  onOpen: (first: number, last: number) => void;
  /** What is said below, such as a link. It gets what is chosen. */
  children?: (first: number, last: number) => ComponentChildren;
}) {
  const end = bars.length - 1;
  const [selection, setSelection] = useState<Selection>([end, end]);
  const [isDragging, setDragging] = useState(false);
  const [anchor, head] = [Math.min(selection[0], end), Math.min(selection[1], end)];
  const [first, last] = [Math.min(anchor, head), Math.max(anchor, head)];
  const ups = bars.flatMap(({ up, usual }) => [up, usual?.to ?? 0]);
  const downs = bars.map(({ down = 0 }) => down);
  const scale = chooseScale(bars.map(({ up }) => up));
  const downScale = chooseScale(downs);
  const [max, downMax] = [roundedUp(Math.max(0, ...ups)), Math.max(1, ...downs)];
  const hasDown = downs.some((down) => down > 0);
  const width = WIDTH / bars.length;
  const height = hasDown ? UP + DOWN : UP;
  const y = (count: number) => UP - shareOf(count, max, scale) * (UP - 4);
  const at = (event: PointerEvent) => {
    const { left, width: pixels } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(end, Math.floor(((event.clientX - left) / pixels) * bars.length)));
  };
  const reading = first === last ? textOf(first) : `${textOf(first)} – ${textOf(last)}`;
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: head - 1,
    ArrowRight: head + 1,
    Home: 0,
    End: end,
  };
  return (
    <div class="plot">
      <div class="columns-plot">
        <span class="series-max">{texts.number(max)}</span>
        <div
          class="plot-area whole"
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={end}
          aria-valuenow={head}
          aria-valuetext={reading}
          title={texts.selectKeys}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            setDragging(true);
            setSelection([at(event), at(event)]);
          }}
          onPointerMove={(event) => setSelection(isDragging ? [anchor, at(event)] : [at(event), at(event)])}
          onPointerCancel={() => setDragging(false)}
          onPointerUp={() => {
            setDragging(false);
            if (isDragging) onOpen(first, last);
          }}
          onKeyDown={(event) => {
            const target = targets[event.key];
            if (event.key === 'Enter') onOpen(first, last);
            else if (target === undefined) return;
            else {
              const next = Math.max(0, Math.min(end, target));
              setSelection([event.shiftKey ? anchor : next, next]);
            }
            event.preventDefault();
          }}
        >
          <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" aria-hidden="true" class="series-s1">
            <rect class="plot-selection" x={first * width} y="0" width={(last - first + 1) * width} height={height} />
            <path class="plot-guide" d={`M0 4H${WIDTH}M0 ${UP}H${WIDTH}`} />
            <path class="plot-band" d={bandOf(bars, width, y)} />
            {bars.map(({ up, down = 0, isUnusual }, index) => {
              const x = index * width + (width * GAP) / 2;
              const isChosen = index >= first && index <= last;
              const kind = `${isUnusual ? ' unusual' : ''}${isChosen ? ' chosen' : ''}`;
              return (
                <>
                  {up > 0 ? (
                    <rect class={`plot-bar${kind}`} x={x} y={y(up)} width={width * (1 - GAP)} height={UP - y(up)} />
                  ) : null}
                  {down > 0 ? (
                    <rect
                      class={`plot-bar down${isChosen ? ' chosen' : ''}`}
                      x={x}
                      y={UP + 2}
                      width={width * (1 - GAP)}
                      height={Math.max(2, shareOf(down, downMax, downScale) * (DOWN - 2))}
                    />
                  ) : null}
                </>
              );
            })}
          </svg>
        </div>
      </div>
      <Axis labels={labels} isWhole />
      <p class="plot-reading">
        <span>{reading}</span>
        {children?.(first, last)}
      </p>
      {scale === 'root' || downScale === 'root' ? <p class="faint plot-scale">{texts.root}</p> : null}
    </div>
  );
}

/** Where what is usual lies, from column to column. */
function bandOf(bars: readonly Bar[], width: number, y: (count: number) => number): string {
  const known = bars.flatMap(({ usual }, index) =>
    usual === undefined ? [] : [{ x: (index + 0.5) * width, ...usual }],
  );
  if (known.length < 2) return '';
  const upper = known.map(({ x, to }): Point => [x, y(to)]);
  const lower = known.map(({ x, from }): Point => [x, y(from)]).reverse();
  return `${curve(upper)}${lower.map(([x, at]) => `L${x} ${at}`).join('')}Z`;
}
