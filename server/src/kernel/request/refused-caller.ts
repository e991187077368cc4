import { RefusedCredential, UnacceptedKind } from '../auth/authentication.ts';
import { CofferError } from '../base/errors.ts';
import { CREDENTIAL_NAMES } from '../endpoint/declaration.ts';
import type { Context } from './context.ts';
import { isRefusal } from './reply.ts';
import { limitByTenant, limitFailures, rateHeaders } from './request-limits.ts';
import { isSentFor, requireSentFor } from './session-owner.ts';

/** The token is authentic, so its caller may know where it is good. */
export function withoutDataHere(home: { region: string; url: string | null } | null): RefusedCredential {
  const where = home === null ? 'where its tenant has its data' : `to the region ${home.region}${at(home.url)}`;
  const message = `This region has no data of the tenant of this token: send the request ${where}.`;
  return new RefusedCredential('the tenant has no data in this region', null, message);
}

function at(url: string | null): string {
  return url === null ? '' : `, ${url}`;
}

/** A refused caller is identified as far as they are known, and counted. */
export function refuseCaller(ctx: Context, error: unknown): never {
  if (error instanceof UnacceptedKind) refuseKind(ctx, error);
  if (error instanceof RefusedCredential && error.owner !== null && isSentFor(ctx.call, error.owner))
    ctx.caller.identify(error.owner.tenantId, error.owner);
  if (error instanceof RefusedCredential && error.presented !== null) ctx.record.describe(error.presented);
  if (isRefusal(error)) limitFailures(ctx);
  throw error;
}

/** The caller is authenticated, so the refusal counts towards their own limit, not as a failed guess from their address. */
function refuseKind(ctx: Context, { principal, epoch, accepted }: UnacceptedKind): never {
  requireSentFor(ctx.call, principal);
  ctx.caller.become(principal, epoch);
  const rate = limitByTenant(ctx);
  const kinds = accepted.map((kind) => CREDENTIAL_NAMES[kind]).join(', ');
  throw new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    `The credential is valid, but its kind is not accepted here. Accepted: ${kinds}.`,
    {
      auditReason: `a ${principal.credential} is not accepted here`,
      details: { accepted },
      headers: rateHeaders(rate),
    },
  );
}
