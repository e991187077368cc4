import type { Call } from '../auth/call.ts';
import type { Actor } from '../auth/principal.ts';
import { CofferError } from '../base/errors.ts';

/**
 * Names the person for whom the console sends a request, as `tenant_…/user_…`. A program on another port of the same host can replace the cookie of
 * the session, but it cannot change what the console's pages believe.
 */
export const SESSION_OWNER_HEADER = 'x-coffer-user';

type Owner = Pick<Actor, 'id'> & { readonly tenantId: string };

/** Whether the request may count as one of this owner of its credential. Only requests of the console name somebody. */
export function isSentFor({ session, headers }: Call, { tenantId, id }: Owner): boolean {
  return session === undefined || headers[SESSION_OWNER_HEADER] === `${tenantId}/${id}`;
}

/**
 * Called before the caller is identified: an entry in the log of the wrong owner would show them what the person was doing.
 */
export function requireSentFor(call: Call, owner: Owner): void {
  if (isSentFor(call, owner)) return;
  const isNamed = call.headers[SESSION_OWNER_HEADER] !== undefined;
  throw new CofferError(
    'SESSION_CHANGED',
    isNamed
      ? 'This browser is signed in as somebody else now, and nothing was done: load the page again and sign in.'
      : 'The request does not say whose session it is meant for, and nothing was done: load the page again.',
    { auditReason: isNamed ? 'the session is not of the user it was sent for' : 'the request names no user' },
  );
}
