import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { findTenant, lockAndCheckActive } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import {
  passkeyNamed,
  refusedPasskey,
  requestOptions,
  SIGN_IN,
  spendAssertion,
  verifyAssertion,
} from '../mfa/passkeys/index.ts';
import { insertToken } from '../tokens/storage/index.ts';
import { findUser, lockUser } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import { identify, issueSession, refuseIfSignOnRequired, type SessionPorts, sessionAnswer } from './service.ts';
import { signInReport } from './sign-in-report.ts';

/** The same for everybody: the person is known only once the authenticator has named them. */
export function passkeyLoginOptions(ctx: Context): Promise<Output<typeof contract.passkeyLoginOptions>> {
  return requestOptions(ctx, SIGN_IN);
}

/** An authenticator that verified its person is two factors: something they have, and what it verified them by. */
export async function passkeyLogin(ctx: Context, ports: SessionPorts, body: Body<typeof contract.passkeyLogin>) {
  ctx.record.setResource('session');
  const { read } = ctx.kernel.database;
  const passkey = await passkeyNamed(ctx, body.response.id);
  // For an unknown passkey the same is queried, so that it takes as long as a known one.
  const { tenant_id, user_id } = passkey ?? { tenant_id: ctx.kernel.operatorTenantId, user_id: '' };
  const tenant = await findTenant(read, tenant_id);
  const user = await findUser(read, tenant_id, user_id);
  identify(ctx, tenant, user?.user_id ?? '', user?.email ?? '');
  const verified = await verifyAssertion(ctx.kernel, SIGN_IN, body.response, passkey);
  if (tenant === undefined || user === undefined) throw refusedPasskey('the user or tenant was deleted');
  const { passkey_id: factor } = verified.passkey;
  ctx.record.describe({ passkey: factor });
  if (user.status !== 'active') throw refusedPasskey('the user is disabled');
  if (tenant.status !== 'active') throw refusedPasskey('the tenant is suspended');
  await refuseIfSignOnRequired(ctx, ports, user);
  const report = await signInReport(ctx, user);
  const issued = await issueSession(ctx, user, { method: 'passkey', isFactorShown: true });
  ctx.record.describe({ token: issued.row.token_id, mfa: true });
  return ctx.change(async (tx) => {
    const current = await lockUser(tx, tenant.tenant_id, user.user_id);
    if (current?.status !== 'active') throw refusedPasskey('the user changed');
    await spendAssertion(tx, verified, ctx.now);
    if (!(await lockAndCheckActive(tx, tenant.tenant_id))) throw refusedPasskey('the tenant was suspended meanwhile');
    const shown = { factor, factor_trusted_from: null };
    await insertToken(tx, { ...issued.row, ...shown }, current);
    await report(tx, current, { method: 'passkey', shown });
    return sessionAnswer(issued);
  });
}
