import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { InstalledPostgres } from '../support/installed-postgres.ts';
import { query } from '../support/postgres.ts';
import { PreloadedClock } from '../support/preloaded-clock.ts';
import { newDataDir, type ServiceProcess } from '../support/process.ts';
import { DatabaseProxy } from '../support/proxy.ts';
import type { Random } from '../support/random.ts';
import { CLOSED_PORT } from '../support/region-network.ts';
import { isRunning, spawnWorkers, workerPids } from '../support/workers.ts';
import { delay, type End, lose, signalTo, stop } from './faults.ts';
import type { FaultKind } from './nemesis.ts';
import type { Place } from './workload.ts';

const WORKERS = 2;
const STANDBY = 'standby';
const NAMES = ['a', 'b'];
const SHORT = { min: 1, max: 5 };
/** Longer than the service waits for its database. */
const OUTLASTING = { min: 21, max: 25 };
const SECOND_MS = 1000;
/** Two are within what readiness allows, and two are beyond it. */
const CLOCK_OFFSETS_SECONDS = [-300, -20, 20, 300];

class Node implements Place {
  readonly name: string;
  readonly proxy: DatabaseProxy;
  readonly dataDir: string;
  readonly clock = new PreloadedClock('wall-clock');
  isCut = false;
  #service: (ServiceProcess & { databaseUrl: string }) | undefined;

  constructor(name: string, proxy: DatabaseProxy, dataDir: string) {
    this.name = name;
    this.proxy = proxy;
    this.dataDir = dataDir;
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error(`node ${this.name} was not started`);
    return this.#service;
  }

  url(): string {
    return this.service.url;
  }

  async start(databaseUrl: string): Promise<void> {
    const env = { CV_WORKERS: String(WORKERS), ...this.clock.env };
    this.#service = await spawnWorkers({ dataDir: this.dataDir, databaseUrl: this.proxy.through(databaseUrl), env });
  }

  workers(): number[] {
    return [...workerPids(this.service).values()].filter(isRunning);
  }
}

/** Two nodes with workers on PostgreSQL with a synchronous standby, each by way of a proxy of its own, and what can happen to them. */
export class TwoNodes {
  readonly nodes: readonly Node[];
  readonly #bin: string;
  #primary: InstalledPostgres;
  #standby: InstalledPostgres;

  private constructor(bin: string, nodes: readonly Node[], primary: InstalledPostgres, standby: InstalledPostgres) {
    this.#bin = bin;
    this.nodes = nodes;
    this.#primary = primary;
    this.#standby = standby;
  }

  static async start(bin: string): Promise<TwoNodes> {
    const primary = await InstalledPostgres.create(bin);
    await primary.start();
    const standby = await InstalledPostgres.follow(bin, STANDBY, primary.port);
    await standby.start();
    await query(primary.url, `alter system set synchronous_standby_names = '${STANDBY}'`);
    await query(primary.url, 'select pg_reload_conf()');
    const nodes: Node[] = [];
    for (const name of NAMES) nodes.push(new Node(name, await DatabaseProxy.before(primary.url), newDataDir()));
    const two = new TwoNodes(bin, nodes, primary, standby);
    const [first, second] = nodes;
    await first?.start(primary.url);
    mkdirSync(String(second?.dataDir), { mode: 0o700 });
    copyFileSync(join(String(first?.dataDir), 'root.key'), join(String(second?.dataDir), 'root.key'));
    await second?.start(primary.url);
    return two;
  }

  get token(): string {
    return String(this.nodes[0]?.service.adminToken());
  }

  get databaseUrl(): string {
    return this.#primary.url;
  }

  #node(name: string): Node {
    const node = this.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  faults(): FaultKind[] {
    const ofNode = (name: string, seconds: FaultKind['seconds'], begin: (node: Node, random: Random) => End) => ({
      name,
      seconds,
      targets: NAMES,
      begin: async (target: string, random: Random) => begin(this.#node(target), random),
    });
    return [
      ofNode('kill', SHORT, (node, random) => this.#kill(node, random)),
      ofNode('kill of a worker', SHORT, killWorker),
      ofNode('stop', SHORT, (node) => stop([node.service.pid, ...node.workers()])),
      ofNode('stop of a worker', SHORT, (node) => stop(node.workers().slice(0, 1))),
      ofNode('cut connections', SHORT, (node) => this.#cut(node)),
      ofNode('loss of requests', SHORT, (node) => lose([node.proxy], 'to server')),
      ofNode('loss of responses', SHORT, (node) => lose([node.proxy], 'to client')),
      ofNode('late delivery', SHORT, (node) => delay([node.proxy])),
      ofNode('very late delivery', OUTLASTING, (node) => delay([node.proxy])),
      ofNode('wrong clock', { min: 5, max: 10 }, setClock),
      {
        name: 'fail-over',
        seconds: { min: 0, max: 2 },
        targets: ['PostgreSQL'],
        isAlone: true,
        begin: () => this.#failOver(),
      },
    ];
  }

  #kill(node: Node, random: Random): End {
    const { pid, exited } = node.service;
    const workers = random.chance(0.5) ? node.workers() : [];
    for (const one of [pid, ...workers]) signalTo(one, 'SIGKILL');
    return async () => {
      await exited;
      await node.start(this.#primary.url);
    };
  }

  #cut(node: Node): End {
    node.isCut = true;
    this.#retarget();
    node.proxy.reset();
    return async () => {
      node.isCut = false;
      this.#retarget();
    };
  }

  #retarget(): void {
    for (const { proxy, isCut } of this.nodes) proxy.target = isCut ? CLOSED_PORT : this.#primary.port;
  }

  /** The primary is lost, and its standby takes over. From then on changes wait until that has a standby too. */
  async #failOver(): Promise<End> {
    const lost = this.#primary;
    await lost.kill();
    for (const { proxy } of this.nodes) proxy.reset();
    return async () => {
      await this.#standby.promote();
      this.#primary = this.#standby;
      this.#retarget();
      await lost.remove();
      this.#standby = await InstalledPostgres.follow(this.#bin, STANDBY, this.#primary.port);
      await this.#standby.start();
    };
  }
}

function killWorker(node: Node, random: Random): End {
  for (const pid of random.shuffled(node.workers()).slice(0, 1)) signalTo(pid, 'SIGKILL');
  return async () => {};
}

function setClock(node: Node, random: Random): End {
  node.clock.set(random.pick(CLOCK_OFFSETS_SECONDS) * SECOND_MS);
  return async () => node.clock.set(0);
}
