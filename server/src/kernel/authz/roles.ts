import { named } from '../wire/named-schemas.ts';
import { oneOf } from '../wire/wire.ts';
import { plaintextActions } from './plaintext-actions.ts';
import { type CompiledPolicy, compilePolicy, POLICY_VERSION, type PolicyStatement } from './policy.ts';

export const ROLES = ['owner', 'admin', 'auditor', 'member'] as const;
export type Role = (typeof ROLES)[number];
export const RoleName = named(
  'Role',
  'owner: everything. admin: everything except what only owners may do. auditor: reads the audit log and metadata, never values. member: nothing beyond their own account without a policy or a vault membership.',
  oneOf(ROLES),
);

/** The roles that administer a tenant. */
export const ADMIN_ROLES = ['owner', 'admin'] as const satisfies readonly Role[];

export function isAdminRole(role: Role | null): boolean {
  return (ADMIN_ROLES as readonly (Role | null)[]).includes(role);
}

const EVERYTHING: PolicyStatement = { sid: 'everything', effect: 'allow', action: ['*'], resource: ['*'] };

/** Resources under `self` are the caller's own: profile, sessions, tokens. */
const OWN_THINGS: PolicyStatement = {
  sid: 'own-things',
  effect: 'allow',
  action: ['*'],
  resource: ['self', 'self/**'],
};

/** Every other role has this deny. Without it, `own-things` would let a member request ownership under `self`. */
const OWNER_ONLY: PolicyStatement = {
  sid: 'owner-only',
  effect: 'deny',
  action: ['tenant:delete', 'users:grant_owner'],
  resource: ['*'],
};

/** One list and not a part of each feature, because what an auditor may read is decided, and reviewed, as a whole. */
const AUDIT_AND_METADATA: PolicyStatement = {
  sid: 'audit-and-metadata',
  effect: 'allow',
  action: [
    'audit:read',
    'audit:verify',
    '*:list',
    '*:read_metadata',
    'anomalies:read',
    'app_connections:read',
    'approvals:read',
    'attack_paths:read',
    'clusters:read',
    'endpoint_accounts:read',
    'environments:read',
    'environments:compose',
    'exporters:read',
    'federations:read',
    'vaults:read',
    'users:read',
    'groups:read',
    'policies:read',
    'sso_providers:read',
    'tenant_settings:read',
    'tier:read',
    'tokens:read',
    'webhooks:read',
    'workload_methods:read',
  ],
  resource: ['*'],
};

/** Denies, so that a policy attached by mistake cannot let an auditor read secret values or sign for the tenant. */
const NEVER_SIGNS: PolicyStatement = { sid: 'never-signs', effect: 'deny', action: ['pqc:sign'], resource: ['*'] };

function neverValues(): PolicyStatement {
  return { sid: 'never-values', effect: 'deny', action: plaintextActions(), resource: ['*'] };
}

const STATEMENTS: Record<Role, () => PolicyStatement[]> = {
  owner: () => [EVERYTHING, OWN_THINGS],
  admin: () => [EVERYTHING, OWNER_ONLY, OWN_THINGS],
  auditor: () => [AUDIT_AND_METADATA, neverValues(), NEVER_SIGNS, OWNER_ONLY, OWN_THINGS],
  member: () => [OWNER_ONLY, OWN_THINGS],
};

/** Tenant policy names cannot contain a slash, so none can be mistaken for a built-in. */
function builtIn(role: Role): readonly CompiledPolicy[] {
  return [compilePolicy(`role/${role}`, { version: POLICY_VERSION, statement: STATEMENTS[role]() })];
}

const compiled = new Map<Role, readonly CompiledPolicy[]>();

/** Built on first use, when every endpoint is declared. */
export function rolePolicies(role: Role): readonly CompiledPolicy[] {
  const made = compiled.get(role) ?? builtIn(role);
  compiled.set(role, made);
  return made;
}
