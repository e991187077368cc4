import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../support/ports.ts';

const SOURCES = join(import.meta.dirname, 'opensearch');
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
const START_TIMEOUT_MS = 120_000;

const run = promisify(execFile);

/** A real OpenSearch node, from Maven Central's packages, which can be killed and started again with its data. */
export class OpenSearchNode {
  readonly #folder: string;
  readonly #port: number;
  #process: ChildProcess | null = null;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  /** The node, started, or why there is none. */
  static async start(): Promise<OpenSearchNode | string> {
    const folder = mkdtempSync(join(tmpdir(), 'coffer-opensearch-'));
    cpSync(SOURCES, folder, { recursive: true });
    try {
      const download = ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib'];
      await run('mvn', download, { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS });
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      return `OpenSearch cannot be had here, which takes Java and Maven: ${String((error as Error).message).split('\n')[0]}`;
    }
    const node = new OpenSearchNode(folder, await freePort());
    await node.restart();
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async restart(): Promise<void> {
    const args = ['-Xmx512m', '-cp', 'lib/*', 'OpenSearchNode.java', join(this.#folder, 'home'), String(this.#port)];
    this.#process = spawn('java', args, { cwd: this.#folder, stdio: 'ignore' });
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await this.#isReady())) {
      if (this.#process.exitCode !== null) throw new Error(`OpenSearch ended with ${this.#process.exitCode}`);
      if (performance.now() > deadline) throw new Error('OpenSearch does not start');
      await sleep(250);
    }
  }

  async kill(): Promise<void> {
    const killed = this.#process;
    if (killed === null || killed.exitCode !== null) return;
    const ended = once(killed, 'exit');
    killed.kill('SIGKILL');
    await ended;
    this.#process = null;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  // biome-ignore lint/suspicious/noExplicitAny: the answers of OpenSearch
  async call(method: string, path: string, body?: object): Promise<any> {
    const init = { method, headers: { 'content-type': 'application/json' } };
    const response = await fetch(
      `${this.url}${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  async #isReady(): Promise<boolean> {
    try {
      const { status } = await this.call('GET', '/_cluster/health');
      return status !== 'red';
    } catch {
      // It does not listen yet.
      return false;
    }
  }
}
