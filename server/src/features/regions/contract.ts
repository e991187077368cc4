import Type, { type Static } from 'typebox';
import { ANY_TOKEN, BODY_BYTES_DEFAULT, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { id, idParam, nextCursor, object, oneOf, pageQuery, timestampText } from '../../kernel/wire/wire.ts';
import { leaseMs, PUSHED_MAX, RegionOperation, regionNameText, SyncPageBody, VECTOR_LENGTH_MAX } from './schemas.ts';

const REASON_LENGTH_MAX = 500;

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S, description: string) =>
  Type.Union([schema, Type.Null()], { description });

const Replica = named(
  'TenantReplica',
  'How far the data of a tenant in this region is behind what its primary region last published.',
  object({
    local_seq: Type.Integer({ minimum: 0, description: 'The last entry of the audit log that this region has.' }),
    published_seq: nullable(Type.Integer({ minimum: 0 }), 'The last entry that the primary region had published.'),
    published_at: nullable(timestampText, 'As of when that is known.'),
    missing_entries: nullable(
      Type.Integer({ minimum: 0 }),
      'Entries of the audit log, and so reads and acknowledged changes, that are missing here. Entries after `published_at` are not counted; if the former region has noted a promotion, there are none. Null if it is not known.',
    ),
    is_same_history: nullable(
      Type.Boolean(),
      'False if this region has other entries than the primary region published; null if that cannot be compared.',
    ),
  }),
);

export const TenantRegion = named(
  'TenantRegion',
  'The primary region of a tenant.',
  object({
    tenant_id: id('tenant'),
    name: nullable(Type.String(), 'The name of the tenant; null if its region has not told it yet.'),
    region: nullable(
      regionNameText,
      'The region that handles the tenant. Null if none is assigned: then it is handled wherever its data is.',
    ),
    url: nullable(Type.String(), 'The URL of the region; null if it is not configured here.'),
    epoch: Type.Integer({ minimum: 0, description: 'Increases with each promotion; 0 if no region is assigned.' }),
    previous: nullable(regionNameText, 'The primary region before the last promotion.'),
    since: nullable(timestampText, 'When the region was assigned or promoted.'),
    state: oneOf(
      ['active', 'starting'],
      '`starting`: this region waits until the former one has certainly stopped, and handles no request of the tenant yet.',
    ),
    replica: nullable(
      Replica,
      'In the primary region: as it was when that region took over. Null if this region has no data of the tenant.',
    ),
  }),
);
export type TenantRegion = Static<typeof TenantRegion>;

const tenantId = described('The id of the tenant, `tenant_…`.', idParam);

const admin = {
  ...ORDINARY,
  noun: 'regions',
  aboutNoun: {
    title: 'Regions',
    group: 'Administration',
    guide: ['regions'],
    description: 'The primary region of each tenant, and what regions tell each other.',
  },
  credentials: ANY_TOKEN,
  tenant: 'operator',
  region: 'local',
  status: 200,
} as const;

export const listTenantRegions = endpoint({
  ...admin,
  name: 'listTenantRegions',
  method: 'GET',
  path: '/admin/tenant-region',
  summary: 'List tenants with their primary regions',
  description: 'Lists the tenants of all regions, as this region knows them. Only for the operator tenant.',
  permission: 'tenant_regions:list',
  resource: 'tenant-region',
  rate: 'read',
  audit: 'tenant_regions:list',
  effect: 'read',
  params: NONE,
  query: object(pageQuery),
  body: NONE,
  output: object({ tenant_regions: Type.Array(TenantRegion), next_cursor: nextCursor }),
  errors: ['NOT_FOUND'],
});

export const readTenantRegion = endpoint({
  ...admin,
  name: 'readTenantRegion',
  method: 'GET',
  path: '/admin/tenant-region/{tenant_id}',
  summary: 'Read the primary region of a tenant',
  description: 'Says also how far the copy in this region is behind. Only for the operator tenant.',
  permission: 'tenant_regions:read',
  resource: 'tenant-region/{tenant_id}',
  rate: 'read',
  audit: 'tenant_regions:read',
  effect: 'read',
  params: object({ tenant_id: tenantId }),
  query: NONE,
  body: NONE,
  output: TenantRegion,
  errors: ['NOT_FOUND'],
});

