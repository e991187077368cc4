import type { RouteOutput } from '@coffer/client';
import type { Tone } from '../ui/badge.tsx';
import type { exportersTexts } from './texts.ts';

export type ExporterItem = RouteOutput<'GET /v1/audit/exporters/{exporter_id}'>;
export type ExporterType = ExporterItem['type'];
export type ExporterState = keyof typeof exportersTexts.states;
type CredentialName = keyof typeof exportersTexts.credentials;

/** The credentials that are asked for, by type. */
export const CREDENTIALS: Readonly<Record<ExporterType, readonly CredentialName[]>> = {
  splunk_hec: ['token'],
  elastic: ['api_key', 'username', 'password'],
  datadog: ['api_key'],
  syslog: [],
  otlp: ['token'],
  https_json: ['token'],
};

/** Types that cannot be used without a credential. */
export const NEEDS_CREDENTIAL: readonly ExporterType[] = ['splunk_hec', 'datadog'];

export function exporterState({ enabled, last_error, last_success_at }: ExporterItem): ExporterState {
  if (!enabled) return 'paused';
  if (last_error !== null) return 'failing';
  return last_success_at === null ? 'waiting' : 'sending';
}

export const STATE_TONES: Readonly<Record<ExporterState, Tone | undefined>> = {
  sending: 'good',
  failing: 'danger',
  paused: 'warning',
  waiting: undefined,
};
