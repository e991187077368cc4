import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { object, objectWithExamples, oneOf, record } from '../../kernel/wire.ts';
import { VALUE_BYTES_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

export const IMPORT_ENTRIES_MAX = 1000;
const IMPORT_TEXT_MAX = 2 * 1024 * 1024;

const common = {
  noun: 'import and export',
  credentials: ANY_TOKEN,
  tenant: 'own',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: true,
  params: object({ vault: vaultName }),
} as const;

export const importSecrets = endpoint({
  ...common,
  name: 'importSecrets',
  method: 'POST',
  path: '/v1/vaults/{vault}/import',
  summary: 'Make or change many secrets at once, from JSON or a .env file',
  description:
    'All of them or none. With `dry_run` nothing is written, and the answer says what would be. A value that is as it was makes no new version, if you may read it. Of several lines of a .env file with the same key the last one counts, and `$NAME` is kept as it is written; `warnings` names the lines.',
  permission: 'secrets:import',
  rate: 'write',
  bulk: true,
  audit: 'secrets:import',
  effect: 'change',
  bodyBytesMax: 6 * IMPORT_TEXT_MAX,
  query: NONE,
  body: objectWithExamples([{ secrets: { 'database/user': 'payments', 'database/password': 's3cr3t' } }], {
    secrets: Type.Optional(
      record('^[\\s\\S]*$', Type.String({ maxLength: VALUE_BYTES_MAX }), {
        maxProperties: IMPORT_ENTRIES_MAX,
        description: 'Paths and their values.',
      }),
    ),
    dotenv: Type.Optional(Type.String({ maxLength: IMPORT_TEXT_MAX, description: 'The text of a .env file.' })),
    prefix: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Put before each path, with a slash between; `shop` and `shop/` are the same.',
      }),
    ),
    type: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$', description: 'Of those that are made.' })),
    environment: Type.Optional(environmentText),
    promote: Type.Optional(Type.Boolean()),
    on_existing: Type.Optional(oneOf(['update', 'skip', 'fail'], 'update unless given.')),
    dry_run: Type.Optional(Type.Boolean()),
  }),
  status: 200,
  output: object({
    dry_run: Type.Boolean(),
    created: Type.Integer(),
    updated: Type.Integer(),
    unchanged: Type.Integer(),
    skipped: Type.Integer(),
    changes: Type.Array(
      object({
        path: Type.String(),
        change: oneOf(['create', 'update', 'unchanged', 'skip']),
        version: Type.Integer(),
      }),
    ),
    warnings: Type.Array(
      object({
        code: oneOf(['repeated_key', 'unexpanded_variable']),
        message: Type.String(),
        path: Type.String(),
        line: Type.Integer(),
      }),
      { description: 'Lines of the .env file that you may have meant otherwise; empty if there are none.' },
    ),
  }),
  raw: NONE,
  errors: [
    'ZkBoundaryViolation',
    'VAULT_NOT_FOUND',
    'SECRET_ALREADY_EXISTS',
    'ROTATION_IN_PROGRESS',
    'MFA_REQUIRED',
    'VAULT_ENV_CONFLICT',
    'VAULT_ENV_PROMOTE_REQUIRED',
  ],
});

export const ENV_FILE_TYPE = 'text/plain; charset=utf-8';

export const exportSecrets = endpoint({
  ...common,
  name: 'exportSecrets',
  method: 'GET',
  path: '/v1/vaults/{vault}/export',
  summary: 'Read all secrets of a vault, as a .env file or a flat JSON object',
  description:
    'Only for who may read all of them. Fortress secrets never leave this way. In a file of variables a path becomes a name: `db/password` is DB_PASSWORD. `dotenv` is read back exactly by shells (`set -a; . file`), the npm package `dotenv` and `python-dotenv`, `docker` by `docker run --env-file`. A value that they would not all read alike is refused with 422 and its path.',
  permission: 'secrets:export',
  rate: 'aggregate',
  bulk: true,
  audit: 'secrets:export',
  effect: 'read',
  query: object({
    format: Type.Optional(oneOf(['json', 'dotenv', 'docker'], 'json unless given.')),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that begin with this text.' })),
  }),
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  output: NONE,
  raw: 'application/json; charset=utf-8',
  otherRaw: [ENV_FILE_TYPE],
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation'],
});