export const assignTenantRegion = endpoint({
  ...admin,
  name: 'assignTenantRegion',
  method: 'PUT',
  path: '/admin/tenant-region/{tenant_id}',
  summary: 'Assign a tenant that has no region to this one',
  description:
    'For tenants that are older than the regions. Assign them before their data is copied to another region. A tenant that has a region is moved by a promotion. Only for the operator tenant.',
  permission: 'tenant_regions:update',
  resource: 'tenant-region/{tenant_id}',
  rate: 'write',
  audit: 'tenant_regions:update',
  effect: 'change',
  params: object({ tenant_id: tenantId }),
  query: NONE,
  body: object({ region: described('The region that this request is sent to.', regionNameText) }),
  output: TenantRegion,
  errors: ['NOT_FOUND'],
});

export const promoteTenantRegion = endpoint({
  ...admin,
  name: 'promoteTenantRegion',
  method: 'POST',
  path: '/admin/tenant-region/{tenant_id}/promote',
  summary: 'Make this region the primary region of a tenant',
  description:
    'Sent to the region that takes over, which must have a copy of the tenant’s data. Needs approval. The former region refuses changes as soon as it knows; if it cannot be reached, this region waits for `CV_REGION_LEASE_SECONDS` before it handles requests. `replica` says what is missing here, also afterwards. Only for the operator tenant.',
  permission: 'tenant_regions:promote',
  resource: 'tenant-region/{tenant_id}',
  rate: 'write',
  approval: 'tenant_region_promote',
  audit: 'tenant_regions:promote',
  effect: 'change',
  params: object({ tenant_id: tenantId }),
  query: NONE,
  body: object({
    region: described('The region that takes over, to which this request is sent.', regionNameText),
    reason: Type.String({ minLength: 1, maxLength: REASON_LENGTH_MAX, description: 'Why, for the audit log.' }),
  }),
  output: TenantRegion,
  errors: ['NOT_FOUND'],
});

const TenantHead = named(
  'TenantHead',
  'The last entry of a tenant’s audit log.',
  object({
    seq: Type.Integer({ minimum: 0, description: 'Its number.' }),
    hash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Its hash in the chain.' }),
  }),
);

const between = {
  noun: 'regions',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  params: NONE,
  status: 200,
  path: '/crdt/sync',
} as const;

export const pullDirectory = endpoint({
  ...between,
  name: 'pullDirectory',
  method: 'GET',
  summary: 'Get what another region lacks of the directory',
  description:
    'Only for the other regions, which present the client certificates that are configured. The directory has the ids, names and regions of tenants, heads of audit logs, public keys and ids of revoked tokens; it never has values or secrets.',
  audit: NONE,
  effect: 'read',
  query: object({
    vector: Type.Optional(
      Type.String({
        maxLength: VECTOR_LENGTH_MAX,
        description: 'What the caller has: `origin:number`, separated by commas.',
      }),
    ),
    digest_at: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Asks for a digest of what does not expire up to this time, in ms.',
      }),
    ),
  }),
  body: NONE,
  bodyBytesMax: 0,
  output: SyncPageBody,
  errors: ['CERTIFICATE_REQUIRED', 'NOT_FOUND', 'VALIDATION_FAILED'],
});

export const pushDirectory = endpoint({
  ...between,
  name: 'pushDirectory',
  method: 'POST',
  summary: 'Tell this region of promotions at once',
  description:
    'Only for the other regions. A promotion tells them so, and proceeds once enough of them have noted it. What is no promotion, or is not signed by its origin, is refused.',
  audit: 'regions:sync',
  effect: 'read',
  query: NONE,
  body: object({
    operations: Type.Array(RegionOperation, { minItems: 1, maxItems: PUSHED_MAX, description: 'What to note.' }),
  }),
  bodyBytesMax: BODY_BYTES_DEFAULT,
  output: object({
    results: Type.Array(oneOf(['merged', 'known', 'superseded'], '`superseded`: this region has something newer.'), {
      description: 'One for each operation.',
    }),
    heads: Type.Array(nullable(TenantHead, 'Null unless a promotion was noted of a tenant that has data here.'), {
      description: 'For each operation that is a promotion: how far the tenant’s log had come here when it was noted.',
    }),
    lease_ms: leaseMs,
  }),
  errors: ['CERTIFICATE_REQUIRED', 'NOT_FOUND'],
});
