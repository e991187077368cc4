import { cpSync, rmSync } from 'node:fs';
import { addTenant, approved, type Tenant, uniqueName } from './people.ts';
import { copyPostgresDatabase, newMigratedDatabase } from './postgres.ts';
import { CLOSED_PORT, type RegionFiles, RegionNetwork } from './region-network.ts';
import { type Answer, call, type DatabaseKind, type Service, startService } from './service.ts';
import { until } from './until.ts';

/** Several regions in this process, each with a database and a data folder of its own. */
export class TestRegions {
  readonly #network = new RegionNetwork();
  readonly #database: DatabaseKind;
  readonly #running = new Map<string, Service>();
  readonly #env: Record<string, string>;

  constructor(database: DatabaseKind, env: Record<string, string> = {}) {
    this.#database = database;
    this.#env = env;
  }

  /** Prepares an installation, which may be used before; it starts as a region once all of them are prepared. */
  async prepare(name: string, use: (service: Service) => Promise<void> = async () => {}): Promise<void> {
    const files = await this.#newFiles(name);
    const service = await startService(this.#database, {
      dataDir: files.dataDir,
      ...this.#databaseOf(files),
      keepData: true,
    });
    await use(service);
    await service.close();
    this.#network.trust(name);
  }

  /** Prepares a region whose data is a copy of another one's, which must not run. */
  async prepareCopy(name: string, of: string): Promise<void> {
    const files = this.#network.find(name) ?? (await this.#newFiles(name));
    rmSync(files.dataDir, { recursive: true, force: true });
    const source = this.files(of);
    cpSync(source.dataDir, files.dataDir, { recursive: true });
    if (source.databaseUrl !== undefined) files.databaseUrl = await copyPostgresDatabase(source.databaseUrl);
    this.#network.trust(name);
  }

  async #newFiles(name: string): Promise<RegionFiles> {
    return this.#network.add(name, this.#database === 'postgres' ? await newMigratedDatabase() : undefined);
  }

  replacementOf(name: string, isCa: boolean) {
    return this.#network.replacementOf(name, isCa);
  }

  files(name: string): RegionFiles {
    return this.#network.files(name);
  }

  urlOf(name: string): string {
    return this.#network.urlOf(name);
  }

  #databaseOf({ databaseUrl }: RegionFiles): { databaseUrl?: string } {
    return databaseUrl === undefined ? {} : { databaseUrl };
  }

  /** `names`: all regions of the group, whether they run or not. */
  async start(name: string, names: readonly string[], env: Record<string, string> = {}): Promise<Service> {
    return this.#start(name, name, names, env);
  }

  /** Another node of a region that runs, on the same database, with ports of its own. It reaches no other region. */
  async startIsolatedNode(name: string, names: readonly string[]): Promise<Service> {
    const others = names.filter((other) => other !== name);
    const peers = others.map((other) => `${other}=${this.files(other).peerFile}@https://127.0.0.1:${CLOSED_PORT}`);
    const env = { CV_PORT: '0', CV_TLS_PORT: '0', CV_REGION_PEERS: peers.join(',') };
    return this.#start(`${name} again`, name, names, env);
  }

  async #start(as: string, name: string, names: readonly string[], env: Record<string, string>): Promise<Service> {
    const own = this.files(name);
    const service = await startService(this.#database, {
      dataDir: own.dataDir,
      ...this.#databaseOf(own),
      keepData: true,
      env: { ...(await this.#network.envOf(name, names)), ...this.#env, ...env },
    });
    this.#running.set(as, service);
    return service;
  }

  /** Cuts a region off from all others, or connects it again. */
  setConnected(name: string, isConnected: boolean): void {
    this.#network.setConnected(name, isConnected);
  }

  /** Cuts what one region sends to another, or connects it again. */
  setLink(from: string, to: string, isConnected: boolean): void {
    this.#network.setLink(from, to, isConnected);
  }

  async stop(name: string): Promise<void> {
    await this.#running.get(name)?.close();
    this.#running.delete(name);
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stop(name);
    this.#network.close();
  }
}

/** Promotes a region with the approval of a second person of its operator. */
export function promote(service: Pick<Service, 'call'>, tenantId: string, region: string, by: string) {
  const body = { region, reason: 'the other region is lost' };
  return approved(service, service.call('POST', `/admin/tenant-region/${tenantId}/promote`, { body }), by);
}

/** Again while the region has no lease, which a slow machine may lose for a moment: without one it changes nothing. */
export async function withLease(send: () => Promise<Answer>): Promise<Answer> {
  let answer: Answer | undefined;
  await until('the region has its lease', async () => {
    answer = await send();
    return answer.status !== 503;
  });
  return answer as Answer;
}

/** eu, us and ap run. eu is the primary of the tenants, and us has a copy of their rows, as from a backup. */
export class ThreeRegions {
  static readonly NAMES: readonly string[] = ['eu', 'us', 'ap'];
  readonly regions: TestRegions;
  readonly tenants: Tenant[] = [];
  readonly #services = new Map<string, Service>();

  constructor(database: DatabaseKind, env: Record<string, string>) {
    this.regions = new TestRegions(database, env);
  }

  async startWithTenants(count = 1): Promise<void> {
    for (const name of ['eu', 'ap']) await this.regions.prepare(name);
    await this.regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'ap']) await this.start(name);
    while (this.tenants.length < count) this.tenants.push(await addTenant(this.service('eu'), { plan: 'enterprise' }));
    await until('eu serves', async () => (await this.write('eu')) === 201);
    await this.regions.stop('eu');
    await this.regions.prepareCopy('us', 'eu');
    for (const name of ['eu', 'us']) await this.start(name);
    for (const name of ['us', 'ap'])
      await until(`${name} knows the tenant`, async () => (await this.regionOf(name)).region === 'eu');
    await until('eu serves again', async () => (await this.write('eu')) === 201);
  }

  /** The first of the tenants. */
  get tenant(): Tenant {
    const [tenant] = this.tenants;
    if (tenant === undefined) throw new Error('no tenant was added');
    return tenant;
  }

  async start(name: string, names = ThreeRegions.NAMES): Promise<void> {
    this.#services.set(name, await this.regions.start(name, names));
  }

  service(name: string): Service {
    const service = this.#services.get(name);
    if (service === undefined) throw new Error(`${name} was not started`);
    return service;
  }

  services(): Iterable<[string, Service]> {
    return this.#services;
  }

  /** What a region knows of a tenant. */
  async regionOf(name: string, { id } = this.tenant) {
    return (await this.service(name).call('GET', `/admin/tenant-region/${id}`)).body;
  }

  /** Sends a change of the tenant to a region and returns its status. */
  async write(name: string): Promise<number> {
    const options = { token: this.tenant.owner.token, body: { name: uniqueName('group') } };
    return (await call(this.regions.urlOf(name), 'POST', '/v1/groups', options)).status;
  }

  async close(): Promise<void> {
    await this.regions.close();
  }
}
