import { Type } from 'typebox';
import { ANY_TOKEN, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

/** An empty object, which clients send where there is no body. */
const BODY_BYTES_MAX = 1024;

const common = {
  noun: 'jobs',
  aboutNoun: {
    title: 'Background jobs',
    group: 'Administration',
    guide: ['operations'],
    description:
      'Background work of the installation, such as purging what has expired and verifying audit logs. Each job runs on one node at a time; only the operator tenant sees them.',
  },
  credentials: ANY_TOKEN,
  tenant: 'operator',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  query: NONE,
  body: NONE,
  raw: NONE,
  status: 200,
} as const;

const Job = named(
  'Job',
  'A background job.',
  object({
    name: Type.String({ description: 'The name of the job.' }),
    interval_seconds: Type.Integer({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: 'How long after a run the next one is due.',
    }),
    is_removing: Type.Boolean({
      description:
        'Whether it removes what has expired. Such a job runs only while the clock can be trusted, and removes no more than its share.',
    }),
    is_running: Type.Boolean({ description: 'Whether a node runs it now.' }),
    last_started_at: nullable(timestampText, 'When it last started, on whichever node. Null if it never did.'),
    last_finished_at: nullable(timestampText, 'When it last ended. Null if it never did.'),
    last_outcome: nullable(
      oneOf(['success', 'failure', 'refused'], 'How a run ended.'),
      'How its last run ended; `refused`: it would have removed too much and removed nothing. Null if it never ran.',
    ),
    last_error: nullable(
      Type.String({ maxLength: 300 }),
      'What its last run that failed said, in one line; the log has more. Null if none failed.',
    ),
    last_failed_at: nullable(timestampText, 'When it last failed.'),
    next_run_at: nullable(timestampText, 'When it is due. Null if it runs as soon as a node is free.'),
    runs: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'How often it ended, on any node.',
    }),
  }),
);

export const listJobs = endpoint({
  ...common,
  name: 'listJobs',
  method: 'GET',
  path: '/admin/jobs',
  summary: 'List the background jobs, with their last and next run',
  description: 'Only for the operator tenant, which runs the installation. It shows the runs of all nodes.',
  bodyBytesMax: 0,
  permission: 'jobs:list',
  resource: 'job',
  rate: 'read',
  audit: 'jobs:list',
  effect: 'read',
  params: NONE,
  output: object({ jobs: Type.Array(Job, { description: 'The jobs, in the order of their names.' }) }),
  errors: [],
});

export const runJob = endpoint({
  ...common,
  name: 'runJob',
  method: 'POST',
  path: '/admin/jobs/{job}/run',
  summary: 'Run a background job now',
  description:
    'Only for the operator tenant. The job is due at once, and the first node that looks runs it, within seconds; it runs no second time beside a run that goes on. A job that removes is bound by the clock and by its share as always.',
  bodyBytesMax: BODY_BYTES_MAX,
  permission: 'jobs:run',
  resource: 'job/{job}',
  rate: 'write',
  audit: 'jobs:run',
  effect: 'change',
  params: object({
    job: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z][a-z0-9-]*$', description: 'The name of a job.' }),
  }),
  output: Job,
  errors: ['NOT_FOUND'],
});
