import { randomInt } from 'node:crypto';
import { MINUTE_MS, SECOND_MS } from '../../../kernel/base/clock.ts';
import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import type { AddressGuard } from '../../../kernel/outbound/address-guard.ts';
import type { Kernel } from '../../../kernel/request/kernel.ts';
import type { SecretKernel } from '../links.ts';
import { secretResource } from '../location.ts';
import { type DatabaseValue, readDatabaseValue } from '../value/database-value.ts';
import { openValue } from '../value/sealing.ts';
import { BackendFailure } from './backends/backend.ts';
import { PostgresRole } from './backends/postgres-role.ts';
import { everyLogin, type LoginRow, rotatedLogins } from './login-store.ts';

/** Names of roles that belong to this service begin so. Others belong to other systems and are none of its business. */
const PREFIX = 'cv_';
const ROLES_MAX = 1000;
const AT_ONCE = 100;
/** Secrets that are tried to log in to one server. */
const LOGINS_TRIED_MAX = 3;
const TIMEOUT_MS = 20 * SECOND_MS;
/** Servers of one tenant that are queried in one scan, and how long that may take. Servers that hang would delay the scans of all tenants. */
const SERVERS_MAX = 200;
const ASKING_MAX_MS = 10 * MINUTE_MS;
/** How long names of one tenant that do not resolve may take in one scan. The others of that tenant are then compared as they are written. */
const UNRESOLVED_MAX_MS = 10 * SECOND_MS;

/** A server on which roles have no secret. It is named by a secret, because its own name is part of values. */
export interface ServerDrift {
  resource: string;
  vaultId: string;
  secretId: string;
  isProductionFortress: boolean;
  /** Roles with such names that secrets account for. */
  accounted: number;
  orphans: string[];
}

interface Server {
  host: string;
  port: number;
  address: string | null;
  /** The oldest secrets that a backend rotates there. */
  logins: LoginRow[];
}

interface QueriedServer {
  server: Server;
  first: LoginRow;
  roles: string[];
  /** Those of the roles for which any tenant stores a login. */
  accounted: Set<string>;
}

/** Compares the roles of every PostgreSQL server on which the tenant has passwords rotated with the secrets of all tenants. Values stay in here. */
export async function* backendDrift(
  kernel: SecretKernel,
  tenantId: string,
  signal: AbortSignal,
): AsyncGenerator<ServerDrift> {
  const addresses = new Addresses(kernel.outbound);
  const queried = await queryServers(kernel, tenantId, addresses, signal);
  if (queried.length === 0 || !(await accountFor(kernel, queried, addresses, signal))) return;
  for (const { first, roles, accounted } of queried) {
    const orphans = roles.filter((role) => !accounted.has(role));
    if (orphans.length === 0) continue;
    yield {
      resource: secretResource(first.vault_name, first.path),
      vaultId: first.vault_id,
      secretId: first.secret_id,
      isProductionFortress: first.protection === 'fortress' && first.environment === 'production',
      accounted: roles.length - orphans.length,
      orphans,
    };
  }
}

/** The servers of the tenant that responded and have such roles. It begins with another one each time, so that none is always left out. */
async function queryServers(
  kernel: SecretKernel,
  tenantId: string,
  addresses: Addresses,
  stopping: AbortSignal,
): Promise<QueriedServer[]> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(ASKING_MAX_MS)]);
  const servers = await serversOf(kernel, tenantId, addresses, signal);
  const start = servers.length <= SERVERS_MAX ? 0 : randomInt(servers.length);
  const queried: QueriedServer[] = [];
  for (const server of [...servers.slice(start), ...servers.slice(0, start)].slice(0, SERVERS_MAX)) {
    if (signal.aborted) break;
    const [first] = server.logins;
    const roles = await rolesOn(kernel, server, signal);
    if (first !== undefined && roles !== null && roles.length > 0) {
      queried.push({ server, first, roles, accounted: new Set() });
    }
  }
  if (signal.aborted && !stopping.aborted) {
    kernel.log.warn(
      { tenant: tenantId },
      'not all database servers of a tenant could be queried for their roles in time',
    );
  }
  return queried;
}

