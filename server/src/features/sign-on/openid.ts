import * as client from 'openid-client';
import { type HttpClient, OutgoingFailure } from '../../kernel/outbound/http-client.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { clientSecretOf, redirectUri, signedOutUri } from './providers.ts';
import type { ProviderRow } from './storage/identity-store.ts';

const ANSWER_BYTES_MAX = 256 * 1024;
const ERROR_CODE = /^[A-Za-z][A-Za-z0-9_]{1,63}$/;

/** The provider did not answer as OpenID Connect requires. The message is our own: it contains no part of a token or of an answer. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
}

/** What is stored while a person is at the provider. */
export interface Challenge {
  state: string;
  nonce: string;
  verifier: string;
}

/** What a provider says about a person. */
export type Claims = Record<string, unknown> & { sub: string };

export function newChallenge(): Challenge {
  return {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
  };
}

export async function authorizationUrl(
  kernel: Pick<Kernel, 'addresses' | 'http' | 'keyring'>,
  provider: ProviderRow,
  challenge: Challenge,
): Promise<URL> {
  const configuration = await discovered(kernel, provider);
  const parameters = {
    redirect_uri: redirectUri(kernel, provider),
    response_type: 'code',
    scope: (JSON.parse(provider.scopes) as string[]).join(' '),
    state: challenge.state,
    nonce: challenge.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(challenge.verifier),
    code_challenge_method: 'S256',
  };
  const url = await reported(async () => client.buildAuthorizationUrl(configuration, parameters));
  return safeUrl(url, provider, 'the authorization endpoint');
}

/** Where a person ends their session at the provider (OpenID Connect RP-Initiated Logout 1.0); null if it has no such page. */
export async function endSessionUrl(
  kernel: Pick<Kernel, 'addresses' | 'http' | 'keyring'>,
  provider: ProviderRow,
): Promise<URL | null> {
  const configuration = await discovered(kernel, provider);
  if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
  // Without an id_token, which would have to be stored, the provider may ask the person whether they mean it.
  const parameters = { post_logout_redirect_uri: signedOutUri(kernel) };
  const url = await reported(async () => client.buildEndSessionUrl(configuration, parameters));
  return safeUrl(url, provider, 'the end session endpoint');
}

/** A person's browser goes there, so it is no less protected than the issuer, and no other kind of address. */
function safeUrl(url: URL, { issuer }: ProviderRow, what: string): URL {
  const isSafe = url.protocol === 'https:' || url.protocol === new URL(issuer).protocol;
  if (!isSafe) throw new ProviderFailure(`${what} is not https`);
  return url;
}

/**
 * Exchanges the code, and returns the claims of an id_token whose issuer, audience, nonce, time and signature were verified. The library compares
 * `iss` of the answer with the issuer, and requires it of a provider that says that it sends it (RFC 9207).
 */
export async function verifiedClaims(
  kernel: Pick<Kernel, 'addresses' | 'http' | 'keyring'>,
  provider: ProviderRow,
  challenge: Challenge,
  { code, state, iss }: { code: string; state: string; iss?: string | undefined },
): Promise<Claims> {
  const configuration = await discovered(kernel, provider);
  const answer = new URL(redirectUri(kernel, provider));
  answer.search = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }) }).toString();
  const tokens = await reported(() =>
    client.authorizationCodeGrant(configuration, answer, {
      expectedState: challenge.state,
      expectedNonce: challenge.nonce,
      pkceCodeVerifier: challenge.verifier,
      idTokenExpected: true,
    }),
  );
  const claims = tokens.claims();
  if (claims === undefined) throw new ProviderFailure('there is no id_token');
  const isComplete = ['email', provider.groups_claim].every((name) => claims[name] !== undefined);
  if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  // Many providers leave these out of the id_token. The library refuses an answer about another subject.
  const more = await reported(() => client.fetchUserInfo(configuration, tokens.access_token, claims.sub));
  return { ...more, ...claims };
}

/** Discovered for each sign-in, so that new keys and addresses of the provider count at once. */
async function discovered(
  kernel: Pick<Kernel, 'http' | 'keyring'>,
  provider: ProviderRow,
): Promise<client.Configuration> {
  const secret = await clientSecretOf(kernel, provider);
  const authentication = secret === null ? client.None() : client.ClientSecretBasic(secret);
  return reported(() =>
    client.discovery(new URL(provider.issuer), provider.client_id, {}, authentication, {
      [client.customFetch]: guardedFetch(kernel.http, provider.tenant_id),
      // Plain http is refused by the guarded client, except to private hosts that the operator allowed. Signatures are verified even over TLS.
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    }),
  );
}

/** The library's calls go only where the address guard allows, follow no redirect, and are bounded in time and size. */
function guardedFetch(http: HttpClient, owner: string): client.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    if (method !== 'GET' && method !== 'POST') throw new ProviderFailure('an unexpected request');
    const isText = typeof body === 'string' || body instanceof URLSearchParams;
    const answer = await http.send({
      owner,
      url,
      method,
      headers,
      ...(isText && { body: body.toString() }),
      bodyBytesMax: ANSWER_BYTES_MAX,
      signal,
    });
    return new Response(answer.body.length === 0 ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: { 'content-type': answer.contentType },
    });
  };
}

/** Keeps only the code of an error: messages of the library may quote what the provider sent. */
async function reported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const failure = outgoingFailureIn(error);
    if (failure !== null) throw new ProviderFailure(failure.message);
    const named = error as { error?: unknown; code?: unknown };
    const code = [named.error, named.code].find((one) => typeof one === 'string' && ERROR_CODE.test(one));
    if (code === undefined) throw error;
    throw new ProviderFailure(`the answer was refused (${String(code)})`);
  }
}

function outgoingFailureIn(error: unknown): OutgoingFailure | null {
  if (error instanceof OutgoingFailure) return error;
  return error instanceof Error && error.cause !== undefined ? outgoingFailureIn(error.cause) : null;
}
