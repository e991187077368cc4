import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, type JWK, SignJWT } from 'jose';
import { sha256 } from '../../server/src/kernel/crypto/digest.ts';
import { ok, uniqueName } from './people.ts';
import type { Answer, Service } from './service.ts';

/** A connection as its maker sees it, once. */
export interface Machine {
  id: number;
  client_id: string;
  client_secret: string;
  certificate: string;
  private_key: string;
  ca_chain: string;
  name: string;
  vault: string;
  [field: string]: unknown;
}

/** No certificate is requested unless an option says so. */
export async function addConnection(
  service: Service,
  vault: string,
  more: Record<string, unknown> = {},
  token = service.adminToken,
): Promise<Machine> {
  const body = { name: uniqueName('connection'), vault, mtls_required: false, ...more };
  return ok(service.call('POST', '/v1/app-connections', { token, body }), 201);
}

export function clientHeaders({ client_id, client_secret }: Pick<Machine, 'client_id' | 'client_secret'>) {
  return { 'x-client-id': client_id, 'x-client-secret': client_secret };
}

/** A request with the client headers, over the main listener. */
export function callAs(
  service: Service,
  machine: Pick<Machine, 'client_id' | 'client_secret'>,
  method: string,
  path: string,
  more: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const headers = { ...clientHeaders(machine), ...more.headers };
  return service.call(method, path, { token: null, headers, ...(more.body !== undefined && { body: more.body }) });
}

export interface Shown {
  certificate: string;
  private_key: string;
}

export interface TlsAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
  headers: Record<string, string | string[] | undefined>;
}

/** A request over the TLS listener, with a client certificate if one is given. An agent keeps its connection open. */
export function tlsCall(
  service: Service,
  shown: Shown | null,
  path: string,
  more: { method?: string; headers?: Record<string, string>; agent?: Agent; body?: object } = {},
): Promise<TlsAnswer> {
  const agent = more.agent ?? tlsAgent(service, shown);
  return new Promise((resolve, reject) => {
    const { method = 'GET', body: content } = more;
    const text = content && JSON.stringify(content);
    const headers = {
      ...more.headers,
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    const sent = request(`${service.tlsUrl}${path}`, { method, headers, agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        if (more.agent === undefined) agent.destroy();
        const received = Buffer.concat(pieces).toString('utf8');
        const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
        const body = isJson ? JSON.parse(received) : received;
        resolve({ status: response.statusCode ?? 0, body, headers: response.headers });
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

export function tlsAgent(service: Service, shown: Shown | null): Agent {
  const ca = readFileSync(join(service.dataDir, 'ca.pem'), 'utf8');
  return new Agent({ ca, keepAlive: true, ...(shown && { cert: shown.certificate, key: shown.private_key }) });
}

export interface DpopKey {
  privateKey: KeyObject;
  jwk: JWK;
  jkt: string;
}

export async function newDpopKey(): Promise<DpopKey> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = await exportJWK(publicKey);
  return { privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

export interface ProofClaims {
  htm?: string;
  htu: string;
  /** Epoch milliseconds. */
  at: number;
  token?: string;
  jti?: string;
  nonce?: string;
  more?: Record<string, unknown>;
}

export async function proofBy(
  key: DpopKey,
  claims: ProofClaims,
  header: Record<string, unknown> = {},
): Promise<string> {
  const { htm = 'GET', htu, at, token, jti = randomUUID(), nonce, more } = claims;
  const ath = token === undefined ? {} : { ath: sha256(token).toString('base64url') };
  return new SignJWT({ htm, htu, jti, ...ath, ...(nonce !== undefined && { nonce }), ...more })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk, ...header })
    .setIssuedAt((more?.['iat'] as number | undefined) ?? Math.floor(at / 1000))
    .sign(key.privateKey);
}
