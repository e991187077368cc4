import { useState } from 'preact/hooks';
import { auditAddress } from '../app/audit-address.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Rank } from '../plots/rank.tsx';
import { TimeSeries } from '../plots/time-series.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { type Counts, PERIODS, type Period, peakOf, queryOf, type Span, spansOf, totalsOf } from './activity-spans.ts';
import { activityTexts as texts } from './activity-texts.ts';

const SERIES = [
  { name: 'reads', tone: 's1' },
  { name: 'changes', tone: 's2' },
  { name: 'denied', tone: 's3' },
] as const;
const DECISIONS = { reads: 'allow', changes: 'allow', denied: 'deny' } as const;
type SeriesName = keyof typeof DECISIONS;

/** What happened lately in all vaults, and who was most active, for people who may read the audit log. */
export default function Activity() {
  const [period, setPeriod] = useState<Period>('day');
  const [now, setNow] = useState(Date.now());
  const activity = useCall('GET /v1/audit/activity', { query: queryOf(period, now) });
  const before = useCall('GET /v1/audit/activity', { query: queryOf(period, now, 1) });
  const choose = (next: Period) => {
    setPeriod(next);
    setNow(Date.now());
  };
  return (
    <div class="columns">
      <section class="card">
        <div class="row between">
          <h2>{texts.title}</h2>
          <Periods period={period} onChoose={choose} />
          <a href={href('audit')}>{texts.log}</a>
        </div>
        <WhenLoaded of={activity}>
          {(answer) => (
            <>
              <Plot
                spans={spansOf(answer, period)}
                before={before.data === null ? null : totalsOf(before.data)}
                period={period}
              />
              <Coverage since={answer.counted_since} until={answer.counted_until} from={answer.from} />
            </>
          )}
        </WhenLoaded>
      </section>
      <section class="card">
        <h2>{texts.active}</h2>
        <p class="soft">{texts.activeHint}</p>
        <WhenLoaded of={activity}>
          {({ most_active }) =>
            most_active.length === 0 ? (
              <p>{texts.nobody}</p>
            ) : (
              <Rank
                rows={most_active
                  .slice(0, 6)
                  .map((each) => ({ ...each, count: each.reads + each.changes + each.denied }))}
                keyOf={({ kind, id }) => `${kind} ${id}`}
              >
                {({ id, name }) => <a href={auditAddress({ actor: id })}>{name === '' ? id : name}</a>}
              </Rank>
            )
          }
        </WhenLoaded>
      </section>
    </div>
  );
}

function Periods({ period, onChoose }: { period: Period; onChoose: (period: Period) => void }) {
  return (
    <div class="segments" role="radiogroup" aria-label={texts.period}>
      {PERIODS.map((each) => (
        <label key={each}>
          <input type="radio" name="period" checked={each === period} onChange={() => onChoose(each)} />
          <span>{texts.periods[each]}</span>
        </label>
      ))}
    </div>
  );
}

const CLOCK = new Intl.DateTimeFormat('en', { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

function Plot({ spans, before, period }: { spans: readonly Span[]; before: Counts | null; period: Period }) {
  const all = SERIES.map(({ name, tone }) => {
    const counts = spans.map((span) => span.counts[name]);
    return { title: texts.series[name], tone, counts, ...noteOf(name, counts, before, period) };
  });
  const format = period === 'month' ? DAY : CLOCK;
  const addressOf = (index: number) => {
    const span = spans[index];
    if (span === undefined) return null;
    const isPeakOfDenials =
      span.counts.denied > 0 && peakOf(spans.map(({ counts }) => counts.denied)) === span.counts.denied;
    return auditAddress({
      from: span.from.toISOString(),
      to: span.to.toISOString(),
      ...(isPeakOfDenials && { decision: DECISIONS.denied }),
    });
  };
  return (
    <TimeSeries
      key={period}
      label={texts.label}
      all={all}
      spans={spans.map(({ from }) => format.format(from))}
      spanTitle={texts.spans[period]}
      addressOf={addressOf}
    />
  );
}

/** One sentence for each series: a peak of refusals before all else, then the comparison with the time before. */
function noteOf(name: SeriesName, counts: readonly number[], before: Counts | null, period: Period) {
  const peak = name === 'denied' ? peakOf(counts) : null;
  if (peak !== null) return { note: texts.peak(peak, texts.within[period]), isNoteWarning: true };
  const [now, then] = [counts.reduce((sum, count) => sum + count, 0), before?.[name] ?? 0];
  if (before === null || then === 0) return {};
  const share = Math.abs(now - then) / then;
  return { note: share < 0.01 ? texts.same : now > then ? texts.more(share) : texts.less(share) };
}

/** Says which part of the period has no counts, so that it does not look quiet. */
function Coverage({ since, until, from }: { since: string | null; until: string | null; from: string }) {
  const time = (text: string) => new Date(text).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' });
  const isPartial = since !== null && Date.parse(since) > Date.parse(from);
  return (
    <>
      {isPartial ? <p class="faint">{texts.since(time(since))}</p> : null}
      {until === null ? null : <p class="faint">{texts.behind(time(until))}</p>}
    </>
  );
}
