import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, record, timestampText } from '../../kernel/wire/wire.ts';
import { SeveritySchema } from '../webhooks/index.ts';

/** Each type, what it tells, and what its threshold counts. */
export const TYPES = {
  stale_rotation: ['A secret was not rotated for longer than allowed.', 'days since the last rotation', 90],
  unusual_access_pattern: [
    'A secret is read far more often than in the last 30 days, or somebody reads many secrets that are new to them.',
    'how many deviations from the usual reads of this hour of the week; with v1, how many times the usual reads of an hour',
    3,
  ],
  ip_region_anomaly: [
    'An AppConnection is used from a country not seen in the last 30 days.',
    'countries not seen before',
    1,
  ],
  backend_drift: [
    'A database server has roles whose names start with cv_ that no secret accounts for.',
    'such roles',
    1,
  ],
  privilege_creep: ['A vault gained members, and nobody reviewed them.', 'days since the last review', 90],
  zombie_app_connection: ['An active AppConnection is not used.', 'days since the last use', 60],
  risk_score_spike: ['The risk score of a secret changed much within a day.', 'points', 30],
} as const satisfies Record<string, readonly [meaning: string, unit: string, threshold: number]>;

export type AnomalyType = keyof typeof TYPES;
export const ANOMALY_TYPES = Object.keys(TYPES) as AnomalyType[];
export const STATUSES = ['open', 'acknowledged', 'dismissed', 'resolved'] as const;
export type AnomalyStatus = (typeof STATUSES)[number];

const meanings = ANOMALY_TYPES.map((type) => `\`${type}\`: ${TYPES[type][0]}`).join(' ');
const units = ANOMALY_TYPES.map((type) => `\`${type}\`: ${TYPES[type][1]} (${TYPES[type][2]})`).join('; ');
export const AnomalyTypeName = named('AnomalyType', `What was found. ${meanings}`, oneOf(ANOMALY_TYPES));
export const AnomalyStatusName = named(
  'AnomalyStatus',
  'open: nobody acted on it. acknowledged: somebody looks into it. dismissed: it was a false alarm. resolved: nobody acted on it for 30 days, or what it is about was removed.',
  oneOf(STATUSES),
);

const THRESHOLD_MAX = 1_000_000;
export const AnomalyThresholds = named(
  'AnomalyThresholds',
  `From where on an anomaly of a type is raised, if not from its default. ${units}.`,
  record(
    `^(?:${ANOMALY_TYPES.join('|')})$`,
    Type.Number({ exclusiveMinimum: 0, maximum: THRESHOLD_MAX, description: 'The threshold of this type.' }),
    { maxProperties: ANOMALY_TYPES.length },
  ),
);
export type AnomalyThresholds = Partial<Record<AnomalyType, number>>;

const FACTS_MAX = 16;
const NAMES_MAX = 20;
export type Fact = number | string | string[] | null;
export type Facts = Readonly<Record<string, Fact>>;
const facts = (description: string) =>
  record(
    '^[a-z][a-z0-9_]{0,40}$',
    Type.Union([Type.Number(), Type.String(), Type.Array(Type.String(), { maxItems: NAMES_MAX }), Type.Null()]),
    { maxProperties: FACTS_MAX, description },
  );

export const Anomaly = named(
  'Anomaly',
  'Something that a scan found unusual.',
  object({
    id: id('anom'),
    type: AnomalyTypeName,
    severity: SeveritySchema,
    resource: Type.String({ description: 'What it is about, such as vault/shop/stripe/key or app-connection/7.' }),
    detected_at: timestampText,
    last_seen_at: timestampText,
    occurrences: Type.Integer({ description: 'How many scans found it.' }),
    baseline: facts('What is usual or allowed, such as `reads_per_hour_p95`.'),
    observed: facts('What was found, such as `reads_per_hour_last`.'),
    recommendation: Type.String({ description: 'What to do, with the request that does it.' }),
    status: AnomalyStatusName,
    acted_at: nullable(timestampText, 'When it was acknowledged or dismissed.'),
    acted_by: nullable(Type.String({ description: 'The id of who acknowledged or dismissed it.' })),
    note: nullable(
      Type.String({ description: 'The note of who acknowledged it, or the reason why it was dismissed.' }),
    ),
    ended_at: nullable(timestampText, 'When it was dismissed or resolved.'),
  }),
);
export type Anomaly = Static<typeof Anomaly>;

export const METRICS = [
  'reads_per_hour',
  'denied_per_hour',
  'distinct_actors_per_day',
  'distinct_countries_per_day',
] as const;

export const Baseline = named(
  'ResourceBaseline',
  'What is usual for a resource, over the last 30 days.',
  object({
    metric: oneOf(METRICS, 'What is counted.'),
    mean: Type.Number({ description: 'The mean. Hours and days without any count as zero.' }),
    p95: Type.Number({ description: 'The 95th percentile.' }),
    samples: Type.Integer({ description: 'How many hours or days it is computed from.' }),
  }),
);
export type Baseline = Static<typeof Baseline>;

const HOURS_OF_WEEK = 168;
const UnusualTime = named(
  'UnusualTime',
  'A time that an anomaly is about.',
  object({ from: timestampText, to: timestampText }),
);
export const ResourceHours = named(
  'ResourceHours',
  'The reads of a resource hour by hour, over the last 31 days, beside what is usual.',
  object({
    from: timestampText,
    reads: Type.Array(Type.Integer({ minimum: 0 }), { description: 'The reads of each hour, from `from` on.' }),
    denied: Type.Array(Type.Integer({ minimum: 0 }), { description: 'The refused reads of each hour.' }),
    usual: Type.Array(Type.Number(), {
      maxItems: HOURS_OF_WEEK,
      description:
        'The usual reads at each hour of the week: the first is that of `from`, and after 168 hours the same one comes again.',
    }),
    limit: Type.Array(Type.Number(), {
      maxItems: HOURS_OF_WEEK,
      description: 'From how many reads on each of these hours is unusual, by the model v2 with its default threshold.',
    }),
    judged: Type.Boolean({
      description: 'Whether there is enough history: with less than seven days nothing is raised.',
    }),
    unusual: Type.Array(UnusualTime, {
      description: 'The times that open or acknowledged anomalies of this resource are about.',
    }),
  }),
);
export type ResourceHours = Static<typeof ResourceHours>;

export const MODELS = ['v1', 'v2', 'forest'] as const;
export const ModelReport = named(
  'AnomalyModelReport',
  'What one model said about the reads of secrets.',
  object({
    model: oneOf(
      MODELS,
      'v1: 95th percentile. v2: hour of the week. forest: isolation forest over the features of a day.',
    ),
    raised: Type.Integer({ description: 'How often it would raise an anomaly.' }),
    alone: Type.Integer({ description: 'Of these, how often no other model would.' }),
    dismissed: Type.Integer({ description: 'Of these, how often somebody dismissed the anomaly as a false alarm.' }),
  }),
);
export type ModelReport = Static<typeof ModelReport>;
