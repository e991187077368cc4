import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { installed } from './debian.ts';
import { isListening } from './listening.ts';
import { freePort } from './postgres.ts';
import { until } from './until.ts';

const balancers = new Set<HaProxy>();
after(async () => {
  for (const balancer of balancers) await balancer.stop();
});

export function haproxyProgram(): { path: string } | { missing: string } {
  const found = installed(['haproxy'], { haproxy: '/usr/sbin/haproxy' });
  return 'missing' in found ? found : { path: String(found.paths['haproxy']) };
}

/** HAProxy before some nodes. It asks each whether it is ready five times a second, and never sends a request twice. */
export class HaProxy {
  readonly url: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(url: string, folder: string, process: ChildProcess) {
    this.url = url;
    this.#folder = folder;
    this.#process = process;
    balancers.add(this);
  }

  static async start(program: string, ports: readonly number[]): Promise<HaProxy> {
    const own = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'coffer-haproxy-'));
    const settings = join(folder, 'haproxy.cfg');
    writeFileSync(
      settings,
      [
        'defaults',
        '  mode http',
        '  timeout connect 5s',
        '  timeout check 5s',
        '  timeout client 30s',
        '  timeout server 30s',
        '  retries 0',
        'frontend all',
        `  bind 127.0.0.1:${own}`,
        '  default_backend nodes',
        'backend nodes',
        '  option httpchk GET /health/ready',
        '  http-check expect status 200',
        ...ports.map((port, i) => `  server node${i} 127.0.0.1:${port} check inter 200ms fall 1 rise 1`),
        '',
      ].join('\n'),
    );
    const child = spawn(program, ['-q', '-db', '-f', settings], { stdio: 'ignore' });
    const balancer = new HaProxy(`http://127.0.0.1:${own}`, folder, child);
    await until('HAProxy listens', () => isListening(own));
    return balancer;
  }

  async stop(): Promise<void> {
    balancers.delete(this);
    if (this.#process.exitCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
