import Type from 'typebox';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { nextCursor, nullable, object, oneOf, pageQuery, timeFilter, timestampText } from '../../kernel/wire/wire.ts';
import { auditFilters, lookUpsFilter } from '../audit/index.ts';

/** More are not read for one page. */
const ENTRIES_MAX = 20_000;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const AuditSpan = named(
  'AuditSpan',
  'How much the audit log has of one hour or minute.',
  object({
    start: timestampText,
    reads: count('Values of secrets that were read. A vault that does not list its reads is included.'),
    changes: count('Allowed requests that changed something and needed a permission.'),
    other: count('Other allowed requests, such as lists and sign-ins.'),
    denied: count('Requests that were refused.'),
    failed: count('Requests that failed.'),
  }),
);

const ActiveActor = named(
  'ActiveActor',
  'Somebody or something that was active.',
  object({
    kind: Type.String({ description: 'A person or a kind of machine.' }),
    id: Type.String({ description: 'The id.' }),
    name: Type.String({ description: 'The name, such as an e-mail address; empty if the log does not have it.' }),
    reads: count('Values of secrets that were read.'),
    changes: count('Requests that changed something.'),
    denied: count('Requests that were refused.'),
  }),
);

export const readAuditActivity = endpoint({
  ...ORDINARY,
  name: 'readAuditActivity',
  noun: 'audit',
  credentials: ANY_TOKEN,
  method: 'GET',
  path: '/v1/audit/activity',
  summary: 'Count what happened, by hour or minute',
  description:
    'Spans in which nothing happened are left out. Whole hours without a filter come from counts, which exist of the last 35 days. Anything else reads a limited part of the log for each page, newest first: continue until `next_cursor` is null, and add up spans that are on two pages.',
  permission: 'audit:read',
  resource: 'audit',
  rate: 'read',
  audit: 'audit:read_activity',
  effect: 'read',
  bodyBytesMax: 0,
  params: NONE,
  body: NONE,
  query: object({
    cursor: pageQuery.cursor,
    entries: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: ENTRIES_MAX,
        description: 'The maximum number of entries that a page counts, with a filter. Default: as many as it reads.',
      }),
    ),
    ...auditFilters,
    look_ups: lookUpsFilter,
    span: Type.Optional(oneOf(['hour', 'minute'], 'How long each span is. Default: hour.')),
    from: timeFilter('From this time on, rounded down to a span. Default: 24 hours before the end.'),
    to: timeFilter('Until this time, rounded up to a span. Default: now. At most 1,000 spans after the beginning.'),
  }),
  status: 200,
  output: object({
    from: timestampText,
    to: timestampText,
    spans: Type.Array(AuditSpan, { description: 'In order.' }),
    most_active: Type.Array(ActiveActor, {
      description:
        'At most ten, the most active first, of the last seven days of the period at most. With a filter: of this page.',
    }),
    counted_since: nullable(timestampText, 'The first hour that has counts; null if none has, or with a filter.'),
    counted_until: nullable(
      timestampText,
      'If so much was recorded that counting is behind: entries from this time on are not counted yet.',
    ),
    next_cursor: nextCursor,
  }),
  errors: [],
});
