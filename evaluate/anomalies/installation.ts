import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../server/src/assembly/settings.ts';
import type { AuditEntry } from '../../server/src/kernel/audit/entry/entry.ts';
import { CofferError } from '../../server/src/kernel/base/errors.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { createLogger } from '../../server/src/kernel/observability/log.ts';
import type { TimeSources } from '../../server/src/kernel/time/sources.ts';
import { type App, startApp } from '../../server/src/start/app.ts';
import type { Company } from './company.ts';
import { type Access, DAY } from './traffic.ts';

/** A Monday. */
const START = Date.parse('2026-01-05T00:00:00Z');
/** Vaults, people and connections are older than the log of the simulation. */
const FOUNDED_DAY = -101;
const MINUTE = 60_000;
const RECORDED_AT_ONCE = 2000;
const CALLS_PER_MINUTE = 20;
const POLL_MS = 100;

/** Time that stands still until the simulation moves it. */
class SimulatedTime implements TimeSources {
  #now = START + FOUNDED_DAY * DAY;

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  uptime(): number {
    return this.#now;
  }

  async ofDatabase(): Promise<null> {
    return null;
  }

  moveTo(at: number): void {
    if (at < this.#now) throw new Error('simulated time does not go back');
    this.#now = at;
  }
}

export interface Vote {
  resource: string;
  v1: boolean;
  v2: boolean;
  isRaised: boolean;
}

export interface Raised {
  type: string;
  resource: string;
  isRepeat: boolean;
}

/** A real service in a temporary folder, with everything of a company in it, at a time that the simulation sets. */
export class SimulatedInstallation {
  readonly #app: App;
  readonly #time: SimulatedTime;
  readonly #folder: string;
  readonly #actors = new Map<string, string>();
  readonly #names = new Map<string, string>();
  #token: string;
  #calls = 0;

  private constructor(app: App, time: SimulatedTime, folder: string) {
    this.#app = app;
    this.#time = time;
    this.#folder = folder;
    this.#token = readFileSync(join(folder, 'admin.token'), 'utf8').trim();
  }

  static async start(model: string): Promise<SimulatedInstallation> {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-evaluate-'));
    const time = new SimulatedTime();
    const config = loadConfig({
      CV_PORT: '0',
      CV_TLS_PORT: 'off',
      CV_DATA_DIR: folder,
      CV_ANOMALY_ML_VERSION: model,
      // The simulation itself asks for scans.
      ANOMALY_SCHEDULER_INTERVAL_HOURS: '720',
    });
    const log = createLogger({ level: 'error', format: 'json', stream: process.stderr, ownErrors: [CofferError] });
    const made = new SimulatedInstallation(await startApp(config, log, time), time, folder);
    made.#token = (await made.#call('POST', '/auth/tokens', { name: 'simulation', ttl_days: 365 })).token;
    return made;
  }

