import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Neighbours, startNeighbours } from '../support/isolation.ts';
import { hashInFull, ok, type Person, refused, tryLogIn, uniqueName } from '../support/people.ts';
import { type Answer, onBothDatabases, type Service } from '../support/service.ts';
import { addSecret, addVault, secretUrl } from '../support/vaults.ts';

const PAIRS = 60;
/** Each costs two hashes of 64 MiB; without one of them an answer would come a hundred times sooner. */
const LOGIN_PAIRS = 5;
/** Wide, since the machine does other things as well: this is to find a missing hash or a long search, not a microsecond. */
const RATIO_MAX = 2.5;
const TRIES = 3;

async function millisecondsOf(work: () => Promise<Answer>): Promise<number> {
  const started = performance.now();
  const { status } = await work();
  assert.ok(status >= 400 && status < 500, `answered ${status}`);
  return performance.now() - started;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
}

/** The two in turn, so that whatever else goes on slows down both; once more if it seems to tell, since it may be chance. */
async function takesAsLong(
  existing: () => Promise<Answer>,
  never: () => Promise<Answer>,
  pairs = PAIRS,
): Promise<void> {
  for (let n = 1; ; n++) {
    const [ofExisting, ofNever]: [number[], number[]] = [[], []];
    for (let i = 0; i < pairs; i++) {
      const isFirst = i % 2 === 0;
      if (isFirst) ofExisting.push(await millisecondsOf(existing));
      ofNever.push(await millisecondsOf(never));
      if (!isFirst) ofExisting.push(await millisecondsOf(existing));
    }
    const ratio = median(ofExisting) / median(ofNever);
    if (ratio < RATIO_MAX && ratio > 1 / RATIO_MAX) return;
    assert.ok(n < TRIES, `${median(ofExisting)} ms for what exists, ${median(ofNever)} ms for what never was`);
  }
}

onBothDatabases('the time an answer takes', (database) => {
  let neighbours: Neighbours;
  let service: Service;
  let existing: Record<'secret' | 'vault' | 'secrets' | 'approval', string>;

  before(async () => {
    neighbours = await startNeighbours(database);
    service = neighbours.service;
    const vault = await addVault(service);
    await addSecret(service, vault, 'db/password', { value: 'x'.repeat(500_000) });
    for (let i = 0; i < 50; i++) await addSecret(service, vault, `many/${i}`);
    const approval = await approvalOfADeletion();
    existing = {
      secret: secretUrl(vault, 'db/password'),
      vault: `/v1/vaults/${vault}`,
      secrets: `/v1/vaults/${vault}/secrets`,
      approval: `/approvals/${approval}`,
    };
  });
  after(() => service.close());

  async function approvalOfADeletion(): Promise<string> {
    const vault = await addVault(service, { environment: 'production' });
    return (await ok(service.call('DELETE', `/v1/vaults/${vault}`), 202)).approval_id;
  }

  const callers = {
    'to an admin of another tenant': () => neighbours.theirs.token,
    'to a member without grants': () => neighbours.member.token,
    'to a member with a grant elsewhere': () => neighbours.elsewhere.token,
  };
  for (const [title, token] of Object.entries(callers)) {
    describe(`${title} does not tell whether there is`, () => {
      const get = (path: string) => () => service.call('GET', path, { token: token() });
      const secret = '/v1/vaults/never-was/secrets/db/password';
      test('a secret', () => takesAsLong(get(existing.secret), get(secret)));
      test('a vault', () => takesAsLong(get(existing.vault), get('/v1/vaults/never-was')));
      test('a list of secrets', () => takesAsLong(get(existing.secrets), get('/v1/vaults/never-was/secrets')));
      test('an approval', () => {
        const other = `${existing.approval.slice(0, -6)}zzzzzz`;
        return takesAsLong(get(existing.approval), get(other));
      });
    });
  }

  test('to who may see a part of a vault does not tell whether there is a secret in the rest', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'hidden/one', { value: 'x'.repeat(500_000) });
    await neighbours.grant([{ action: ['secrets:*'], resource: [`vault/${vault}/shown/**`] }]);
    const { token } = neighbours.elsewhere;
    const get = (path: string) => () => service.call('GET', secretUrl(vault, path), { token });
    await takesAsLong(get('hidden/one'), get('hidden/two'));
  });

  test('does not tell at a login whether there is an account, and neither does the answer', async () => {
    const { owner, otherTenant } = neighbours;
    await hashInFull(service, owner);
    const attempt = (who: Pick<Person, 'email' | 'tenant'>) => async () => {
      await deleteFailures();
      return tryLogIn(service, { ...who, password: 'not the password of anybody' });
    };
    const nobody = { email: `${uniqueName('nobody')}@example.com`, tenant: undefined };
    await takesAsLong(attempt(owner), attempt(nobody), LOGIN_PAIRS);
    // Of an account without a password, in another tenant, and in no tenant at all.
    const first = { email: otherTenant.owner.email, tenant: otherTenant.name };
    await takesAsLong(attempt(first), attempt({ ...nobody, tenant: otherTenant.name }), LOGIN_PAIRS);
    const nowhere = { ...nobody, tenant: uniqueName('no-tenant') };
    await takesAsLong(attempt(first), attempt(nowhere), LOGIN_PAIRS);
    const told = new Set<string>();
    for (const who of [owner, nobody, first, nowhere]) {
      const { code, message } = await refused(attempt(who)(), 401, 'LOGIN_DENIED');
      told.add(`${code} ${message}`);
    }
    assert.equal(told.size, 1, [...told].join());
  });

  /** What slows down guessing would be all that is measured. */
  async function deleteFailures(): Promise<void> {
    service.clock.advance(60_000);
    await service.app.kernel.database.transaction(async (tx) => {
      await tx.deleteFrom('login_failures').execute();
    });
  }
});
