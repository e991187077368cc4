import type { ResourceAttributes } from '../../kernel/auth/call.ts';
import type { Subject } from '../../kernel/authz/authorize.ts';
import { isAuthorized } from '../../kernel/authz/authorize.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { policiesOfUser } from '../policies/index.ts';
import { attributesOf, secretResource } from '../secrets/index.ts';
import type { DecidedRow } from '../secrets/reading/index.ts';
import { findUser } from '../users/storage/index.ts';

/** The author of a policy with the rights they have now; null if they were disabled or deleted. */
export async function authorNow(db: Reader, tenantId: string, userId: string): Promise<Subject | null> {
  const user = await findUser(db, tenantId, userId);
  if (user?.status !== 'active') return null;
  // A policy is written without a restricted credential, so the author's own rights are all that counts.
  return { ceilings: [], policies: await policiesOfUser(db, user) };
}

/** Whether the same author may do something at one time and not at another. */
export function dependsOnTime({ policies }: Subject): boolean {
  return policies.some(({ statements }) =>
    statements.some(({ condition }) => condition.some(({ kind }) => kind === 'time_between')),
  );
}

/** Whether the author may read the secret, for a request from where the cluster is, without a second factor. */
export function mayRead(ctx: Context, author: Subject, vault: string, row: DecidedRow): boolean {
  return mayReadPart(ctx, author, { vault, path: row.path }, attributesOf(row));
}

/** The same for what a template refers to, which may not exist. */
export function mayReadPart(
  { call, now }: Context,
  author: Subject,
  { vault, path }: { vault: string; path: string },
  attributes: ResourceAttributes,
): boolean {
  const context = { ip: call.address, mfa: false, time: now, ...attributes };
  return isAuthorized(author, { action: 'secrets:read', resource: secretResource(vault, path), context });
}

/** Whether the author may still compose the environment. */
export function mayCompose({ call, now }: Context, author: Subject, environmentId: number): boolean {
  const context = { ip: call.address, mfa: false, time: now };
  return isAuthorized(author, { action: 'environments:compose', resource: `environment/${environmentId}`, context });
}
