import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addTenant, ok } from '../../../../../test/support/people.ts';
import { newMigratedDatabase } from '../../../../../test/support/postgres.ts';
import { startService } from '../../../../../test/support/service.ts';
import { testAuthority } from '../../../../../test/support/test-authority.ts';
import { addVault, startNodeBeside } from '../../../../../test/support/vaults.ts';
import { DAY_MS } from '../../../kernel/base/clock.ts';
import { SECOND_CHECK_MS } from '../../../kernel/time/clock-guard.ts';
import { announceExpiringSecretsJob } from './expiry-job.ts';

/** More than one page, all with the same end. */
const SECRETS = 250;

test('two nodes on PostgreSQL that lost track of their lease announce each certificate once', async () => {
  const databaseUrl = await newMigratedDatabase();
  const one = await startService('postgres', { databaseUrl, env: { CV_OUTBOUND_ALLOW: '127.0.0.1' } });
  const other = await startNodeBeside(one, databaseUrl);
  try {
    const tenant = await addTenant(one);
    const { token } = tenant.owner;
    // Nothing listens there, so what is announced stays stored.
    const webhook = { url: 'https://127.0.0.1:9/', events: ['secret.expiring'] };
    await ok(one.call('POST', '/webhooks', { token, body: webhook }), 201);
    const vault = await addVault(one, {}, token);
    const { pem } = await testAuthority({ notAfter: one.clock.now() + 10 * DAY_MS });
    const secrets = Object.fromEntries(Array.from({ length: SECRETS }, (_, i) => [`tls/${i}`, pem]));
    await ok(one.call('POST', `/v1/vaults/${vault}/import`, { token, body: { secrets, type: 'certificate' } }));
    const nodes = [one, other];
    for (const node of nodes) assert.notEqual(await node.app.kernel.clockGuard.check(), null);
    for (const node of nodes) node.clock.advance(SECOND_CHECK_MS);
    const { signal } = new AbortController();
    await Promise.all(nodes.map((node) => announceExpiringSecretsJob(node.app.kernel).run(signal)));
    const { read } = one.app.kernel.database;
    const deliveries = await read.selectFrom('webhook_deliveries').select('message').execute();
    const paths = deliveries.map(({ message }) => JSON.parse(message).object.path);
    assert.deepEqual(paths.sort(), Object.keys(secrets).sort());
  } finally {
    await other.close();
    await one.close();
  }
});
