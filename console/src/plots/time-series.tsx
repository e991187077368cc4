import { useState } from 'preact/hooks';
import { Chooser } from './chooser.tsx';
import { PlotTable } from './plot-table.tsx';
import { area, chooseScale, curve, type Point, roundedUp, type Scale, shareOf } from './scale.ts';
import { plotTexts as texts } from './texts.ts';

/** One series with a scale of its own. `tone` chooses its colour. */
export interface Series {
  readonly title: string;
  readonly tone: 's1' | 's2' | 's3';
  readonly counts: readonly number[];
  /** What is to be said of all of it. */
  readonly note?: string;
  readonly isNoteWarning?: boolean;
}

const WIDTH = 600;
const HEIGHT = 60;
const TOP = 4;

/** Series over the same spans of time, one above the other. */
export function TimeSeries({
  label,
  all,
  spans,
  spanTitle,
  addressOf,
}: {
  label: string;
  all: readonly Series[];
  /** The spans in order, as people call them. */
  spans: readonly string[];
  /** What a span is, at the head of the table. */
  spanTitle: string;
  addressOf: (index: number) => string | null;
}) {
  const last = spans.length - 1;
  const [chosen, setChosen] = useState(last);
  const shown = Math.min(chosen, last);
  const describe = (index: number) =>
    `${spans[index]}: ${all.map(({ title, counts }) => `${title.toLowerCase()} ${texts.number(counts[index] ?? 0)}`).join(', ')}`;
  const address = addressOf(shown);
  const scales = all.map(({ counts }) => chooseScale(counts));
  return (
    <div class="plot">
      <div class="time-series">
        <div class="series-heads">
          {all.map(({ title, tone, counts, note, isNoteWarning }) => (
            <div class="series-head" key={title}>
              <div class={`series ${tone}`}>{title}</div>
              <strong>{texts.number(counts.reduce((sum, count) => sum + count, 0))}</strong>
              {note === undefined ? null : <div class={isNoteWarning ? 'unusual' : 'faint'}>{note}</div>}
            </div>
          ))}
        </div>
        <Chooser
          label={label}
          count={spans.length}
          chosen={shown}
          textOf={describe}
          addressOf={addressOf}
          onChoose={setChosen}
        >
          {all.map((series, i) => (
            <SeriesPicture key={series.title} series={series} chosen={shown} scale={scales[i] ?? 'linear'} />
          ))}
        </Chooser>
      </div>
      <Axis labels={spans} />
      <p class="plot-reading">
        <span>{describe(shown)}</span>
        {address === null ? null : <a href={address}>{texts.entries}</a>}
      </p>
      {scales.includes('root') ? <p class="faint plot-scale">{texts.root}</p> : null}
      <PlotTable
        caption={label}
        rows={spans.map((span, index) => ({ span, index }))}
        keyOf={({ index }) => index}
        columns={[
          { title: spanTitle, cell: ({ span }) => span },
          ...all.map(({ title, counts }) => ({
            title,
            cell: ({ index }: { index: number }) => texts.number(counts[index] ?? 0),
          })),
        ]}
      />
    </div>
  );
}

function SeriesPicture({ series: { tone, counts }, chosen, scale }: { series: Series; chosen: number; scale: Scale }) {
  const max = roundedUp(Math.max(0, ...counts));
  const x = (index: number) => ((index + 0.5) / counts.length) * WIDTH;
  const y = (count: number) => HEIGHT - shareOf(count, max, scale) * (HEIGHT - TOP);
  const points = counts.map((count, index): Point => [x(index), y(count)]);
  return (
    <div class="series-picture">
      <span class="series-max">{texts.number(max)}</span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" class={`series-${tone}`}>
        <path class="plot-guide" d={`M0 ${TOP}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
        <path class="plot-fill" d={area(points, HEIGHT)} />
        <path class="plot-line" d={curve(points)} />
        <path class="plot-chosen" d={`M${x(chosen)} 0V${HEIGHT}`} />
        <path class="plot-point" d={`M${x(chosen)} ${y(counts[chosen] ?? 0)}h0`} />
      </svg>
    </div>
  );
}

const LABELS = 7;

/** Some of the labels, with equal distances between them. */
export function Axis({ labels, isWhole = false }: { labels: readonly string[]; isWhole?: boolean }) {
  const count = Math.min(LABELS, labels.length);
  const shown = Array.from({ length: count }, (_, i) => Math.round((i * (labels.length - 1)) / Math.max(1, count - 1)));
  return (
    <div class={isWhole ? 'plot-axis whole' : 'plot-axis'} aria-hidden="true">
      {shown.map((index) => (
        <span key={index}>{labels[index]}</span>
      ))}
    </div>
  );
}
