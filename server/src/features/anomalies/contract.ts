import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import {
  freeText,
  idParam,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  timeFilter,
  timestampText,
} from '../../kernel/wire/wire.ts';
import { SeveritySchema } from '../webhooks/index.ts';
import { Anomaly, AnomalyTypeName, Baseline, ModelReport, ResourceHours, STATUSES } from './schemas.ts';

const RESOURCE_CHARS_MAX = 1200;
const NOTE_CHARS_MAX = 1000;
/** Policies name an anomaly by its id, or by what it is about. */
const NAMES = [
  'anomaly/{anomaly_id}',
  'vault/{vault}/{path*}',
  'vault/{vault}',
  'app-connection/{connection}',
  'user/{user_id}',
] as const;

const common = {
  ...ORDINARY,
  noun: 'anomalies',
  aboutNoun: {
    title: 'Anomalies',
    group: 'People',
    guide: ['anomalies', 'webhooks'],
    description: 'What scans found unusual: reads, regions, rotations, members and connections.',
  },
  credentials: ANY_TOKEN,
  permission: 'anomalies:read',
  rate: 'read',
  effect: 'read',
  query: NONE,
  body: NONE,
  params: NONE,
  status: 200,
} as const;

const ofOne = {
  resource: 'loaded',
  loads: NAMES,
  params: object({ anomaly_id: described('The id of an anomaly.', idParam) }),
  output: Anomaly,
  errors: ['NOT_FOUND'],
} as const;

export const listAnomalies = endpoint({
  ...common,
  name: 'listAnomalies',
  method: 'GET',
  path: '/anomalies',
  summary: 'List anomalies',
  description: 'Newest first, of what you may see. Only open ones, unless `status` selects others.',
  resource: 'loaded',
  loads: [...NAMES, 'tenant/{tenant_id}'],
  audit: 'anomalies:list',
  bulk: true,
  query: object({
    type: Type.Optional(AnomalyTypeName),
    severity: Type.Optional(SeveritySchema),
    tenant: Type.Optional(described('Another tenant, by id; only for the operator tenant.', idParam)),
    since: timeFilter('Only anomalies detected at or after this time.'),
    status: Type.Optional(oneOf([...STATUSES, 'all'], 'Only anomalies with this status. Default: open.')),
    ...pageQuery,
  }),
  output: object({
    anomalies: Type.Array(Anomaly),
    total: Type.Integer({ description: 'Total number on all pages.' }),
    next_cursor: nextCursor,
  }),
  errors: ['NOT_FOUND'],
});

export const readAnomaly = endpoint({
  ...common,
  ...ofOne,
  name: 'readAnomaly',
  method: 'GET',
  path: '/anomalies/{anomaly_id}',
  summary: 'Read an anomaly',
  description: 'With what to do about it.',
  audit: 'anomalies:read',
});

export const acknowledgeAnomaly = endpoint({
  ...common,
  ...ofOne,
  name: 'acknowledgeAnomaly',
  method: 'POST',
  path: '/anomalies/{anomaly_id}/acknowledge',
  summary: 'Acknowledge an anomaly',
  description: 'It leaves the list of open ones. What was found stays out of the baseline.',
  permission: 'anomalies:acknowledge',
  rate: 'write',
  audit: 'anomalies:acknowledge',
  effect: 'change',
  body: object({ note: Type.Optional(freeText(NOTE_CHARS_MAX, 'Why, or what is done about it.')) }),
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const dismissAnomaly = endpoint({
  ...common,
  ...ofOne,
  name: 'dismissAnomaly',
  method: 'POST',
  path: '/anomalies/{anomaly_id}/dismiss',
  summary: 'Dismiss an anomaly as a false alarm',
  description:
    'Findings of the same resource that are as near to it are not raised again, and its reads become part of the baseline.',
  permission: 'anomalies:dismiss',
  rate: 'write',
  audit: 'anomalies:dismiss',
  effect: 'change',
  body: object({
    reason: { minLength: 1, ...freeText(NOTE_CHARS_MAX, 'Why it is a false alarm.') },
  }),
  errors: ['NOT_FOUND', 'IN_USE'],
});

export const readBaselines = endpoint({
  ...common,
  name: 'readAnomalyBaselines',
  method: 'GET',
  path: '/anomalies/baselines',
  summary: 'Read what is usual for a resource',
  description: 'Over the 30 days before the last 24 hours, which scans compare with them.',
  resource: 'loaded',
  loads: ['vault/{vault}/{path*}'],
  audit: 'anomalies:read_baselines',
  bulk: true,
  query: object({
    resource: Type.String({
      minLength: 1,
      maxLength: RESOURCE_CHARS_MAX,
      examples: ['vault/shop/stripe/key'],
      description: 'A secret, as vault/{vault}/{path}.',
    }),
  }),
  output: object({
    resource: Type.String({ description: 'The resource.' }),
    from: timestampText,
    to: timestampText,
    baselines: Type.Array(Baseline),
    hours: ResourceHours,
  }),
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND'],
});

const ScanState = {
  last_scanned_at: nullable(timestampText, 'When the last scan ended; null before the first one.'),
  requested_at: nullable(timestampText, 'When a scan was requested that has not ended yet.'),
};

export const readModels = endpoint({
  ...common,
  name: 'readAnomalyModels',
  method: 'GET',
  path: '/anomalies/models',
  summary: 'Compare the models',
  description:
    'What each model said about reads in the last 35 days. Only scans with `CV_ANOMALY_ML_VERSION` set to shadow or ensemble are compared, because only these run more than one.',
  resource: 'anomaly-models',
  audit: 'anomalies:read_models',
  output: object({
    active: oneOf(['v1', 'shadow', 'v2', 'ensemble'], 'The model that decides, as configured.'),
    compared: Type.Integer({ description: 'How often at least one model would have raised an anomaly.' }),
    both: Type.Integer({ description: 'How often v1 and v2 agreed to raise one.' }),
    models: Type.Array(ModelReport),
    ...ScanState,
  }),
  errors: [],
});

export const scan = endpoint({
  ...common,
  name: 'scanAnomalies',
  method: 'POST',
  path: '/anomalies/scan',
  summary: 'Scan for anomalies now',
  description: 'The scan runs in the background. `GET /anomalies/models` shows when it has ended.',
  permission: 'anomalies:scan',
  resource: 'anomaly-scans',
  rate: 'write',
  audit: 'anomalies:scan',
  effect: 'change',
  status: 200,
  output: object(ScanState),
  errors: [],
});
