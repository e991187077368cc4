import { Type } from 'typebox';
import { ANY_TOKEN, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described } from '../../kernel/named-schemas.ts';
import { WARNING_CODES } from '../../kernel/start-warnings.ts';
import { object, oneOf } from '../../kernel/wire.ts';

const common = {
  noun: 'operations',
  nounDescription: 'For who runs the service: whether it is alive and ready, and how it does.',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  rate: 'none',
  bodyBytesMax: 0,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  status: 200,
} as const;

const open = { credentials: 'public', tenant: NONE, permission: NONE, resource: NONE, audit: NONE } as const;

export const health = endpoint({
  ...common,
  ...open,
  name: 'health',
  method: 'GET',
  path: '/health',
  summary: 'Whether the process is alive',
  description: 'It asks nothing of the database: for what restarts a process that hangs.',
  output: object({ status: oneOf(['ok'], 'It answers at all.') }),
  raw: NONE,
  errors: [],
});

export const ready = endpoint({
  ...common,
  ...open,
  name: 'ready',
  method: 'GET',
  path: '/health/ready',
  summary: 'Whether the service can answer requests now',
  description:
    '503 while the database cannot be reached, the audit log cannot be written, the clock of the node differs from the database’s, or the process is shutting down. ' +
    '`details.warnings` names what an operator should mend; the log of the start says how.',
  output: object({
    status: oneOf(['ready'], 'It can answer requests.'),
    details: described(
      'What else there is to say.',
      object({ warnings: Type.Array(oneOf(WARNING_CODES), { description: 'What an operator should mend.' }) }),
    ),
  }),
  raw: NONE,
  errors: [],
});

export const metrics = endpoint({
  ...common,
  name: 'metrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics in Prometheus’ form',
  description: 'For the tenant that runs the installation, with any token that permits metrics:read.',
  credentials: ANY_TOKEN,
  tenant: 'operator',
  permission: 'metrics:read',
  resource: 'metrics',
  audit: 'metrics:read',
  output: NONE,
  raw: 'text/plain; version=0.0.4; charset=utf-8',
  errors: [],
});
