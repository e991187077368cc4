import type { Installation } from './installation.ts';
import { getRequest, type Load, writeRequest } from './load.ts';
import { spread, type Target } from './spread.ts';
import { post } from './tenants.ts';

/** The requests that are measured and profiled by name. */
export const REQUEST_NAMES = ['me', 'secret', 'list', 'aggregate', 'write', 'encrypt'] as const;
export type RequestName = (typeof REQUEST_NAMES)[number];

export const SHOWN: Record<RequestName, string> = {
  me: 'GET /auth/me',
  secret: 'GET a secret',
  list: 'GET a page of 100',
  aggregate: 'GET 100 values at once',
  write: 'PUT a secret',
  encrypt: 'POST encrypt, 64 B',
};

const KEY = 'bench-requests';

export const readSecret = ({ secret, token }: Target) => getRequest(secret, token);
export const writeSecret = ({ secret, token }: Target) => writeRequest('PUT', secret, token, { value: 'x' });

/** Those about secrets and callers, which are spread over many of them. */
const SPREAD_REQUESTS: Record<Exclude<RequestName, 'encrypt'>, (target: Target) => Buffer> = {
  me: ({ token }) => getRequest('/auth/me', token),
  secret: readSecret,
  list: ({ vault, token }) => getRequest(`${vault}/secrets?limit=100`, token),
  aggregate: ({ vault, token }) => getRequest(`${vault}/aggregate?limit=100`, token),
  write: writeSecret,
};

/** What goes over the wire for it; whatever it needs is made first. */
export async function requestOf(name: RequestName, installation: Installation): Promise<Load['request']> {
  if (name !== 'encrypt') return spread(installation, SPREAD_REQUESTS[name]);
  const { port, token } = installation;
  await makeKey(port, token);
  return writeRequest('POST', `/eaas/keys/${KEY}/encrypt`, token, { plaintext: 'x'.repeat(64) });
}

async function makeKey(port: number, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  if ((await fetch(`http://127.0.0.1:${port}/eaas/keys/${KEY}`, { headers })).ok) return;
  await post(port, token, '/eaas/keys', { name: KEY });
}
