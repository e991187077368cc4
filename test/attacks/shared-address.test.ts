import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { after, before, test } from 'node:test';
import { CLIENT_SECRET } from '../../server/src/features/app-connections/client-secret.ts';
import { MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { FAILED_AUTH_LIMIT_PER_ADDRESS } from '../../server/src/kernel/limits/rate-classes.ts';
import { addConnection, clientHeaders } from '../support/machines.ts';
import { addPerson, addTenant, addToken, holdClock, logIn, ok, refused } from '../support/people.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { addVault } from '../support/vaults.ts';

/** More than are counted, so that the address is well over its limit. */
const GUESSES = FAILED_AUTH_LIMIT_PER_ADDRESS + 20;

onBothDatabases('who guesses credentials behind a shared address', (database) => {
  let service: Service;

  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  const me = (address: string, token: string) =>
    service.call('GET', '/auth/me', { token, headers: { 'x-forwarded-for': address } });

  /** The whole limit is used up within one minute of the service's clock. */
  async function guessFrom(address: string, guess: (i: number) => string): Promise<number[]> {
    service.clock.advance(MINUTE_MS);
    const guesses = Promise.all(Array.from({ length: GUESSES }, (_, i) => me(address, guess(i))));
    const answers = await holdClock(service, guesses);
    return answers.map(({ status }) => status);
  }

  test('does not lock out a token that this node has never seen', async () => {
    const { owner } = await addTenant(service);
    const fresh = await addToken(service, owner.token);
    const session = await logIn(service, await addPerson(service));
    const statuses = await guessFrom('198.51.100.10', (i) => `guess-${i}`);
    assert.equal(statuses.filter((status) => status === 401).length, FAILED_AUTH_LIMIT_PER_ADDRESS);
    assert.equal(statuses.filter((status) => status === 429).length, GUESSES - FAILED_AUTH_LIMIT_PER_ADDRESS);
    await ok(me('198.51.100.10', fresh.token));
    await ok(me('198.51.100.10', session));
  });

  test('does not lock out a machine that shows its client secret for the first time', async () => {
    const machine = await addConnection(service, await addVault(service));
    const address = { 'x-forwarded-for': '198.51.100.11' };
    const list = (headers: Record<string, string>) =>
      service.call('GET', `/v1/vaults/${machine.vault}/aggregate`, {
        token: null,
        headers: { ...headers, ...address },
      });
    await guessFrom('198.51.100.11', (i) => `guess-${i}`);
    await refused(
      list(clientHeaders({ client_id: randomUUID(), client_secret: CLIENT_SECRET.create() })),
      429,
      'RATE_LIMIT_EXCEEDED',
    );
    await ok(list(clientHeaders(machine)));
  });

  test('is refused whatever is guessed, also what looks like a token of ours', async () => {
    const [header, payload] = (await logIn(service, await addPerson(service))).split('.');
    const { privateKey } = generateKeyPairSync('ed25519');
    const forged = `${header}.${payload}.${sign(null, Buffer.from(`${header}.${payload}`), privateKey).toString('base64url')}`;
    const statuses = await guessFrom('198.51.100.12', (i) => (i % 2 === 0 ? forged : `${forged}${i}`));
    assert.deepEqual(new Set(statuses), new Set([401, 429]));
    await refused(me('198.51.100.12', forged), 429, 'RATE_LIMIT_EXCEEDED');
  });

  test('does not bring a revoked token back, nor one of a disabled account', async () => {
    const { owner } = await addTenant(service);
    const revoked = await addToken(service, owner.token);
    await ok(service.call('DELETE', `/auth/tokens/${revoked.id}`, { token: owner.token }), 200);
    const disabled = await addPerson(service);
    const theirs = await logIn(service, disabled);
    await ok(service.call('PATCH', `/v1/users/${disabled.id}`, { body: { status: 'disabled' } }));
    await guessFrom('198.51.100.13', (i) => `guess-${i}`);
    await refused(me('198.51.100.13', revoked.token), 429, 'RATE_LIMIT_EXCEEDED');
    await refused(me('198.51.100.13', theirs), 429, 'RATE_LIMIT_EXCEEDED');
    await refused(me('198.51.100.14', revoked.token), 401, 'INVALID_TOKEN');
    await refused(me('198.51.100.14', theirs), 401, 'INVALID_TOKEN');
  });
});
