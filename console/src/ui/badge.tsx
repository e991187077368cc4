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

const ENVIRONMENT_TONES: Readonly<Record<string, Tone>> = {
  production: 'danger',
  staging: 'warning',
  homologation: 'warning',
};

export function EnvironmentBadge({ environment }: { environment: string | null | undefined }) {
  return environment ? (
    <Badge tone={ENVIRONMENT_TONES[environment]}>{shared.stages[environment] ?? environment}</Badge>
  ) : null;
}

const SEVERITY_TONES: Readonly<Record<string, Tone>> = { critical: 'danger', high: 'danger', medium: 'warning' };

export function SeverityBadge({ severity }: { severity: string }) {
  return <Badge tone={SEVERITY_TONES[severity]}>{severity}</Badge>;
}
