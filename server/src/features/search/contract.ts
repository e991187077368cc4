import Type from 'typebox';
import { EnvironmentNameSchema } from '../../kernel/authz/environment.ts';
import { ANY_CALLER, ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint/declaration.ts';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, nextCursor, nullable, object, oneOf, pageQuery, timestampText } from '../../kernel/wire/wire.ts';
import { Protection } from '../secrets/index.ts';
import { vaultName } from '../vaults/index.ts';

const common = {
  noun: 'secrets',
  credentials: ANY_TOKEN,
  tenant: 'own',
  resource: 'loaded',
  loads: ['vault/{vault}', 'vault/{vault}/{path*}'],
  tier: NONE,
  region: 'forward',
  approval: NONE,
  raw: NONE,
  effect: 'read',
  bodyBytesMax: BODY_BYTES_DEFAULT,
  status: 200,
} as const;

const SearchMatch = named(
  'SearchMatch',
  'A secret whose value contains the text.',
  object({
    id: id('sec'),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
    type: Type.String({ description: 'Type of the secret.' }),
    version: Type.Integer({ description: 'The newest version.' }),
  }),
);

export const searchSecrets = endpoint({
  ...common,
  name: 'searchSecrets',
  method: 'POST',
  path: '/v1/vaults/{vault}/search',
  summary: 'Find secrets whose value contains a text',
  description:
    'Searches the secrets you may read, except fortress secrets. Each request scans a bounded number of them: continue with `next_cursor`.',
  permission: 'secrets:search',
  rate: 'aggregate',
  bulk: true,
  plaintext: true,
  audit: 'secrets:search',
  params: object({ vault: vaultName }),
  query: NONE,
  body: object({
    query: Type.String({ minLength: 3, maxLength: 256, description: 'Substring of the value, case-sensitive.' }),
    prefix: Type.Optional(Type.String({ maxLength: 1024, description: 'Only paths that start with this text.' })),
    cursor: pageQuery.cursor,
  }),
  output: object({
    matches: Type.Array(SearchMatch),
    next_cursor: nextCursor,
  }),
  errors: ['VAULT_NOT_FOUND', 'ZkBoundaryViolation'],
});

const CollidingSecret = named(
  'CollidingSecret',
  'One of the colliding secrets.',
  object({
    id: id('sec'),
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
  }),
);

const Collision = named(
  'Collision',
  'Secrets in several vaults that have the same path or the same value.',
  object({
    kind: oneOf(['path', 'value'], 'Whether the secrets share their path or their value.'),
    path: Type.String({ description: 'The common path; for equal values, the path of the first secret.' }),
    vaults: Type.Array(Type.String(), { description: 'At most 50 are listed.' }),
    vaults_total: Type.Integer({ description: 'Total number.' }),
    secrets: Type.Array(CollidingSecret, {
      description: 'At most 50 are listed.',
    }),
    secrets_total: Type.Integer({
      description: 'Total number; at most 8,000 secrets with the same value are examined.',
    }),
  }),
);

export const listCollisions = endpoint({
  ...common,
  name: 'listCollisions',
  method: 'GET',
  path: '/vaults/collisions',
  summary: 'List secrets that are in more than one vault, by path or by equal value',
  description:
    'Covers only secrets you may list, and for equal values only those you may read. Equal values are found by a keyed fingerprint; neither values nor fingerprints leave the service.',
  permission: 'secrets:list',
  rate: 'aggregate',
  bulk: true,
  plaintext: false,
  audit: 'secrets:list_collisions',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  output: object({
    collisions: Type.Array(Collision),
    total: Type.Integer({ description: 'Total number on all pages.' }),
    complete: Type.Boolean({
      description:
        'False while fingerprints are being recomputed under another key, for example after an upgrade: some equal values may be missing; retry in a few minutes. Also false if a value is in more than 8,000 secrets and all examined ones are in one vault.',
    }),
    next_cursor: nextCursor,
  }),
  errors: [],
});

/** Values compared in one request, and the length of each. */
const VALUES_MAX = 100;
const VALUE_LENGTH_MAX = 16_384;
const KNOWN_BODY_BYTES_MAX = 256 * 1024;

const KnownSecret = named(
  'KnownSecret',
  'A secret that has a value you sent, or the digest of which you sent.',
  object({
    id: id('sec'),
    vault: Type.String({ description: 'The name of its vault.' }),
    path: Type.String({ description: 'Path of the secret in the vault.' }),
  }),
);

const KnownValue = named(
  'KnownValue',
  'A value or digest you sent that is of the newest value of a secret.',
  object({
    index: Type.Integer({ description: 'Its position in `digests` or `values`, from 0.' }),
    secrets: Type.Array(KnownSecret, { description: 'At most 50 are listed.' }),
    secrets_total: Type.Integer({
      description: 'Total number you may list; at most 1,000 secrets with the same value are examined.',
    }),
  }),
);

export const findKnownValues = endpoint({
  ...common,
  credentials: ANY_CALLER,
  name: 'findKnownValues',
  method: 'POST',
  path: '/v1/secrets/known',
  summary: 'Find which secrets have the values you found elsewhere',
  description:
    'For scanners that look for leaks. Compares whole values with the newest values of the secrets you may list, by a keyed fingerprint of their digests: send digests, so that no value leaves you. Nothing is decrypted, and neither values, digests nor fingerprints are returned or recorded. Fortress secrets, zero-knowledge vaults and deleted secrets are left out. A value that could be found by trying is compared only with secrets you may read; other values, and all digests, that are in no secret you may read are limited to 10,000 an hour.',
  permission: 'secrets:list',
  alsoAsks: ['secrets:read'],
  rate: 'aggregate',
  bulk: true,
  plaintext: false,
  audit: 'secrets:find_known',
  params: NONE,
  query: NONE,
  body: object({
    digests: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          writeOnly: true,
          examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
        }),
        {
          minItems: 1,
          maxItems: VALUES_MAX,
          description:
            'SHA-256 of `coffer known value`, a line feed and the whole value in UTF-8, in hexadecimal. At most 100. Required unless `values` is given.',
        },
      ),
    ),
    values: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: VALUE_LENGTH_MAX, writeOnly: true }), {
        minItems: 1,
        maxItems: VALUES_MAX,
        description: 'Deprecated: send `digests`. Whole values, at most 100, and 256 KiB in all.',
      }),
    ),
  }),
  bodyBytesMax: KNOWN_BODY_BYTES_MAX,
  output: object({
    known: Type.Array(KnownValue, { description: 'Only values that some secret has.' }),
    guessable: Type.Array(Type.Integer(), {
      description:
        'Positions in `values` of those that could be found by trying, for example those under 12 characters. They were compared only with secrets you may read. The service cannot say this of a digest.',
    }),
    complete: Type.Boolean({
      description:
        'False while fingerprints are being recomputed, for example after an upgrade: some secrets could not be compared; repeat it in a few minutes.',
    }),
  }),
  errors: [],
});