/** The address of each host, looked up once: the same server may have several names. */
class Addresses {
  readonly #guard: AddressGuard;
  readonly #known = new Map<string, string | null>();
  /** How long names that did not resolve took, by tenant: anyone who stores many of them delays nobody else for long. */
  readonly #unresolvedMs = new Map<string, number>();

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  /** Null if it has no address, or one that calls may not go to. Such a server is compared by its name alone. */
  async of(host: string, tenantId: string): Promise<string | null> {
    const name = host.toLowerCase();
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const spentMs = this.#unresolvedMs.get(tenantId) ?? 0;
    if (spentMs >= UNRESOLVED_MAX_MS) return null;
    const startedAt = performance.now();
    const address = await this.#guard.resolve(name).then(
      (found) => found.address,
      () => null,
    );
    if (address === null) this.#unresolvedMs.set(tenantId, spentMs + performance.now() - startedAt);
    this.#known.set(name, address);
    return address;
  }
}

async function serversOf(
  kernel: Pick<Kernel, 'database' | 'keyring' | 'log'>,
  tenantId: string,
  addresses: Addresses,
  signal: AbortSignal,
): Promise<Server[]> {
  const { read } = kernel.database.forTenant(tenantId, 'bulk');
  const servers: Server[] = [];
  for (let after = 0; !signal.aborted; ) {
    const rows = await rotatedLogins(read, tenantId, after, AT_ONCE);
    for (const row of rows) {
      const login = await loginOf(kernel, row);
      if (login === null || login === 'unreadable') continue;
      const host = login.host.toLowerCase();
      const address = await addresses.of(host, tenantId);
      const isSame = (one: Server) =>
        one.port === login.port && (one.host === host || (address !== null && one.address === address));
      const known = servers.find(isSame);
      if (known === undefined) servers.push({ host, port: login.port, address, logins: [row] });
      else if (known.logins.length < LOGINS_TRIED_MAX) known.logins.push(row);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE) break;
    after = Number(last.secret_no);
    await nextTurn(tenantId);
  }
  return servers;
}

/** Null if no login succeeded: a server that cannot be reached has no drift that anybody could tell. */
async function rolesOn(
  kernel: Pick<Kernel, 'keyring' | 'log' | 'outbound'>,
  { logins }: Server,
  signal: AbortSignal,
): Promise<string[] | null> {
  const backend = new PostgresRole(kernel.outbound);
  for (const row of logins) {
    const value = await openValue(kernel, row.tenant_id, row.vault_id, row);
    if (backend.problem(value) !== null) continue;
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      return await backend.rolesStartingWith(value, PREFIX, ROLES_MAX, limited);
    } catch (error) {
      if (!(error instanceof BackendFailure)) throw error;
      const { tenant_id: tenant, secret_id: secret } = row;
      kernel.log.warn({ tenant, secret, failure: error.code }, 'the roles of a database server could not be listed');
    }
  }
  return null;
}

/** Finds in one pass which roles have a login in any tenant. False if a secret cannot be read, because it might account for any role. */
async function accountFor(
  kernel: Pick<Kernel, 'database' | 'keyring' | 'log'>,
  queried: readonly QueriedServer[],
  addresses: Addresses,
  signal: AbortSignal,
): Promise<boolean> {
  const byName = Map.groupBy(queried, ({ server }) => endpointOf(server.host, server.port));
  const byAddress = Map.groupBy(queried, ({ server }) => endpointOf(server.address, server.port));
  const ports = new Set(queried.map(({ server }) => server.port));
  for (let after = { tenant_id: '', secret_id: '' }; ; ) {
    if (signal.aborted) return false;
    const rows = await everyLogin(kernel.database.read, after, AT_ONCE);
    for (const row of rows) {
      const login = await loginOf(kernel, row);
      if (login === 'unreadable') return false;
      if (!login?.username.startsWith(PREFIX) || !ports.has(login.port)) continue;
      const { host, port, username } = login;
      const named = byName.get(endpointOf(host.toLowerCase(), port));
      const address = named === undefined ? await addresses.of(host, row.tenant_id) : null;
      const same = named ?? (address === null ? [] : (byAddress.get(endpointOf(address, port)) ?? []));
      for (const { accounted } of same) accounted.add(username);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < AT_ONCE) return true;
    after = last;
    await nextTurn(last.tenant_id);
  }
}

function endpointOf(host: string | null, port: number): string {
  return `${host ?? ''} ${port}`;
}

/** Null if the value is not a login. */
async function loginOf(
  kernel: Pick<Kernel, 'keyring' | 'log'>,
  row: LoginRow,
): Promise<DatabaseValue | 'unreadable' | null> {
  try {
    const reading = readDatabaseValue(await openValue(kernel, row.tenant_id, row.vault_id, row));
    return 'problem' in reading ? null : reading.value;
  } catch (error) {
    kernel.log.error({ err: error, secret: row.secret_id }, 'a secret could not be opened; drift is not checked');
    return 'unreadable';
  }
}
