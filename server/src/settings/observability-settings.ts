import { metricsToken } from '../kernel/auth/metrics-token.ts';
import { type Kind, onOrOff } from './setting-kind.ts';

/** What is logged about requests. */
export interface RequestLogConfig {
  /** Requests that take longer are logged; 0 if none are. */
  readonly slowRequestMs: number;
  /** Whether each request is logged. */
  readonly isAccessLogOn: boolean;
}

const SLOW_REQUEST_MS_MAX = 600_000;
const TIMEOUT_SECONDS_MAX = 600;
const milliseconds: Kind<number> = {
  expects: `a whole number from 0 to ${SLOW_REQUEST_MS_MAX}`,
  parse: (written) => {
    const number = /^(?:0|[1-9]\d{0,5})$/.test(written) ? Number(written) : -1;
    return number >= 0 && number <= SLOW_REQUEST_MS_MAX ? number : undefined;
  },
};
const collectorUrl: Kind<string> = {
  expects: 'an http:// or https:// URL without user, query or fragment, such as http://127.0.0.1:4318',
  parse: (written) => {
    if (!/^https?:\/\/[a-z0-9.:[\]-]+(?:\/[A-Za-z0-9._~-]+)*\/?$/.test(written) || !URL.canParse(written))
      return undefined;
    const { origin, pathname } = new URL(written);
    return `${origin}${pathname}`.replace(/\/$/, '');
  },
};
const seconds: Kind<number> = {
  expects: `a whole number from 1 to ${TIMEOUT_SECONDS_MAX}`,
  parse: (written) => {
    const number = /^[1-9]\d{0,2}$/.test(written) ? Number(written) : 0;
    return number >= 1 && number <= TIMEOUT_SECONDS_MAX ? number : undefined;
  },
};

export const OBSERVABILITY_SETTINGS = [
  {
    name: 'CV_REQUEST_TIMEOUT_SECONDS',
    kind: seconds,
    default: '20',
    doc: 'Seconds after which a request gets 503, the arrival of its body not counted. Nothing of it is changed then; a change whose commit was sent before is waited for. Bulk requests have limits of their own.',
    secret: false,
  },
  {
    name: 'CV_SLOW_REQUEST_MS',
    kind: milliseconds,
    default: '5000',
    doc: 'Requests that take longer than so many milliseconds are logged, at level `warn`; 0 turns it off.',
    secret: false,
  },
  {
    name: 'CV_OTLP_URL',
    kind: collectorUrl,
    default: null,
    fallback: 'none: nothing is traced',
    doc: 'OpenTelemetry collector to which traces are sent, by OTLP over HTTP with JSON, at `/v1/traces` below this URL. `traceparent` of requests is honoured then.',
    secret: false,
  },
  {
    name: 'CV_METRICS_TOKEN',
    kind: metricsToken,
    default: null,
    fallback: 'none: `/metrics` takes the tokens of people alone',
    doc: `Token for \`GET /metrics\` and nothing else, which belongs to no person and is also good while the database is away: ${metricsToken.expects}.`,
    secret: true,
  },
  {
    name: 'CV_ACCESS_LOG',
    kind: onOrOff,
    default: 'off',
    doc: '`on`: each request is logged at level `info`, with its route, status, duration and address, and without its parameters, query or body.',
    secret: false,
  },
] as const;

interface Written {
  CV_SLOW_REQUEST_MS: number;
  CV_ACCESS_LOG: boolean;
}

export function requestLogOf(values: Written): RequestLogConfig {
  return Object.freeze({ slowRequestMs: values.CV_SLOW_REQUEST_MS, isAccessLogOn: values.CV_ACCESS_LOG });
}

const QUIETER_THAN_INFO = new Set(['fatal', 'error', 'warn', 'silent']);

export function observabilityConflicts(values: Readonly<Record<string, unknown>>): string[] {
  const isUnseen = values['CV_ACCESS_LOG'] === true && QUIETER_THAN_INFO.has(String(values['CV_LOG_LEVEL']));
  return isUnseen ? ['CV_ACCESS_LOG=on has no effect here: remove it, or set CV_LOG_LEVEL=info.'] : [];
}
