import { addressGroup } from '../base/address-group.ts';
import { CofferError } from '../base/errors.ts';
import { AUTH_LIMIT_PER_ADDRESS, FAILED_AUTH_LIMIT_PER_ADDRESS } from '../limits/rate-classes.ts';
import type { RateState } from '../limits/rate-limiter.ts';
import type { Context } from './context.ts';

/** Logins and other public exchanges are counted by address, because the caller is not known yet. */
export function limitByAddress(ctx: Context): RateState | null {
  if (ctx.declaration.rate !== 'auth' || ctx.declaration.credentials !== 'public') return null;
  const key = `address ${addressGroup(ctx.call.address)} auth`;
  return enforced(ctx.kernel.rates.take(key, AUTH_LIMIT_PER_ADDRESS, ctx.now));
}

/**
 * Counts by tenant and class, and also by token if a token has its own limits; the state of the tighter one is returned. A token that is refused
 * does not use up its tenant's limit. For requests that are not limited, the state of the caller's reads is returned.
 */
export function limitByTenant(ctx: Context, check = enforced): RateState {
  const { rate } = ctx.declaration;
  const cls = rate === 'auth' ? 'write' : rate === 'none' ? 'read' : rate;
  const { tenantId, plan, tenantRates, credentialId, tokenRates } = ctx.principal;
  const { rates, plans } = ctx.kernel;
  const limit = tenantRates[cls] ?? plans.of(plan).rates[cls];
  if (rate === 'none') return rates.peek(`${tenantId} ${cls}`, limit, ctx.now);
  const tokenLimit = tokenRates[cls];
  if (tokenLimit === undefined) return check(rates.take(`${tenantId} ${cls}`, limit, ctx.now));
  const own = check(rates.take(`${credentialId} ${cls}`, tokenLimit, ctx.now));
  const state = check(rates.take(`${tenantId} ${cls}`, limit, ctx.now));
  return own.remaining < state.remaining ? own : state;
}

/**
 * A sign-out is never refused because of requests that were sent before, by the person or by a thief of the session. A request that does not end
 * the session is: the state says whether, see `overLimit`.
 */
export function countByTenant(ctx: Context): RateState {
  return limitByTenant(ctx, (state) => state);
}

/**
 * Failed authentications are counted by address, after the credential was checked, so that a valid caller who shares an address with an attacker is
 * never refused. Checking a token that we did not sign takes one signature check, and a client secret one lookup, no more than any response.
 */
export function limitFailures(ctx: Context): void {
  const key = `address ${addressGroup(ctx.call.address)} failed`;
  enforced(ctx.kernel.rates.take(key, FAILED_AUTH_LIMIT_PER_ADDRESS, ctx.now));
}

export function rateHeaders(state: RateState): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(state.limit),
    'X-RateLimit-Remaining': String(state.remaining),
    'X-RateLimit-Reset': String(state.resetSeconds),
  };
}

function enforced(state: RateState): RateState {
  if (state.isExceeded) throw overLimit(state);
  return state;
}

export function overLimit(state: RateState): CofferError {
  const message = `Too many requests: wait ${state.retryAfterSeconds} s. The limit is ${state.limit} per minute.`;
  return new CofferError('RATE_LIMIT_EXCEEDED', message, {
    retryAfterSeconds: state.retryAfterSeconds,
    headers: rateHeaders(state),
  });
}
