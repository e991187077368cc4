import type { ComponentChildren } from 'preact';
import { shared } from './texts.ts';

export type Tone = 'good' | 'warning' | 'danger' | 'accent';

export function Badge({
  tone,
  title,
  children,
}: {
  tone?: Tone | undefined;
  title?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <span class={tone === undefined ? 'badge' : `badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** Its colour and mark are those of the environment. In tables production is quiet, because a column of filled chips says nothing. */
export function EnvironmentBadge({ environment }: { environment: string | null | undefined }) {
  return environment ? <span class={`env ${environment}`}>{shared.stages[environment] ?? environment}</span> : null;
}

const SEVERITY_TONES: Readonly<Record<string, Tone>> = { critical: 'danger', high: 'danger', medium: 'warning' };

export function SeverityBadge({ severity }: { severity: string }) {
  return <Badge tone={SEVERITY_TONES[severity]}>{severity}</Badge>;
}
