import { InstalledPostgres } from './installed-postgres.ts';
import { addTenant, ok, type Tenant, uniqueName } from './people.ts';
import { query } from './postgres.ts';
import { DatabaseProxy } from './proxy.ts';
import { CLOSED_PORT } from './region-network.ts';
import { RegionProcesses } from './region-processes.ts';
import { promote } from './regions.ts';
import { until } from './until.ts';

/** Three regions in processes, of which `us` has the synchronous standby of `eu`'s database, and starts once that has been promoted. */
export class StandbyRegions {
  readonly processes: RegionProcesses;
  readonly tenant: Tenant;
  readonly #databases: ReadonlyMap<string, InstalledPostgres>;
  readonly #replication: DatabaseProxy;
  readonly #second: string;

  private constructor(parts: {
    processes: RegionProcesses;
    tenant: Tenant;
    databases: ReadonlyMap<string, InstalledPostgres>;
    replication: DatabaseProxy;
    second: string;
  }) {
    this.processes = parts.processes;
    this.tenant = parts.tenant;
    this.#databases = parts.databases;
    this.#replication = parts.replication;
    this.#second = parts.second;
  }

  /** `clocks`: the variables that let something else than `setClock` set the clocks of a region. */
  static async start(bin: string, clocks?: (name: string) => Record<string, string>): Promise<StandbyRegions> {
    const isClockSet = clocks === undefined;
    const processes = new RegionProcesses({ CV_REGION_LEASE_SECONDS: '3' }, { isClockSet });
    const databases = new Map<string, InstalledPostgres>();
    for (const name of ['eu', 'ap']) {
      const server = await InstalledPostgres.create(bin);
      databases.set(name, server);
      await server.start();
      await processes.prepare(name, server.url);
    }
    const [eu] = databases.values();
    if (eu === undefined) throw new Error('eu has no database');
    await processes.prepareCopy('us', 'eu');
    const replication = await DatabaseProxy.before(eu.url);
    const standby = await InstalledPostgres.follow(bin, 'us', replication.port);
    databases.set('us', standby);
    await standby.start();
    processes.network.files('us').databaseUrl = standby.url;
    await follow(eu, 'us');
    for (const name of ['eu', 'ap']) await processes.start(name, clocks?.(name));
    const tenant = await addTenant(processes.admin('eu'), { plan: 'enterprise' });
    const second = await anotherAdmin(processes, 'eu');
    return new StandbyRegions({ processes, tenant, databases, replication, second });
  }

  database(name: string): InstalledPostgres {
    const server = this.#databases.get(name);
    if (server === undefined) throw new Error(`${name} has no database`);
    return server;
  }

  /** What a region knows of the tenant. */
  async regionOf(name: string) {
    return (await this.processes.call(name, 'GET', `/admin/tenant-region/${this.tenant.id}`)).body;
  }

  setReplicating(isReplicating: boolean): void {
    this.#replication.target = isReplicating ? this.database('eu').port : CLOSED_PORT;
    if (!isReplicating) this.#replication.reset();
  }

  /** Starts `us` on what was the standby of `eu`, which is lost or cannot be reached. */
  async startStandby(more: Record<string, string> = {}): Promise<void> {
    await this.database('us').promote();
    await this.processes.start('us', more);
    await until('us has the data', async () => (await this.regionOf('us')).region === 'eu');
  }

  async promote(): Promise<void> {
    await promote(this.processes.admin('us'), this.tenant.id, 'us', this.#second);
  }

  /** The database of `eu` goes on without a standby. */
  async endReplication(): Promise<void> {
    await follow(this.database('eu'), '');
  }
}

async function follow(server: InstalledPostgres, names: string): Promise<void> {
  await query(server.url, `alter system set synchronous_standby_names = '${names}'`);
  await query(server.url, 'select pg_reload_conf()');
}

async function anotherAdmin(processes: RegionProcesses, name: string): Promise<string> {
  const [email, password] = [`${uniqueName('second')}@example.com`, 'a long password of a second admin'];
  await ok(processes.call(name, 'POST', '/v1/users', { body: { email, password, role: 'admin' } }), 201);
  const { token } = await ok(processes.call(name, 'POST', '/auth/login', { token: null, body: { email, password } }));
  return (await ok(processes.call(name, 'POST', '/auth/tokens', { token, body: { name: 'work' } }), 201)).token;
}
