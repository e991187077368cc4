import { isAdminRole } from '../../kernel/authz/roles.ts';
import { timestamp } from '../../kernel/base/clock.ts';
import type { Output } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { breakGlassUsesOf } from '../approvals/index.ts';
import { factorsOf } from '../mfa/factors/index.ts';
import { type TokenRow, usableHandedOut } from '../tokens/storage/index.ts';
import { countActiveAdmins, findUser } from '../users/storage/index.ts';
import type { readMe } from './contract.ts';
import type { SessionParts } from './links.ts';

export type Warning = Output<typeof readMe>['warnings'][number];

/** Older ones are in the audit log. */
const USES_SHOWN_MAX = 10;
const TWO = 2;

/** Warnings for the admins of a tenant. The result is cached, so every change that affects it must raise the epoch. */
export async function warningsFor(ctx: Context, ports: WarningPorts): Promise<Warning[]> {
  const { principal, database, tenantId, now } = ctx;
  const { read: db } = database;
  if (!isAdminRole(principal.role)) return [];
  const first =
    principal.role === 'owner' ? await needlessToken(db, ports, { tenantId, userId: principal.id }, now) : null;
  const admins = await countActiveAdmins(db, tenantId, TWO + 1);
  const uses = await breakGlassUsesOf(db, tenantId, USES_SHOWN_MAX);
  return [
    ...(first === null ? [] : [tokenWarning(first)]),
    ...(admins === TWO ? [TWO_ADMINS] : []),
    ...uses.map(useWarning),
  ];
}

export type WarningPorts = Pick<SessionParts, 'hasSignOnIdentity'>;

/** The token that an owner got with the tenant, if it is still good and they can sign in without it. */
async function needlessToken(
  db: Reader,
  { hasSignOnIdentity }: WarningPorts,
  { tenantId, userId }: { tenantId: string; userId: string },
  now: number,
): Promise<TokenRow | null> {
  const owner = await findUser(db, tenantId, userId);
  const token = owner === undefined ? undefined : await usableHandedOut(db, owner, now);
  if (owner === undefined || token === undefined) return null;
  const hasOtherWay =
    owner.password_hash !== '' ||
    (await factorsOf(db, tenantId, userId)).passkeys.length > 0 ||
    (await hasSignOnIdentity(db, tenantId, userId));
  return hasOtherWay ? token : null;
}

function tokenWarning({ token_id, name, expires_at }: TokenRow): Warning {
  return {
    code: 'first_token',
    message: `The token “${name}”, which a first start writes to the file admin.token, is good until ${timestamp(expires_at)} and may do all that you may. You can sign in without it: revoke it with DELETE /auth/tokens/${token_id}, and delete the file.`,
    at: null,
  };
}

const TWO_ADMINS: Warning = {
  code: 'two_admins',
  message:
    'Your organization has only two owners and admins: if one is away or loses access, nobody can approve the requests of the other. Add a third.',
  at: null,
};

function useWarning({ action, resource, at }: { action: string; resource: string; at: number }): Warning {
  const message = `${whatWasDone(action, resource)}; see break_glass:${action} in the audit log.`;
  return { code: 'break_glass', message, at: timestamp(at) };
}

function whatWasDone(action: string, resource: string): string {
  if (action === 'sign_in') return `The break-glass owner ${resource} signed in`;
  if (action === 'evict') return `An owner took rights away from ${resource} without approval`;
  return `An operator used break-glass ${action} on ${resource}`;
}
