import { CALLERS_PER_TENANT, MORE_TENANTS, ownerOf, vaultOf } from './data-set.ts';

/** A tenant, and the personal access tokens of its callers. */
export interface Tenant {
  name: string;
  tokens: string[];
}

export interface Vault {
  name: string;
  tenant: Tenant;
  /** The tenant's, beginning with another one in each of its vaults. */
  tokens: string[];
}

export function vaultsOf(tenants: readonly Tenant[], count: number): Vault[] {
  return Array.from({ length: count }, (_, v) => {
    const tenant = ownerOf(v, tenants);
    const first = Math.floor(v / tenants.length) % tenant.tokens.length;
    return { name: vaultOf(v), tenant, tokens: [...tenant.tokens.slice(first), ...tenant.tokens.slice(0, first)] };
  });
}

/** Creates the tenants that measurements use beside the operator's, and tokens for the callers of each. */
export async function createTenants(port: number, operatorToken: string): Promise<Tenant[]> {
  const tenants: Tenant[] = [{ name: 'operator', tokens: await createTokens(port, operatorToken) }];
  for (const name of MORE_TENANTS) {
    const body = { name, plan: 'enterprise', owner_email: `owner@${name}.example` };
    const { owner } = await post(port, operatorToken, '/v1/tenants', body);
    tenants.push({ name, tokens: await createTokens(port, (owner as { token: string }).token) });
  }
  return tenants;
}

async function createTokens(port: number, token: string): Promise<string[]> {
  const tokens: string[] = [];
  for (let caller = 0; caller < CALLERS_PER_TENANT; caller++) {
    const created = await post(port, token, '/auth/tokens', { name: `caller ${caller}` });
    tokens.push(String(created['token']));
  }
  return tokens;
}

/** Sends a request that prepares a measurement; anything but success ends the run. */
export async function post(port: number, token: string, path: string, body: unknown): Promise<Record<string, unknown>> {
  return (await send({ port, token }, 'POST', path, body)).json() as Promise<Record<string, unknown>>;
}

interface Caller {
  port: number;
  token: string;
}

export function get(caller: Caller, path: string): Promise<Response> {
  return send(caller, 'GET', path);
}

export async function send({ port, token }: Caller, method: string, path: string, body?: unknown): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  return response;
}