/** Parts of a path in one search. */
const PARTS_MAX = 8;

/** A secret in a list over all vaults. */
const whichSecret = {
  id: id('sec'),
  vault: Type.String({ description: 'The name of its vault.' }),
  path: Type.String({ description: 'Path of the secret in the vault.' }),
  type: Type.String({ description: 'Type of the secret.' }),
  environment: EnvironmentNameSchema,
};

const FoundSecret = named(
  'FoundSecret',
  'A secret that was found in one of the vaults.',
  object({
    ...whichSecret,
    protection: Protection,
    version: Type.Integer({ description: 'The newest version.' }),
    updated_at: timestampText,
  }),
);

export const findSecrets = endpoint({
  ...common,
  credentials: ANY_CALLER,
  name: 'findSecrets',
  method: 'GET',
  path: '/v1/secrets',
  summary: 'Find secrets by a part of their path, in all vaults',
  description:
    'Returns the secrets you may list whose path contains the text, in whichever vault, ordered by path and without values. Upper and lower case are the same. A page reads at most 100,000 paths, so with more secrets a page may be short or empty and have a `next_cursor`: continue until it is null.',
  permission: 'secrets:list',
  rate: 'aggregate',
  bulk: true,
  plaintext: false,
  audit: 'secrets:find',
  params: NONE,
  query: object({
    path: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '^[A-Za-z0-9._@+=/-]*$' }), {
      minItems: 1,
      maxItems: PARTS_MAX,
      description: 'A part of the path. If it is given several times, the path must contain each of them.',
    }),
    match: Type.Optional(
      oneOf(
        ['part', 'abbreviation'],
        'With abbreviation, also paths that have the letters of each part in this order, the first at the start of a word: db finds DATABASE_URL. Default: part.',
      ),
    ),
    ...pageQuery,
  }),
  body: NONE,
  output: object({ secrets: Type.Array(FoundSecret), next_cursor: nextCursor }),
  errors: [],
});

/** Days that a list of what is due may look ahead. */
const WITHIN_DAYS_MAX = 365;

const DueSecret = named(
  'DueSecret',
  'A secret that needs somebody.',
  object({
    ...whichSecret,
    at: {
      ...timestampText,
      description: 'When the rotation failed, when the next one is due, or when the certificate ends.',
    },
    failure: nullable(Type.String({ description: 'Why the rotation failed.' }), 'Null unless a rotation failed.'),
  }),
);

export const listDueSecrets = endpoint({
  ...common,
  credentials: ANY_CALLER,
  name: 'listDueSecrets',
  method: 'GET',
  path: '/v1/secrets/due',
  summary: 'List secrets that need somebody, in all vaults',
  description:
    'Returns secrets you may list, in whichever vault: those whose latest rotation failed, the newest failure first; those that are rotated soon or overdue; those whose value ends soon, or ended in the last 30 days. Failures and ends are shown only for secrets that you may read, or whose metadata you may.',
  permission: 'secrets:list',
  alsoAsks: ['secrets:read', 'secrets:read_metadata'],
  rate: 'read',
  plaintext: false,
  audit: 'secrets:list_due',
  params: NONE,
  query: object({
    kind: oneOf(
      ['failed_rotation', 'rotation', 'expiry'],
      'failed_rotation: the latest rotation through a backend failed. rotation: the next rotation is due. expiry: the value ends, as it was given or as a certificate says.',
    ),
    within_days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: WITHIN_DAYS_MAX,
        description: 'How far to look ahead, for rotation and expiry. Default: 7.',
      }),
    ),
    ...pageQuery,
  }),
  body: NONE,
  output: object({ secrets: Type.Array(DueSecret), next_cursor: nextCursor }),
  errors: [],
});
