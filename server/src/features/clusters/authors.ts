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
export function mayRead({ call, now }: Context, author: Subject, vault: string, row: DecidedRow): boolean {
  const context = { ip: call.address, mfa: false, time: now, ...attributesOf(row) };
  return isAuthorized(author, { action: 'secrets:read', resource: secretResource(vault, row.path), context });
}

/** Whether the author may still compose the environment. */
export function mayCompose({ call, now }: Context, author: Subject, environmentId: number): boolean {
  const context = { ip: call.address, mfa: false, time: now };
  return isAuthorized(author, { action: 'environments:compose', resource: `environment/${environmentId}`, context });
}
