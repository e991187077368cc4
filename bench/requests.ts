import { pathOf, vaultOf } from './data-set.ts';
import type { Installation } from './installation.ts';
import { getRequest, type Load, writeRequest } from './load.ts';

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

const VAULT = `/v1/vaults/${vaultOf(0)}`;
const KEY = 'bench-requests';

/** What goes over the wire for it; whatever it needs is made first. */
export async function requestOf(name: RequestName, { port, token, perVault }: Installation): Promise<Load['request']> {
  if (name === 'me') return getRequest('/auth/me', token);
  if (name === 'secret') return getRequest(`${VAULT}/secrets/${pathOf(7)}`, token);
  if (name === 'list') return getRequest(`${VAULT}/secrets?limit=100`, token);
  if (name === 'aggregate') return getRequest(`${VAULT}/aggregate?limit=100`, token);
  if (name === 'write') {
    let n = 0;
    return () => writeRequest('PUT', `${VAULT}/secrets/${pathOf(n++ % perVault)}`, token, { value: 'x' });
  }
  await makeKey(port, token);
  return writeRequest('POST', `/eaas/keys/${KEY}/encrypt`, token, { plaintext: 'x'.repeat(64) });
}

async function makeKey(port: number, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${port}/eaas/keys`;
  if ((await fetch(`${url}/${KEY}`, { headers })).ok) return;
  const made = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ name: KEY }) });
  if (!made.ok) throw new Error(`no key was made: ${made.status}`);
}
