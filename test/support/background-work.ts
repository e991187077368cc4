import assert from 'node:assert/strict';
import type { Service } from './service.ts';

/** Lets a worker do all that is due now, so that a test may then say that nothing else happened. */
export async function tick({ app }: Pick<Service, 'app'>, name: string): Promise<void> {
  const worker = app.workers.find((one) => one.name === name);
  assert.ok(worker !== undefined, `no worker is called ${name}: there are ${app.workers.map((one) => one.name)}`);
  await worker.tick();
}
