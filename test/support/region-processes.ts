import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { killService, type ServiceProcess, spawnService, stopService } from './process.ts';
import { RegionNetwork } from './region-network.ts';
import { type Answer, type CallOptions, call } from './service.ts';

export const REGIONS = ['eu', 'us', 'ap'];

/** Several regions, each a process with a database, a data folder and a clock of its own. */
export class RegionProcesses {
  readonly network = new RegionNetwork();
  readonly #running = new Map<string, ServiceProcess>();
  readonly #env: Record<string, string>;
  readonly #preloaded: string | undefined;

  /** Regions whose clocks are not set by `setClock` run from the bundle, and start sooner. */
  constructor(env: Record<string, string> = {}, { isClockSet = true }: { isClockSet?: boolean } = {}) {
    this.#env = env;
    this.#preloaded = isClockSet ? 'clock.ts' : undefined;
  }

  /** A first start without regions, which makes the data folder. */
  async prepare(name: string, databaseUrl?: string): Promise<void> {
    const { dataDir } = await this.network.add(name, databaseUrl);
    await stopService(await spawnService({ dataDir, databaseUrl }));
    this.network.trust(name);
  }

  /** A region with the root key and the tokens of another, which must not run. Its database will be a copy too; on SQLite it is one already. */
  async prepareCopy(name: string, of: string): Promise<void> {
    const { dataDir } = this.network.find(name) ?? (await this.network.add(name, undefined));
    rmSync(dataDir, { recursive: true, force: true });
    cpSync(this.network.files(of).dataDir, dataDir, { recursive: true });
    this.network.trust(name);
  }

  async start(name: string, more: Record<string, string> = {}): Promise<void> {
    const { dataDir, databaseUrl } = this.network.files(name);
    const clock = this.#clockFile(name);
    writeFileSync(clock, '0');
    const env = { ...(await this.network.envOf(name, REGIONS)), ...this.#env, ...more, COFFER_TEST_CLOCK_FILE: clock };
    const preloaded = this.#preloaded === undefined ? {} : { preloaded: this.#preloaded };
    this.#running.set(name, await spawnService({ dataDir, databaseUrl, env, ...preloaded }));
  }

  #clockFile(name: string): string {
    return `${this.network.files(name).dataDir}.clock`;
  }

  setClock(name: string, offsetMs: number): void {
    writeFileSync(this.#clockFile(name), String(offsetMs));
    this.process(name).kill('SIGUSR2');
  }

  process(name: string): ServiceProcess {
    const service = this.#running.get(name);
    if (service === undefined) throw new Error(`${name} does not run`);
    return service;
  }

  async kill(name: string): Promise<void> {
    await killService(this.process(name));
  }

  async stop(name: string): Promise<void> {
    await stopService(this.process(name));
  }

  url(name: string): string {
    return this.network.urlOf(name);
  }

  /** As the admin of the region, unless a token is given. */
  call(name: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const token = readFileSync(join(this.network.files(name).dataDir, 'admin.token'), 'utf8').trim();
    return call(this.url(name), method, path, { token, ...options });
  }

  admin(name: string) {
    return { call: (method: string, path: string, options?: CallOptions) => this.call(name, method, path, options) };
  }

  /** The digest of a region's directory, as it tells another region. */
  async digest(name: string, at: number): Promise<string> {
    return (await this.#sync(name, `?digest_at=${at}`)).digest;
  }

  /** What the directory of a region says without heads of logs, which move all the time: one line for each cell, in order. */
  async directory(name: string): Promise<string[]> {
    const { operations } = await this.#sync(name, '');
    return operations
      .filter(({ kind }) => kind !== 'head')
      .map(({ kind, key, tag, origin, seq, value }) => [kind, key, tag, origin, seq, value].join(' '))
      .sort();
  }

  async #sync(name: string, query: string): Promise<{ digest: string; operations: Record<string, unknown>[] }> {
    const other = REGIONS.find((region) => region !== name) ?? '';
    const { certFile, keyFile } = this.network.files(other);
    const identity = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const url = `https://127.0.0.1:${this.network.files(name).tlsPort}/crdt/sync${query}`;
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
      httpsRequest(url, { rejectUnauthorized: false, agent: false, ...identity }, resolve)
        .once('error', reject)
        .end(),
    );
    return JSON.parse(await readText(response));
  }

  close(): void {
    this.network.close();
  }
}
