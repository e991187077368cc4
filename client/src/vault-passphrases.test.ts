import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, ok, uniqueName } from '../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../test/support/service.ts';
import { addPolicy } from '../../test/support/vaults.ts';
import { Coffer } from './index.ts';
import { opensPassphraseCheck, sealPassphraseCheck } from './passphrase-check.ts';
import { openZeroKnowledge, sealZeroKnowledge } from './zero-knowledge.ts';

/** Keys derive faster than passphrases, and are compared in the same way. */
const keyOf = (byte: number) => ({ key: new Uint8Array(32).fill(byte) });
const RIGHT = keyOf(1);
const WRONG = keyOf(2);
const NEXT = keyOf(3);

onBothDatabases('passphrases of vaults', (database) => {
  let service: Service;
  let coffer: Coffer;
  before(async () => {
    service = await startService(database);
    coffer = newClient();
  });
  after(() => service.close());

  const newClient = (token = service.adminToken) => new Coffer({ url: service.url, auth: { token } });
  const newVault = async (...paths: string[]) => {
    const name = uniqueName('sealed');
    await coffer.vaults.create({ name, environment: 'development', is_zero_knowledge: true });
    for (const path of paths) await coffer.seal(name, path, `value of ${path}`, RIGHT);
    return name;
  };
  const checkOf = (vault: string) => ok(service.call('GET', `/v1/vaults/${vault}/passphrase-check`));
  const isWrong = { name: 'WrongPassphraseError' };

  test('the first value decides the passphrase, and another one stores nothing', async () => {
    const vault = await newVault('db/main');
    await assert.rejects(coffer.seal(vault, 'db/main', 'lost', WRONG), isWrong);
    await assert.rejects(newClient().seal(vault, 'db/other', 'lost', WRONG), isWrong);
    await assert.rejects(coffer.secrets.get(vault, 'db/other'), { code: 'SECRET_NOT_FOUND' });
    assert.equal(await coffer.open(vault, 'db/main', RIGHT), 'value of db/main');
    await coffer.seal(vault, 'db/other', 'two', RIGHT);
    assert.equal((await checkOf(vault)).version, 1);
  });

  test('of two first values under different passphrases at the same time, one is refused', async () => {
    const vault = await newVault();
    const both = [RIGHT, WRONG].map((secret, at) => newClient().seal(vault, `at/${at}`, 'x', secret));
    const outcomes = await Promise.allSettled(both);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal((outcome.reason as Error).name, 'WrongPassphraseError');
    }
  });

  test('a value from before there were checks decides', async () => {
    const vault = await newVault();
    const envelope = await sealZeroKnowledge('old', RIGHT, { vault, path: 'old', version: 1 });
    await coffer.secrets.set(vault, 'old', envelope);
    await assert.rejects(coffer.seal(vault, 'new', 'lost', WRONG), isWrong);
    assert.equal((await checkOf(vault)).check, null);
    await coffer.seal(vault, 'new', 'one', RIGHT);
    assert.ok(await opensPassphraseCheck((await checkOf(vault)).check, vault, RIGHT));
  });

  test('who may use only some paths of the vault seals as before', async () => {
    const vault = await newVault('app/one');
    const person = await addPerson(service);
    const paths = { action: ['secrets:*'], resource: [`vault/${vault}/app/**`] };
    await addPolicy(service, { user: person.id }, [paths]);
    await newClient(person.token).seal(vault, 'app/two', 'two', RIGHT);
    assert.equal(await coffer.open(vault, 'app/two', RIGHT), 'two');
  });

  test('a check opens for its own vault and no other, and neither is a value', async () => {
    const check = await sealPassphraseCheck('one', RIGHT);
    assert.ok(await opensPassphraseCheck(check, 'one', RIGHT));
    assert.ok(!(await opensPassphraseCheck(check, 'two', RIGHT)));
    assert.ok(!(await opensPassphraseCheck(check, 'one', WRONG)));
    assert.ok(!(await opensPassphraseCheck('zk:v1:nothing', 'one', RIGHT)));
    await assert.rejects(openZeroKnowledge(check, RIGHT, { vault: 'one', path: 'any' }));
    const value = await sealZeroKnowledge('x', RIGHT, { vault: 'one', path: 'any' });
    assert.ok(!(await opensPassphraseCheck(value, 'one', RIGHT)));
    await assert.rejects(sealPassphraseCheck('one', { passphrase: 'too short' }), RangeError);
  });

  test('a changed passphrase opens every value, and the former one is refused', async () => {
    const vault = await newVault('a', 'b', 'c');
    await assert.rejects(coffer.changePassphrase(vault, { from: WRONG, to: NEXT }), isWrong);
    const paths: string[] = [];
    const report = await coffer.changePassphrase(
      vault,
      { from: RIGHT, to: NEXT },
      { onProgress: ({ path, count }) => paths.push(`${count} ${path}`) },
    );
    assert.deepEqual(report, { resealed: ['a', 'b', 'c'], unchanged: [], refused: [] });
    assert.deepEqual(paths, ['1 a', '2 b', '3 c']);
    for (const path of ['a', 'b', 'c']) assert.equal(await coffer.open(vault, path, NEXT), `value of ${path}`);
    await assert.rejects(coffer.seal(vault, 'a', 'lost', RIGHT), isWrong);
    assert.equal((await checkOf(vault)).former, null);
  });

  test('a change that was interrupted continues, and meanwhile only the new passphrase seals', async () => {
    const vault = await newVault('a', 'b', 'c');
    const stop = new Error('interrupted');
    const interrupted = coffer.changePassphrase(
      vault,
      { from: RIGHT, to: NEXT },
      {
        onProgress: ({ path }) => {
          if (path === 'a') throw stop;
        },
      },
    );
    await assert.rejects(interrupted, stop);
    assert.ok((await checkOf(vault)).former);
    await assert.rejects(newClient().seal(vault, 'd', 'lost', RIGHT), /is being changed: use the new one/);
    await coffer.seal(vault, 'd', 'new', NEXT);
    await assert.rejects(coffer.changePassphrase(vault, { from: RIGHT, to: WRONG }), isWrong);
    const report = await newClient().changePassphrase(vault, { from: RIGHT, to: NEXT });
    assert.deepEqual(report, { resealed: ['b', 'c'], unchanged: ['a', 'd'], refused: [] });
    assert.equal((await checkOf(vault)).former, null);
  });

  test('a value that neither passphrase opens is reported, and the change is not over', async () => {
    const vault = await newVault('a', 'b');
    const envelope = await sealZeroKnowledge('other', WRONG, { vault, path: 'b', version: 2 });
    await coffer.secrets.set(vault, 'b', envelope);
    const first = await coffer.changePassphrase(vault, { from: RIGHT, to: NEXT });
    assert.deepEqual(first, { resealed: ['a'], unchanged: [], refused: ['b'] });
    assert.ok((await checkOf(vault)).former);
    await coffer.seal(vault, 'b', 'again', NEXT);
    const second = await coffer.changePassphrase(vault, { from: RIGHT, to: NEXT });
    assert.deepEqual(second, { resealed: [], unchanged: ['a', 'b'], refused: [] });
    assert.equal((await checkOf(vault)).former, null);
  });

  test('another tenant sees nothing of a check', async () => {
    const vault = await newVault('a');
    const { token } = (await addTenant(service)).owner;
    const answer = await service.call('GET', `/v1/vaults/${vault}/passphrase-check`, { token });
    assert.equal(answer.status, 404);
  });
});
