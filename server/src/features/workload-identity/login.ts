import { HOUR_MS, timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { KeySets } from '../../kernel/external-identity/key-sets.ts';
import type { HttpClient } from '../../kernel/outbound/http-client.ts';
import type { Context } from '../../kernel/request/context.ts';
import {
  asLoginDenied,
  attributeTo,
  checkAddressAndDpop,
  insertConnectionToken,
  issueConnectionToken,
  lockUnchanged,
  loginDenied,
  refuseInactive,
  refuseSuspended,
} from '../app-connections/login/index.ts';
import { findConnectionByKey } from '../app-connections/storage/index.ts';
import type * as contract from './contract.ts';
import { type Credential, METHOD_TYPES, type MethodType } from './contract.ts';
import { kindOf } from './method-kinds.ts';
import type { Verified } from './methods/method.ts';
import { unseal } from './secret-config.ts';
import { audienceRefusal, sourceOf } from './service.ts';
import * as store from './store.ts';

/** Lifetime of the tokens issued by a login. */
export const WORKLOAD_TOKEN_TTL_MS = HOUR_MS;

/** The clients with which logins reach external services. */
export interface Outside {
  readonly http: HttpClient;
  readonly keySets: KeySets;
}

export async function login(ctx: Context, outside: Outside, body: Body<typeof contract.login>) {
  const { method_id, ...credential } = body;
  const shown = shownType(credential);
  ctx.record.setResource('workload-method');
  const { read } = ctx.database;
  const method = await store.findMethodAnywhere(read, method_id);
  const connection = method && (await findConnectionByKey(read, method.tenant_id, method.connection_no));
  if (method === undefined || connection === undefined) throw loginDenied('there is no such method');
  attributeTo(ctx, connection, sourceOf(method_id));
  ctx.record.describe({ method: method_id, name: method.name, type: method.type });
  if (shown !== method.type) throw loginDenied(`a credential of type ${shown} was presented`);
  await refuseInactive(ctx, connection);

  const verified = await verify(ctx, outside, method, credential);
  const key = `${sourceOf(method_id)}: ${verified.subject}`;
  ctx.caller.identify(connection.tenant_id, {
    kind: 'app_connection',
    id: connection.client_id,
    name: connection.name,
    key,
  });
  ctx.record.describe({ subject: verified.subject, ...verified.details });
  const dpopKey = await checkAddressAndDpop(ctx, connection);
  const { token, row } = await issueConnectionToken(ctx.kernel, {
    kind: 'workload',
    connection,
    source: sourceOf(method_id),
    subject: verified.subject,
    dpopKey,
    certificateThumbprint: null,
    expiresAt: ctx.now + WORKLOAD_TOKEN_TTL_MS,
  });
  ctx.record.describe({ token: row.token_id });
  return ctx.change(async (tx) => {
    await lockUnchanged(tx, connection);
    // The method is loaded again and locked: if it was changed or deleted while the external service was queried, the login fails.
    const current = await store.lockMethod(tx, method.tenant_id, method_id);
    if (current?.revision !== method.revision) throw loginDenied('the method was changed during the login');
    await refuseSuspended(tx, connection);
    await insertConnectionToken(tx, row);
    return { cv_jwt: token, expires_at: timestamp(row.expires_at) };
  });
}

async function verify(
  ctx: Context,
  outside: Outside,
  method: store.MethodRow,
  credential: Credential,
): Promise<Verified> {
  const config = { ...(JSON.parse(method.config) as Record<string, unknown>), ...(await unseal(ctx.kernel, method)) };
  const otherAudience = audienceRefusal(ctx.kernel, config);
  if (otherAudience !== null) throw loginDenied(`expected_audience ${otherAudience}`);
  const tools = { ...outside, now: ctx.now, audience: ctx.kernel.addresses.audience, owner: method.tenant_id };
  try {
    return await kindOf(method.type).verify(credential, config, tools);
  } catch (error) {
    throw asLoginDenied(error);
  }
}

/** Determines the credential's type from its fields alone, so that the response reveals nothing about the method. */
function shownType(credential: Credential): MethodType {
  const given = Object.keys(credential);
  const type = METHOD_TYPES.find((one) => {
    const { credential: fields } = kindOf(one);
    return fields.length === given.length && fields.every((field) => given.includes(field));
  });
  if (type === undefined) throw invalidField('/body', 'must have the credential of exactly one type of method');
  return type;
}
