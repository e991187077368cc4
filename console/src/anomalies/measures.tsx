import type { ComponentChildren } from 'preact';
import { Time } from '../ui/time.tsx';
import { anomaliesTexts as texts } from './texts.ts';

type Facts = Readonly<Record<string, unknown>>;

/** What was observed, by what it is compared with. Only numbers of one unit are drawn beside each other. */
const COMPARED: readonly (readonly [observed: string, usual: string])[] = [
  ['days_since_rotation', 'rotation_days_allowed'],
  ['days_since_review', 'review_days_allowed'],
  ['members', 'members_at_review'],
  ['unused_days', 'unused_days_allowed'],
  ['reads_per_hour_last', 'reads_per_hour_p95'],
  ['new_secrets_last_24h', 'new_secrets_per_day_p95'],
  ['risk_score', 'risk_score'],
];

/** Observed beside usual, as bars where both are numbers, and everything else in words. */
export function Measures({ observed, baseline }: { observed: Facts; baseline: Facts }) {
  const compared = COMPARED.filter(
    ([now, usual]) => typeof observed[now] === 'number' && typeof baseline[usual] === 'number',
  );
  const others = [
    ...Object.entries(observed).filter(([name]) => !compared.some(([now]) => now === name)),
    ...Object.entries(baseline).filter(([name]) => !compared.some(([, usual]) => usual === name)),
  ];
  return (
    <>
      {compared.map(([now, usual]) => (
        <Comparison key={now} name={now} value={Number(observed[now])} usual={Number(baseline[usual])} />
      ))}
      {others.length === 0 ? null : (
        <dl class="facts">
          {others.map(([name, value]) => (
            <Fact key={name} name={name}>
              {shown(value)}
            </Fact>
          ))}
        </dl>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{nameOf(name)}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Comparison({ name, value, usual }: { name: string; value: number; usual: number }) {
  const largest = Math.max(value, usual, 1);
  const bars = [
    { title: texts.observed, amount: value, kind: 'observed' },
    { title: texts.baselines[name as keyof typeof texts.baselines] ?? texts.baseline, amount: usual, kind: 'usual' },
  ];
  return (
    <div class="measures">
      <strong>{nameOf(name)}</strong>
      {bars.map(({ title, amount, kind }) => (
        <div key={kind} class="measure">
          <span class="soft">{title}</span>
          <svg class={`bar ${kind}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
            <rect width={(amount / largest) * 100} height="10" />
          </svg>
          <span>{amount}</span>
        </div>
      ))}
    </div>
  );
}

function nameOf(name: string): string {
  return texts.facts[name as keyof typeof texts.facts] ?? name.replaceAll('_', ' ');
}

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T/;

function shown(value: unknown): ComponentChildren {
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.join(', ');
  if (typeof value === 'string' && TIMESTAMP.test(value)) return <Time at={value} />;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
