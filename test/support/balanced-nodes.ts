import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startHaProxy } from './haproxy.ts';
import { freePort } from './ports.ts';
import { newPostgresDatabase } from './postgres.ts';
import { newDataDir, type ProcessOptions, type ServiceProcess, spawnService } from './process.ts';
import { call } from './service.ts';
import { until } from './until.ts';

/** Two nodes on one PostgreSQL behind HAProxy, each of which can be started again on its port. */
export class BalancedNodes {
  readonly databaseUrl: string;
  readonly token: string;
  readonly url: string;
  readonly #nodes: ServiceProcess[];
  readonly #ports: readonly number[];
  readonly #stopBalancer: () => Promise<void>;

  private constructor(parts: {
    databaseUrl: string;
    nodes: ServiceProcess[];
    ports: readonly number[];
    balancer: { url: string; stop(): Promise<void> };
  }) {
    this.databaseUrl = parts.databaseUrl;
    this.token = (parts.nodes[0] as ServiceProcess).adminToken();
    this.url = parts.balancer.url;
    this.#nodes = parts.nodes;
    this.#ports = parts.ports;
    this.#stopBalancer = () => parts.balancer.stop();
  }

  static async start(haproxy: string): Promise<BalancedNodes> {
    const databaseUrl = await newPostgresDatabase();
    const ports = [await freePort(), await freePort()];
    const first = await spawnService(optionsOf(databaseUrl, ports[0], {}));
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    copyFileSync(join(first.dataDir, 'root.key'), join(dataDir, 'root.key'));
    const second = await spawnService(optionsOf(databaseUrl, ports[1], { dataDir }));
    const balancer = await startHaProxy(haproxy, ports);
    await until('the balancer has a ready node', async () => {
      return (await call(balancer.url, 'GET', '/health/ready', {})).status === 200;
    });
    return new BalancedNodes({ databaseUrl, nodes: [first, second], ports, balancer });
  }

  node(i: number): ServiceProcess {
    return this.#nodes[i] as ServiceProcess;
  }

  /** Starts a node that has ended, on its port and with its data folder. */
  async startAgain(i: number, options: ProcessOptions = {}): Promise<ServiceProcess> {
    const { dataDir } = this.node(i);
    const started = await spawnService(optionsOf(this.databaseUrl, this.#ports[i], { dataDir, ...options }));
    this.#nodes[i] = started;
    return started;
  }

  stopBalancer(): Promise<void> {
    return this.#stopBalancer();
  }
}

function optionsOf(databaseUrl: string, port: number | undefined, more: ProcessOptions): ProcessOptions {
  return { databaseUrl, ...more, env: { CV_PORT: String(port), CV_DRAIN_SECONDS: '2', ...more.env } };
}
