import Type from 'typebox';
import { environmentText } from '../../kernel/authz/environment.ts';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { object, objectWithExamples, oneOf, record } from '../../kernel/wire/wire.ts';
import { templateSchemas, VALUE_BYTES_MAX } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

export const IMPORT_ENTRIES_MAX = 1000;
const IMPORT_TEXT_MAX = 2 * 1024 * 1024;

const common = {
  noun: 'import and export',
  aboutNoun: {
    title: 'Import and export',
    group: 'Secrets',
    guide: ['import-and-export'],
    description: 'Import and export of many secrets at once, as .env files and JSON.',
  },
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
  'Result of an import for one path.',
  object({
    path: Type.String({ description: 'Path of the secret.' }),
    change: oneOf(['create', 'update', 'unchanged', 'skip'], 'The change made at this path.'),
    version: Type.Integer({ description: 'The version after the import.' }),
  }),
);

const ImportWarning = named(
  'ImportWarning',
  'A line of a .env file that may not mean what was intended.',
  object({
    code: oneOf(['repeated_key', 'unexpanded_variable'], 'Stable code for programs.'),
    message: Type.String({ description: 'Explanation of the warning.' }),
    path: Type.String({ description: 'Path of the imported secret.' }),
    line: Type.Integer({ description: 'The number of the line.' }),
  }),
);

const ImportProblem = named(
  'ImportProblem',
  'Why one entry could not be imported.',
  object({
    code: oneOf(['SECRET_ALREADY_EXISTS', 'ROTATION_IN_PROGRESS', 'VALIDATION_FAILED'], 'Stable code for programs.'),
    message: Type.String({ description: 'Explanation of the problem.' }),
    path: Type.String({ description: 'Path of the entry; ? if it does not look like one.' }),
  }),
);

export const importSecrets = endpoint({
  ...common,
  name: 'importSecrets',
  method: 'POST',
  path: '/v1/vaults/{vault}/import',
  summary: 'Create or change many secrets at once, from JSON or a .env file',
  description:
    'Imports all or nothing. With `dry_run` nothing is written, and the response shows what would change; with `keep_going` also what could not be imported, which `leave_out` leaves out. An unchanged value creates no new version if you may read it. If a key repeats in a .env file, the last line wins; `$NAME` is not expanded; `warnings` lists such lines.',
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
        description: 'Values by path.',
      }),
    ),
    dotenv: Type.Optional(Type.String({ maxLength: IMPORT_TEXT_MAX, description: 'The text of a .env file.' })),
    prefix: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'Prepended to each path, separated by a slash; `shop` and `shop/` are the same.',
      }),
    ),
    type: Type.Optional(
      Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$', description: 'Type of the created secrets.' }),
    ),
    environment: Type.Optional(environmentText),
    promote: Type.Optional(
      Type.Boolean({
        description: 'Allows secrets without an environment in a production vault; they become production secrets.',
      }),
    ),
    on_existing: Type.Optional(oneOf(['update', 'skip', 'fail'], 'What to do with existing secrets; default: update.')),
    dry_run: Type.Optional(Type.Boolean({ description: 'If true, only shows what would change.' })),
    keep_going: Type.Optional(
      Type.Boolean({
        description:
          'Only with `dry_run`. If true, entries that exist already, are being rotated or do not have the required format are listed in `problems`, and the others are planned. Otherwise the first of them refuses the import.',
      }),
    ),
    leave_out: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
        maxItems: IMPORT_ENTRIES_MAX,
        description: 'Paths, with the prefix, of entries that are not imported.',
      }),
    ),
  }),
  status: 200,
  output: object({
    dry_run: Type.Boolean({ description: 'True if nothing was written.' }),
    created: Type.Integer({ description: 'Number of created secrets.' }),
    updated: Type.Integer({ description: 'Number of secrets with a new version.' }),
    unchanged: Type.Integer({ description: 'Number of secrets whose value is unchanged.' }),
    skipped: Type.Integer({ description: 'Number of existing secrets that were skipped.' }),
    changes: Type.Array(ImportChange),
    warnings: Type.Array(ImportWarning, {
      description: 'Lines of the .env file that may not mean what you intended; empty if there are none.',
    }),
    problems: Type.Array(ImportProblem, {
      description: 'With `keep_going`, the entries that could not be imported; otherwise empty.',
    }),
  }),
  raw: NONE,
  errors: [
    'REVIEW_REQUIRED',
    'QUOTA_EXCEEDED',
    'ZkBoundaryViolation',
    'VAULT_NOT_FOUND',
    'SECRET_ALREADY_EXISTS',
    'ROTATION_IN_PROGRESS',
    'MFA_REQUIRED',
    'VAULT_ENV_CONFLICT',
    'VAULT_ENV_PROMOTE_REQUIRED',
  ],
});

export const permittedNames = Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 255 }), {
  maxItems: 32,
  description:
    'Variable names that may change how programs are loaded or where they connect, such as PATH or HTTPS_PROXY. Without it, files of variables with such a name are refused, because whoever writes a secret chooses its name.',
});

export const ENV_FILE_TYPE = 'text/plain; charset=utf-8';

export const exportSecrets = endpoint({
  ...common,
  name: 'exportSecrets',
  method: 'GET',
  path: '/v1/vaults/{vault}/export',
  summary: 'Export all secrets of a vault, as a .env file or a flat JSON object',
  description:
    'Requires permission to read all of them, and all that templates refer to, which are resolved; fortress secrets are never exported. In an environment file a path becomes a variable name: `db/password` is DB_PASSWORD. `dotenv` is for shells (`set -a; . file`), the npm package `dotenv` and `python-dotenv`, `docker` for `docker run --env-file`, `shell` only for shells (`. file`), with any value; each of these reads the exact values back. A value that they would not all read identically is rejected with 422 and its path.',
  permission: 'secrets:export',
  rate: 'aggregate',
  bulk: true,
  audit: 'secrets:export',
  effect: 'read',
  query: object({
    format: Type.Optional(oneOf(['json', 'dotenv', 'docker', 'shell'], 'Default: json.')),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that start with this text.' })),
    permit: Type.Optional(permittedNames),
    resolve: templateSchemas.resolve,
  }),
  body: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
  output: NONE,
  raw: 'application/json; charset=utf-8',
  otherRaw: [ENV_FILE_TYPE],
  rawSchema: Type.Record(Type.String(), Type.String(), { description: 'Values by path.' }),
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation', 'TEMPLATE_UNRESOLVED'],
});
