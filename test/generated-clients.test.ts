import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { generateClients } from './clients/generate.ts';
import type { Service as Reached, WhatWasDone } from './clients/what-was-done.ts';
import { expectRoundTrip } from './support/round-trip.ts';
import { onSqliteAtLanding, type Service, startService } from './support/service.ts';

/**
 * Clients that others generate from our document compile under strict TypeScript, and work. `npm run test:interoperability` has those of
 * openapi-generator for Rust and Java.
 */

const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['openapi-fetch', 'oazapfts'];
const COMPILE_TIMEOUT_MS = 120_000;

onSqliteAtLanding('generated clients', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  // Generated and compiled once: the document does not depend on the database.
  if (database === 'sqlite') {
    test('are generated from the document of a running service, and compile', async () => {
      const { text } = await service.call('GET', '/openapi.json', { token: null });
      await generateClients(text);
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      const compiled = promisify(execFile)(process.execPath, [tsc, '-p', 'test/clients'], {
        cwd: ROOT,
        timeout: COMPILE_TIMEOUT_MS,
      });
      await compiled.catch(({ stdout, stderr }) => assert.fail(`${stdout}${stderr}`));
    });
  }

  for (const program of PROGRAMS) {
    test(`${program} makes, reads, lists and deletes, and has every part of a refusal`, async () => {
      const { tenant } = (await service.call('GET', '/auth/me')).body;
      const { use } = (await import(`./clients/use-${program}.ts`)) as { use(reached: Reached): Promise<WhatWasDone> };
      const done = await use({
        baseUrl: service.url,
        token: service.adminToken,
        tenantId: tenant.id,
        vault: `by-${program}`,
      });
      expectRoundTrip(`by-${program}`, done);
      assert.notEqual(done.text, null);
      if (program === 'openapi-fetch') assert.notEqual(done.binary, null);
    });
  }
});