  async close(): Promise<void> {
    await this.#app.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the simulation knows what it asks for
  async #call(method: string, path: string, body?: object): Promise<any> {
    const response = await fetch(this.#app.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Creates something. Time goes on meanwhile, or the rate limits would refuse it. */
  // biome-ignore lint/suspicious/noExplicitAny: the simulation knows what it asks for
  #create(path: string, body: object): Promise<any> {
    if (++this.#calls % CALLS_PER_MINUTE === 0) this.#time.moveTo(this.#time.now() + MINUTE);
    return this.#call('POST', path, body);
  }

  /** Creates vaults, programs and the people who are there from the start. */
  async found({ vaults, people, programs }: Company): Promise<void> {
    for (const { name } of vaults) await this.#create('/v1/vaults', { name, environment: 'staging' });
    for (const { name, secrets } of programs) {
      const [, vault] = /^vault\/([^/]+)/.exec(secrets[0] ?? '') ?? [];
      const made = await this.#create('/v1/app-connections', { name, vault, mtls_required: false });
      this.#know(name, made.client_id, `app-connection/${made.id}`);
    }
    for (const { name, fromDay } of people) if (fromDay === 0) await this.hire(name);
  }

  /** Fills the vaults a day before the simulation begins, so that no rotation is overdue while it runs. */
  async stock({ vaults }: Company): Promise<void> {
    this.#time.moveTo(START - DAY);
    for (const { name, paths } of vaults) {
      const secrets = Object.fromEntries(paths.map((path) => [path, `value of ${path}`]));
      await this.#create(`/v1/vaults/${name}/import`, { secrets });
    }
  }

  async hire(name: string): Promise<void> {
    const { id } = await this.#create('/v1/users', { email: `${name}@example.com` });
    this.#know(name, id, `user/${id}`);
  }

  #know(name: string, actorId: string, resource: string): void {
    this.#actors.set(name, actorId);
    this.#names.set(resource, name);
  }

  async addMember(vault: string, person: string, day: number): Promise<void> {
    this.#time.moveTo(Math.max(START + day * DAY, this.#time.now()));
    await this.#create(`/v1/vaults/${vault}/members`, { user: this.#actors.get(person), role: 'reader' });
  }

  moveTo(at: number): void {
    this.#time.moveTo(START + at);
  }

  /** Writes accesses into the audit log, as requests do, with the times at which they happened. */
  async record(accesses: readonly Access[]): Promise<void> {
    const { audit, operatorTenantId: tenantId } = this.#app.kernel;
    for (let i = 0; i < accesses.length; i += RECORDED_AT_ONCE) {
      const entries = accesses.slice(i, i + RECORDED_AT_ONCE).map((access) => this.#entryOf(tenantId, access));
      await Promise.all(entries.map((entry) => audit.record(entry)));
    }
  }

  #entryOf(tenant_id: string, { at, actor, resource, ip, isDenied }: Access): AuditEntry {
    const id = this.#actors.get(actor.name);
    if (id === undefined) throw new Error(`${actor.name} is not there yet`);
    return {
      tenant_id,
      id: newId('audit', START + at),
      at: START + at,
      actor_kind: actor.kind,
      actor_id: id,
      actor_name: actor.name,
      actor_key: id,
      action: 'secrets:read',
      resource,
      vault: resource.split('/')[1] ?? '',
      decision: isDenied ? 'deny' : 'allow',
      status: isDenied ? 403 : 200,
      ip,
      user_agent: 'simulation',
      request_id: newId('req', START + at),
      reason: '',
      details: '',
    };
  }

  /** Asks for a scan, waits for it, and returns what it found. */
  async scan(): Promise<{ votes: Vote[]; raised: Raised[] }> {
    const { database, operatorTenantId: tenantId } = this.#app.kernel;
    const scans = database.read.selectFrom('anomaly_scans').selectAll().where('tenant_id', '=', tenantId);
    const before = Number((await scans.executeTakeFirst())?.scan_no ?? 0);
    await this.#call('POST', '/anomalies/scan');
    let number = before;
    while (number === before) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      number = Number((await scans.executeTakeFirst())?.scan_no ?? 0);
    }
    const votes = await database.read
      .selectFrom('anomaly_model_votes')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('scan_no', '=', number)
      .execute();
    const rows = await database.read
      .selectFrom('anomalies')
      .select(['type', 'resource', 'occurrences'])
      .where('tenant_id', '=', tenantId)
      .where('scan_no', '=', number)
      .execute();
    return {
      votes: votes.map(({ resource, v1, v2, anomaly_id }) => ({
        resource: this.#nameOf(resource),
        v1: v1 === 1,
        v2: v2 === 1,
        isRaised: anomaly_id !== null,
      })),
      raised: rows.map(({ type, resource, occurrences }) => ({
        type,
        resource: this.#nameOf(resource),
        isRepeat: occurrences > 1,
      })),
    };
  }

  #nameOf(resource: string): string {
    return this.#names.get(resource) ?? resource;
  }
}
