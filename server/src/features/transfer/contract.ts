import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { named } from '../../kernel/named-schemas.ts';
import { object, objectWithExamples, oneOf, record } from '../../kernel/wire.ts';
import { VALUE_BYTES_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

export const IMPORT_ENTRIES_MAX = 1000;
const IMPORT_TEXT_MAX = 2 * 1024 * 1024;

const common = {
  noun: 'import and export',
  nounDescription: 'Many secrets at once, from and to .env files and JSON.',
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

const ImportChange = named(
  'ImportChange',
  'What an import does at one path.',
  object({
    path: Type.String({ description: 'Where.' }),
    change: oneOf(['create', 'update', 'unchanged', 'skip'], 'What happens there.'),
    version: Type.Integer({ description: 'The version that it has then.' }),
  }),
);

const ImportWarning = named(
  'ImportWarning',
  'A line of a .env file that may have been meant otherwise.',
  object({
    code: oneOf(['repeated_key', 'unexpanded_variable'], 'Stable; decide by this.'),
    message: Type.String({ description: 'What it means, in words.' }),
    path: Type.String({ description: 'The path that it became.' }),
    line: Type.Integer({ description: 'The number of the line.' }),
  }),
);

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
    promote: Type.Optional(
      Type.Boolean({ description: 'Lets secrets without an environment into a production vault.' }),
    ),
    on_existing: Type.Optional(oneOf(['update', 'skip', 'fail'], 'update unless given.')),
    dry_run: Type.Optional(Type.Boolean({ description: 'True: only say what would be done.' })),
  }),
  status: 200,
  output: object({
    dry_run: Type.Boolean({ description: 'Whether nothing was written.' }),
    created: Type.Integer({ description: 'How many are new.' }),
    updated: Type.Integer({ description: 'How many have a new version.' }),
    unchanged: Type.Integer({ description: 'How many are as they were.' }),
    skipped: Type.Integer({ description: 'How many were left alone.' }),
    changes: Type.Array(ImportChange),
    warnings: Type.Array(ImportWarning, {
      description: 'Lines of the .env file that you may have meant otherwise; empty if there are none.',
    }),
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
    'Only for who may read all of them. Fortress secrets never leave this way. In a file of variables a path becomes a name: `db/password` is DB_PASSWORD. `dotenv` is read back exactly by shells (`set -a; . file`), the npm package `dotenv` and `python-dotenv`, `docker` by `docker run --env-file`, `shell` by shells alone (`. file`), whatever the value. A value that they would not all read alike is refused with 422 and its path.',
  permission: 'secrets:export',
  rate: 'aggregate',
  bulk: true,
  audit: 'secrets:export',
  effect: 'read',
  query: object({
    format: Type.Optional(oneOf(['json', 'dotenv', 'docker', 'shell'], 'json unless given.')),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that begin with this text.' })),
  }),
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  output: NONE,
  raw: 'application/json; charset=utf-8',
  otherRaw: [ENV_FILE_TYPE],
  rawSchema: Type.Record(Type.String(), Type.String(), { description: 'By path, each value.' }),
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation'],
});
