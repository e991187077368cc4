import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useLoaded } from '../app/loading.ts';
import { Columns } from '../plots/columns.tsx';
import { PlotTable } from '../plots/plot-table.tsx';
import { plotTexts } from '../plots/texts.ts';
import { Button } from '../ui/button.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { type Filter, localTime } from './filter.ts';
import { type Bin, binsOf, type Period, periodOf } from './histogram-spans.ts';
import { auditTexts as texts } from './texts.ts';

/** Each page of a filtered count reads a part of the log. */
const PAGES_MAX = 3;
const FORMAT = {
  minute: new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
  hour: new Intl.DateTimeFormat('en', {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }),
};

/** How much the filter finds, over time. What is selected becomes the period of the filter. */
export default function Histogram({
  filter,
  hasLookUps,
  onApply,
}: {
  filter: Filter;
  hasLookUps: boolean;
  onApply: (filter: Filter) => void;
}) {
  const [now] = useState(Date.now());
  const [pages, setPages] = useState(PAGES_MAX);
  const period = periodOf(filter, now);
  const counted = useLoaded((signal) => load(filter, period, pages, signal), [pages]);
  return (
    <section class="card" aria-label={texts.histogram}>
      <WhenLoaded of={counted}>
        {({ spans, isWhole }) => (
          <>
            <Picture
              bins={binsOf(period, spans, hasLookUps || filter.action !== undefined)}
              period={period}
              onSelect={(from, to) =>
                onApply({
                  ...filter,
                  from: localTime(new Date(from).toISOString()),
                  to: localTime(new Date(to).toISOString()),
                })
              }
            />
            {isWhole ? null : (
              <div class="row">
                <span class="faint">{texts.countedPart}</span>
                <Button isSmall isBusy={counted.isLoading} onClick={() => setPages(pages + PAGES_MAX)}>
                  {texts.countFurther}
                </Button>
              </div>
            )}
          </>
        )}
      </WhenLoaded>
    </section>
  );
}

async function load(filter: Filter, { from, to, span }: Period, pages: number, signal: AbortSignal) {
  const { actor, action, vault, resource, decision } = filter;
  const spans = [];
  let cursor: string | null = null;
  for (let page = 0; page < pages; page++) {
    const query = {
      span,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      ...(actor && { actor }),
      ...(action && { action }),
      ...(vault && { vault }),
      ...(resource && { resource }),
      ...(decision && { decision: decision as 'allow' | 'deny' | 'error' }),
      ...(cursor !== null && { cursor }),
    };
    const answer: Awaited<ReturnType<typeof count>> = await count(query, signal);
    spans.push(...answer.spans);
    cursor = answer.next_cursor;
    if (cursor === null) break;
  }
  return { spans, isWhole: cursor === null };
}

function count(query: object, signal: AbortSignal) {
  return call('GET /v1/audit/activity', { query }, { signal });
}

function Picture({
  bins,
  period,
  onSelect,
}: {
  bins: readonly Bin[];
  period: Period;
  onSelect: (from: number, to: number) => void;
}) {
  const label = ({ from }: Bin) => FORMAT[period.span].format(new Date(from));
  const textOf = (index: number) => {
    const bin = bins[index];
    return bin === undefined ? '' : texts.bin(label(bin), plotTexts.number(bin.allowed), plotTexts.number(bin.refused));
  };
  const total = (name: 'allowed' | 'refused') => plotTexts.number(bins.reduce((sum, bin) => sum + bin[name], 0));
  return (
    <>
      <div class="row">
        <span class="series s1">{texts.allowedCount(total('allowed'))}</span>
        <span class="series s3">{texts.refusedCount(total('refused'))}</span>
      </div>
      <Columns
        label={texts.histogram}
        bars={bins.map(({ allowed, refused }) => ({ up: allowed, down: refused }))}
        labels={bins.map(label)}
        textOf={textOf}
        onOpen={(first, last) => onSelect(bins[first]?.from ?? period.from, bins[last]?.to ?? period.to)}
      />
      <PlotTable
        caption={texts.histogram}
        rows={bins}
        keyOf={({ from }) => from}
        columns={[
          { title: texts.when, cell: label },
          { title: texts.decisions.allow, cell: ({ allowed }) => plotTexts.number(allowed) },
          { title: texts.refusedOrFailed, cell: ({ refused }) => plotTexts.number(refused) },
        ]}
      />
    </>
  );
}
