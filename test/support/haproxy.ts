import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isListening } from './listening.ts';
import { freePort } from './ports.ts';
import { RunningProgram } from './running-program.ts';
import { until } from './until.ts';

/** HAProxy before some nodes. It asks each whether it is ready five times a second, and never sends a request twice. */
export async function startHaProxy(
  program: string,
  ports: readonly number[],
): Promise<{ url: string; stop(): Promise<void> }> {
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
  const running = new RunningProgram(folder, program, ['-q', '-db', '-f', settings]);
  await until('HAProxy listens', () => isListening(own));
  return { url: `http://127.0.0.1:${own}`, stop: () => running.stop() };
}
