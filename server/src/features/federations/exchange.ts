import { cleanText } from '../../kernel/audit/entry/entry.ts';
import { MINUTE_MS, SECOND_MS, timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import { ANY_ALGORITHM } from '../../kernel/external-identity/algorithms.ts';
import { type Claims, isName, readToken } from '../../kernel/external-identity/external-jwt.ts';
import type { KeySets } from '../../kernel/external-identity/key-sets.ts';
import { ExternalIdentityRefusal, refuse } from '../../kernel/external-identity/refusal.ts';
import { verifiedByKeySet } from '../../kernel/external-identity/verified-token.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { ConnectionCertificates } from '../app-connections/index.ts';
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
import { type ConnectionRow, findClient, findConnectionNumbered } from '../app-connections/storage/index.ts';
import { tenantOfClient } from '../certificates/index.ts';
import type * as contract from './contract.ts';
import { FEDERATIONS_MAX } from './contract.ts';
import { providerNamed } from './providers.ts';
import { sourceOf } from './service.ts';
import * as store from './store.ts';
import { matchesSubject } from './subject-pattern.ts';

/** The maximum age of an id_token, and how long keys are cached. */
export const TOKEN_AGE_MAX_MS = 10 * MINUTE_MS;
export const KEYS_TTL_MS = 5 * MINUTE_MS;
const CONNECTION_NUMBER = /^[1-9]\d{0,14}$/;
const PRESENTED_SUBJECT_MAX = 256;
const BEARER = /^Bearer +([^ ]+)$/i;

export interface ExchangeParts {
  readonly certificates: ConnectionCertificates;
  readonly keySets: KeySets;
}

export async function exchange(
  ctx: Context,
  { certificates, keySets }: ExchangeParts,
  id: string,
  body: Body<typeof contract.exchangeToken>,
) {
  const idToken = shownToken(ctx, body.id_token);
  const connection = await connectionNamed(ctx, id);
  if (connection === undefined) {
    ctx.record.describe({ connection: id });
    const tenantId = CONNECTION_NUMBER.test(id) ? null : await tenantOfClient(ctx.database.read, id);
    if (tenantId !== null) ctx.caller.identify(tenantId, { kind: 'anonymous', id: '', name: '', key: id });
    throw loginDenied('there is no such connection');
  }
  attributeTo(ctx, connection, '');
  await refuseInactive(ctx, connection);
  if (connection.external_ca_pem !== null) throw loginDenied('the connection uses an external CA');

  const { federation, claims } = await verified(ctx, keySets, connection, idToken);
  const source = sourceOf(federation.federation_no);
  const subject = `${claims['sub']}${runOf(federation, claims)}`;
  const actor = {
    kind: 'app_connection',
    id: connection.client_id,
    name: connection.name,
    key: `${source}: ${subject}`,
  };
  ctx.caller.identify(connection.tenant_id, actor);
  ctx.record.describe({
    federation: federation.federation_no,
    name: federation.name,
    provider: federation.provider,
    subject,
  });
  const dpopKey = await checkAddressAndDpop(ctx, connection);

  const ttlMs = federation.token_ttl_seconds * SECOND_MS;
  const prepared = await certificates.prepare({
    tenantId: connection.tenant_id,
    clientId: connection.client_id,
    connectionNo: connection.connection_no,
    ttlMs,
    source,
  });
  const { token, row } = await issueConnectionToken(ctx.kernel, {
    kind: 'federation',
    connection,
    source,
    subject,
    dpopKey,
    // Where the connection requires a certificate anyway, the token is bound to the one it was issued with.
    certificateThumbprint: connection.mtls_required === 1 ? prepared.row.thumbprint : null,
    expiresAt: ctx.now + ttlMs,
  });
  ctx.record.describe({ token: row.token_id, serial: prepared.row.serial });
  return ctx.change(async (tx) => {
    await lockUnchanged(tx, connection);
    // The federation is read again under a lock: one that was changed or deleted while its issuer was queried lets nobody in.
    const current = await store.lockFederation(tx, federation);
    if (current?.revision !== federation.revision) throw loginDenied('the federation changed meanwhile');
    await refuseSuspended(tx, connection);
    await certificates.insert(tx, prepared.row);
    await insertConnectionToken(tx, row);
    ctx.record.addEntry('cert_issued', ctx.record.resource, {
      client_id: connection.client_id,
      serial: prepared.row.serial,
    });
    return {
      certificate: prepared.certificate,
      private_key: prepared.private_key ?? '',
      ca_chain: prepared.ca_chain,
      client_id: connection.client_id,
      access_token: token,
      expires_at: timestamp(row.expires_at),
    };
  });
}

/** The token is in the body or sent as a bearer token. A header beside the body is ignored, as at every public endpoint. */
function shownToken({ call }: Context, inBody: string | undefined): string {
  const token = inBody ?? BEARER.exec(call.headers.authorization ?? '')?.[1];
  if (token === undefined) throw invalidField('/body/id_token', 'is required, here or as a bearer token');
  return token;
}

/** Searches all tenants: both identifiers are unique in the installation. */
function connectionNamed({ database }: Context, id: string): Promise<ConnectionRow | undefined> {
  if (!CONNECTION_NUMBER.test(id)) return findClient(database.read, id);
  return findConnectionNumbered(database.read, Number(id));
}

interface Accepted {
  federation: store.FederationRow;
  claims: Claims;
}

/**
 * Returns the first federation of the connection that accepts the token. If none does, it throws with the reason of each federation of that issuer.
 */
async function verified(ctx: Context, keySets: KeySets, connection: ConnectionRow, idToken: string): Promise<Accepted> {
  let presented: unknown;
  try {
    const { iss, sub } = readToken(idToken, ANY_ALGORITHM).unverified;
    presented = sub;
    const { tenant_id, connection_no } = connection;
    const all = await store.federationsOf(ctx.database.read, tenant_id, connection_no, FEDERATIONS_MAX);
    const refusals: ExternalIdentityRefusal[] = [];
    for (const federation of all.filter((one) => one.issuer === iss)) {
      try {
        return { federation, claims: await claimsFor(ctx, keySets, federation, idToken) };
      } catch (error) {
        if (!(error instanceof ExternalIdentityRefusal)) throw error;
        refusals.push(
          new ExternalIdentityRefusal(`${sourceOf(federation.federation_no)}: ${error.message}`, error.code),
        );
      }
    }
    if (refusals.length === 0) refuse('the connection has no federation for this issuer');
    const isKeyMissing = refusals.some(({ code }) => code === 'JWKS_KEY_NOT_FOUND');
    const reasons = refusals.map(({ message }) => message).join('; ');
    throw new ExternalIdentityRefusal(reasons, isKeyMissing ? 'JWKS_KEY_NOT_FOUND' : 'LOGIN_DENIED');
  } catch (error) {
    // Nobody vouches for this subject, so it is recorded as presented: an admin of the tenant sees which pipeline was refused.
    if (typeof presented === 'string') {
      ctx.record.describe({ presented_subject: cleanText(presented, PRESENTED_SUBJECT_MAX) });
    }
    throw asLoginDenied(error);
  }
}

async function claimsFor(
  ctx: Context,
  keySets: KeySets,
  federation: store.FederationRow,
  idToken: string,
): Promise<Claims> {
  if (federation.enabled !== 1) refuse('it is disabled');
  const { issuer, jwks_url, tenant_id } = federation;
  const audience = federation.audience ?? ctx.kernel.addresses.audience;
  const otherAudience = ctx.kernel.addresses.refusalOfAudience(audience);
  if (otherAudience !== null) refuse(`the audience of the federation ${otherAudience}`);
  const expected = { issuer, audience, now: ctx.now, maxAgeMs: TOKEN_AGE_MAX_MS };
  const source = { owner: tenant_id, issuer, jwksUrl: jwks_url, ttlMs: KEYS_TTL_MS };
  const claims = await verifiedByKeySet(idToken, ANY_ALGORITHM, expected, { source, keySets });
  // The subject is compared only after the issuer's signature is verified. Earlier, the different response for an unknown key would tell strangers
  // which subjects match.
  refuseOtherSubject(federation, claims);
  return claims;
}

function refuseOtherSubject({ subject_pattern, claims: wanted }: store.FederationRow, claims: Claims): void {
  const { sub } = claims;
  if (!isName(sub)) refuse('the token has no subject');
  if (!matchesSubject(subject_pattern, String(sub))) refuse('the subject does not match the pattern');
  for (const [name, value] of Object.entries(JSON.parse(wanted) as Record<string, unknown>)) {
    if (!Object.hasOwn(claims, name) || claims[name] !== value) refuse(`the claim ${name} has another value`);
  }
}

/** Identifies the pipeline run, for the audit log. */
function runOf({ provider }: store.FederationRow, claims: Claims): string {
  const name = providerNamed(provider).runClaims.find((claim) => Object.hasOwn(claims, claim));
  const value = name === undefined ? undefined : claims[name];
  const isShort = typeof value === 'number' || (isName(value) && value.length <= 128);
  return isShort ? ` run ${value}` : '';
}
