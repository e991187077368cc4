import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approved } from './people.ts';
import { copyPostgresDatabase, freePort, newMigratedDatabase } from './postgres.ts';
import { DatabaseProxy } from './proxy.ts';
import { type DatabaseKind, type Service, startService } from './service.ts';
import { testAuthority } from './test-authority.ts';

/** Nothing listens there, so a connection is refused at once. */
const CLOSED_PORT = 1;

interface RegionFiles {
  dataDir: string;
  databaseUrl: string | undefined;
  port: number;
  tlsPort: number;
  certFile: string;
  keyFile: string;
  /** What the others trust: the certificate of the region, and the authority of its server. */
  peerFile: string;
}

/** Several regions in this process, each with a database and a data folder of its own, and a port that stays the same over restarts. */
export class TestRegions {
  readonly #folder = mkdtempSync(join(tmpdir(), 'coffer-regions-'));
  readonly #database: DatabaseKind;
  readonly #files = new Map<string, RegionFiles>();
  readonly #running = new Map<string, Service>();
  /** From one region to another, by `from>to`. */
  readonly #links = new Map<string, DatabaseProxy>();
  readonly #env: Record<string, string>;

  constructor(database: DatabaseKind, env: Record<string, string> = {}) {
    this.#database = database;
    this.#env = env;
  }

  /** Prepares an installation; it starts as a region once all of them are prepared. */
  async prepare(name: string): Promise<void> {
    const files = await this.#newFiles(name);
    this.#files.set(name, files);
    const service = await startService(this.#database, {
      dataDir: files.dataDir,
      ...this.#databaseOf(files),
      keepData: true,
    });
    await service.close();
    this.#trust(name);
  }

  /** Prepares a region whose data is a copy of another one's, which must not run. */
  async prepareCopy(name: string, of: string): Promise<void> {
    const files = this.#files.get(name) ?? (await this.#newFiles(name));
    rmSync(files.dataDir, { recursive: true, force: true });
    const source = this.files(of);
    cpSync(source.dataDir, files.dataDir, { recursive: true });
    if (source.databaseUrl !== undefined) files.databaseUrl = await copyPostgresDatabase(source.databaseUrl);
    this.#files.set(name, files);
    this.#trust(name);
  }

  async #newFiles(name: string): Promise<RegionFiles> {
    const certificate = await testAuthority({ cn: `region ${name}`, isCa: false, keyUsage: null });
    const file = (suffix: string) => join(this.#folder, `${name}${suffix}`);
    writeFileSync(file('.pem'), certificate.pem);
    writeFileSync(file('.key'), await certificate.keyPem(), { mode: 0o600 });
    return {
      dataDir: file('-data'),
      databaseUrl: this.#database === 'postgres' ? await newMigratedDatabase() : undefined,
      port: await freePort(),
      tlsPort: await freePort(),
      certFile: file('.pem'),
      keyFile: file('.key'),
      peerFile: file('-peer.pem'),
    };
  }

  #trust(name: string): void {
    const { dataDir, certFile, peerFile } = this.files(name);
    writeFileSync(peerFile, `${readFileSync(certFile, 'utf8')}\n${readFileSync(join(dataDir, 'ca.pem'), 'utf8')}`);
  }

  files(name: string): RegionFiles {
    const files = this.#files.get(name);
    if (files === undefined) throw new Error(`${name} is not prepared`);
    return files;
  }

  urlOf(name: string): string {
    return `http://127.0.0.1:${this.files(name).port}`;
  }

  #databaseOf({ databaseUrl }: RegionFiles): { databaseUrl?: string } {
    return databaseUrl === undefined ? {} : { databaseUrl };
  }

  /** `names`: all regions of the group, whether they run or not. */
  async start(name: string, names: readonly string[], env: Record<string, string> = {}): Promise<Service> {
    const own = this.files(name);
    const others = names.filter((other) => other !== name);
    for (const other of others) await this.#link(name, other);
    const service = await startService(this.#database, {
      dataDir: own.dataDir,
      ...this.#databaseOf(own),
      keepData: true,
      env: {
        CV_PORT: String(own.port),
        CV_TLS_PORT: String(own.tlsPort),
        CV_REGION: name,
        CV_REGIONS: names.map((other) => `${other}=${this.urlOf(other)}`).join(','),
        CV_REGION_PEERS: others
          .map(
            (other) =>
              `${other}=${this.files(other).peerFile}@https://127.0.0.1:${this.#links.get(`${name}>${other}`)?.port}`,
          )
          .join(','),
        CV_REGION_CERT_FILE: own.certFile,
        CV_REGION_KEY_FILE: own.keyFile,
        ...this.#env,
        ...env,
      },
    });
    this.#running.set(name, service);
    return service;
  }

  async #link(from: string, to: string): Promise<void> {
    const name = `${from}>${to}`;
    if (this.#links.has(name)) return;
    this.#links.set(name, await DatabaseProxy.before(`tcp://127.0.0.1:${this.files(to).tlsPort}`));
  }

  /** Cuts a region off from all others, or connects it again. */
  setConnected(name: string, isConnected: boolean): void {
    for (const [link, proxy] of this.#links) {
      const [from, to = ''] = link.split('>');
      if (from === name || to === name) proxy.target = isConnected ? this.files(to).tlsPort : CLOSED_PORT;
    }
  }

  async stop(name: string): Promise<void> {
    await this.#running.get(name)?.close();
    this.#running.delete(name);
  }

  async close(): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stop(name);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Promotes a region with the approval of a second person of its operator. */
export function promote(service: Service, tenantId: string, region: string, by: string) {
  const body = { region, reason: 'the other region is lost' };
  return approved(service, service.call('POST', `/admin/tenant-region/${tenantId}/promote`, { body }), by);
}
