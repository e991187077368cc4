import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { object, oneOf } from '../../kernel/wire/wire.ts';

/** Operations in one page of a pull. */
export const OPERATIONS_MAX = 200;
/** Operations in one push, which must fit into the body of a caller who is not known yet. */
export const PUSHED_MAX = 10;
/** Promotions that a region notes ahead of what it has pulled. They are part of every last page. */
export const PUSHED_AHEAD_MAX = 200;
const ORIGINS_MAX = 64;
export const VECTOR_LENGTH_MAX = ORIGINS_MAX * 50;

/** What a cell of the directory can be. */
export const CELL_KINDS = ['tenant', 'primary', 'head', 'published', 'public_key', 'revoked_token'] as const;

/** Names of regions are part of URLs, headers and settings. */
export const REGION_NAME = /^[a-z][a-z0-9-]{0,31}$/;
export const VALUE_LENGTH_MAX = 2048;
export const SIGNATURE_LENGTH_MAX = 1024;

export const regionNameText = Type.String({
  pattern: REGION_NAME.source,
  maxLength: 32,
  description: 'The name of a region.',
  examples: ['eu'],
});

export const RegionOperation = named(
  'RegionOperation',
  'One write to the directory that regions share, signed by the region that made it.',
  object({
    origin: regionNameText,
    seq: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Its number among the operations of its origin.',
    }),
    ms: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The time of the origin’s hybrid logical clock, in milliseconds.',
    }),
    counter: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Tells operations of the same millisecond apart.',
    }),
    kind: oneOf(CELL_KINDS, 'What is written.'),
    key: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'The id of the tenant, key or token.',
      examples: ['tenant_01m7m3k33y000btqw090vrtdx9'],
    }),
    tag: Type.String({
      maxLength: 64,
      description: 'The addition to a set that this is about; otherwise empty.',
      examples: [''],
    }),
    isRemoved: Type.Boolean({ description: 'Whether that addition is removed.' }),
    value: Type.String({ maxLength: VALUE_LENGTH_MAX, description: 'JSON.', examples: ['{"name":"acme"}'] }),
    signature: Type.String({ maxLength: SIGNATURE_LENGTH_MAX, description: 'Base64.' }),
  }),
);

const VectorEntry = named(
  'RegionVectorEntry',
  'Up to which number the operations of an origin are included.',
  object({ origin: regionNameText, seq: Type.Integer({ minimum: 0, description: 'The number.' }) }),
);

/** The largest CV_REGION_LEASE_SECONDS, in milliseconds. */
const LEASE_MS_MAX = 3_600_000;
export const leaseMs = Type.Integer({
  minimum: 0,
  maximum: LEASE_MS_MAX,
  description:
    'How long this region waits for a former primary region, so that one may rely on this answer. 0 if it does not wait.',
  examples: [30_000],
});

export const SyncPageBody = named(
  'RegionSyncPage',
  'What a region lacks of the directory, or as much as fits.',
  object({
    region: regionNameText,
    operations: Type.Array(RegionOperation, { maxItems: OPERATIONS_MAX, description: 'By origin and number.' }),
    vector: Type.Array(VectorEntry, { maxItems: ORIGINS_MAX, description: 'What the caller has with these.' }),
    complete: Type.Boolean({ description: 'False if there is more.' }),
    pushed: Type.Array(RegionOperation, {
      maxItems: PUSHED_AHEAD_MAX,
      description:
        'With the last page: promotions that this region was told ahead of earlier operations of their origins. `vector` does not include them.',
    }),
    lease_ms: leaseMs,
    digest: Type.Union([Type.String({ pattern: '^[0-9a-f]{64}$' }), Type.Null()], {
      description: 'A digest of the whole directory, if it was requested.',
    }),
  }),
);
export type WirePage = Static<typeof SyncPageBody>;
