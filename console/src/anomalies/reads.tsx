import { auditAddress } from '../app/audit-address.ts';
import { navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Columns } from '../plots/columns.tsx';
import { PlotTable } from '../plots/plot-table.tsx';
import { plotTexts } from '../plots/texts.ts';
import { WhenLoaded } from '../ui/notice.tsx';
import { daysOf, lastHours, type Part, type ResourceHours, weekOf } from './read-hours.ts';
import { readsTexts as texts } from './reads-texts.ts';

const HOURS_SHOWN = 72;
const LEVELS = 5;
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });
const HOUR = new Intl.DateTimeFormat('en', { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' });
/** A Monday. */
const MONDAY = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

/** The reads of a secret over a month, beside what is usual. With `isClose` hour by hour, and the week by which hours are judged. */
export default function Reads({
  resource,
  isClose,
  maySeeLog,
}: {
  resource: string;
  isClose: boolean;
  maySeeLog: boolean;
}) {
  const baselines = useCall('GET /anomalies/baselines', { query: { resource } });
  const address = (from: number, to: number) =>
    maySeeLog ? auditAddress({ resource, from: new Date(from).toISOString(), to: new Date(to).toISOString() }) : null;
  return (
    <section class="card">
      <WhenLoaded of={baselines}>
        {({ hours }) => (
          <>
            <h2>{isClose ? texts.hours : texts.days}</h2>
            <ReadsPlot
              label={isClose ? texts.hours : texts.days}
              parts={isClose ? lastHours(hours, HOURS_SHOWN) : daysOf(hours)}
              format={isClose ? HOUR : DAY}
              bandText={isClose ? texts.usualHour : null}
              addressOf={address}
            />
            {hours.judged ? null : <p class="faint">{texts.notJudged}</p>}
            {isClose && hours.judged ? <Week hours={hours} /> : null}
          </>
        )}
      </WhenLoaded>
    </section>
  );
}

const rounded = (count: number) => plotTexts.number(Math.round(count));

function ReadsPlot({
  label,
  parts,
  format,
  bandText,
  addressOf,
}: {
  label: string;
  parts: readonly Part[];
  format: Intl.DateTimeFormat;
  /** What the band means, if it is not the same for all. */
  bandText: string | null;
  addressOf: (from: number, to: number) => string | null;
}) {
  const time = ({ from }: Part) => format.format(new Date(from));
  const usualText = ({ usual }: Part) => texts.range(rounded(usual.from), rounded(usual.to));
  const textOf = (index: number) => {
    const part = parts[index];
    if (part === undefined) return '';
    const text = part.isUnusual ? texts.unusualPart : texts.part;
    return text(time(part), plotTexts.number(part.reads), usualText(part));
  };
  const addressBetween = (first: number, last: number) => {
    const [a, b] = [parts[first], parts[last]];
    return a === undefined || b === undefined ? null : addressOf(a.from, b.to);
  };
  const [any] = parts;
  if (any === undefined || parts.every(({ reads }) => reads === 0)) return <p class="soft">{texts.none}</p>;
  const band = bandText ?? texts.usualDays(rounded(any.usual.from), rounded(any.usual.to));
  return (
    <>
      <div class="row">
        <span class="series s1">{texts.reads}</span>
        <span class="series band">{band}</span>
        {parts.some(({ isUnusual }) => isUnusual) ? <span class="series s3">{texts.unusual}</span> : null}
      </div>
      <Columns
        label={label}
        bars={parts.map(({ reads, isUnusual, usual }) => ({ up: reads, isUnusual, usual }))}
        labels={parts.map(time)}
        textOf={textOf}
        onOpen={(first, last) => {
          const target = addressBetween(first, last);
          if (target !== null) navigate(target);
        }}
      >
        {(first, last) => {
          const target = addressBetween(first, last);
          return target === null ? null : <a href={target}>{plotTexts.entries}</a>;
        }}
      </Columns>
      <PlotTable
        caption={label}
        rows={parts}
        keyOf={({ from }) => from}
        columns={[
          { title: texts.when, cell: time },
          { title: texts.reads, cell: ({ reads }) => plotTexts.number(reads) },
          { title: texts.usual, cell: usualText },
          { title: texts.denied, cell: ({ denied }) => plotTexts.number(denied) },
        ]}
      />
    </>
  );
}

/** A table whose fields are coloured by what is usual, so that it needs no other for screen readers. */
function Week({ hours }: { hours: ResourceHours }) {
  const week = weekOf(hours);
  const max = Math.max(1, ...week.flat());
  return (
    <>
      <h3>{texts.week}</h3>
      <p class="faint">{texts.weekHint}</p>
      <table class="heat">
        <caption class="visually-hidden">{texts.week}</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">{texts.day}</span>
            </th>
            {week[0]?.map((_, hour) => (
              <th key={hour} scope="col">
                {texts.hour(hour)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {week.map((day, weekday) => (
            <tr key={weekday}>
              <th scope="row">{WEEKDAY.format(MONDAY + weekday * DAY_MS)}</th>
              {day.map((usual, hour) => (
                <td key={hour} class={`heat-${Math.ceil((usual / max) * LEVELS)}`} title={rounded(usual)}>
                  <span class="visually-hidden">{rounded(usual)}</span>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
