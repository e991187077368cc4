import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { LOCATIONS_MAX } from './version-store.ts';
import { VERSIONS_SEARCHED_MAX } from './zero-knowledge-client.ts';
import {
  InProcessVersionStore,
  openZeroKnowledge,
  sealZeroKnowledge,
  type VersionStore,
  ZeroKnowledgeClient,
  ZeroKnowledgeError,
  ZeroKnowledgeVersionError,
} from './zero-knowledge-index.ts';

const SECRET = { key: new Uint8Array(randomBytes(32)) };
const AT = { vault: 'sealed', path: 'db/main' };

describe('the client', () => {
  test('opens what it sealed, and binds the version', async () => {
    const client = new ZeroKnowledgeClient(SECRET, { algorithm: 'xchacha20-poly1305' });
    const value = await client.seal('s3cr3t', { ...AT, version: 1 });
    assert.match(value, /^zk:v1:xchacha20-poly1305:/);
    assert.deepEqual(await client.open({ value, version: 1 }, AT), { value: 's3cr3t', sealedVersion: 1 });
    assert.equal(await openZeroKnowledge(value, SECRET, { ...AT, version: 1 }), 's3cr3t');
    const bytes = await client.seal(new Uint8Array([0xff]), { ...AT, version: 2 });
    assert.deepEqual([...(await client.openBytes({ value: bytes, version: 2 }, AT)).value], [0xff]);
    await assert.rejects(client.open({ value: bytes, version: 2 }, AT), ZeroKnowledgeError);
  });

  test('an older value is refused, also under the number of a newer one', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const [one, two] = [
      await client.seal('first-value', { ...AT, version: 1 }),
      await client.seal('new', { ...AT, version: 2 }),
    ];
    assert.equal((await client.open({ value: one, version: 1 }, AT)).value, 'first-value');
    assert.equal((await client.open({ value: two, version: 2 }, AT)).value, 'new');
    for (const version of [1, 2, 3, 50]) {
      await assert.rejects(client.open({ value: one, version }, AT), (error: Error) => {
        assert.ok(error instanceof ZeroKnowledgeVersionError);
        assert.deepEqual([error.sealedVersion, error.highestVersion], [1, 2]);
        assert.match(error.message, /was rolled back/);
        assert.doesNotMatch(error.message, /first-value|zk:v1/);
        return true;
      });
    }
    assert.equal((await client.open({ value: two, version: 2 }, AT)).value, 'new');
  });

  test('a client that has seen nothing is told for which version a value was sealed', async () => {
    const value = await new ZeroKnowledgeClient(SECRET).seal('old', { ...AT, version: 1 });
    const opened = await new ZeroKnowledgeClient(SECRET).open({ value, version: 3 }, AT);
    assert.deepEqual(opened, { value: 'old', sealedVersion: 1 });
  });

  test('a value stays open while only what describes it changes, for as many versions as are searched', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const value = await client.seal('x', { ...AT, version: 4 });
    for (const version of [4, 5, 9, 3 + VERSIONS_SEARCHED_MAX]) {
      assert.equal((await client.open({ value, version }, AT)).sealedVersion, 4);
    }
    await assert.rejects(client.open({ value, version: 4 + VERSIONS_SEARCHED_MAX }, AT), ZeroKnowledgeError);
    await assert.rejects(client.open({ value, version: 3 }, AT), ZeroKnowledgeError, 'sealed for a version to come');
  });

  test('what was written is known before it is read', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const one = await client.seal('old', { ...AT, version: 1 });
    await client.written({ ...AT, version: 2 });
    await assert.rejects(client.open({ value: one, version: 1 }, AT), ZeroKnowledgeVersionError);
  });

  test('each location has its own versions', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    await client.written({ ...AT, version: 9 });
    for (const at of [
      { ...AT, path: 'db' },
      { ...AT, vault: 'other' },
    ]) {
      const value = await client.seal('x', { ...at, version: 1 });
      assert.equal((await client.open({ value, version: 1 }, at)).value, 'x');
    }
  });

  test('what does not open teaches it nothing', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const value = await client.seal('x', { ...AT, version: 2 });
    const elsewhere = await client.seal('y', { ...AT, path: 'other', version: 90 });
    const unversioned = await sealZeroKnowledge('y', SECRET, AT);
    for (const bad of [elsewhere, unversioned, 'zk:v1', '']) {
      await assert.rejects(client.open({ value: bad, version: 90 }, AT), ZeroKnowledgeError);
    }
    for (const version of [0, -1, 1.5, Number.NaN, '2', null, undefined] as number[]) {
      await assert.rejects(client.open({ value, version }, AT), ZeroKnowledgeError);
    }
    for (const served of [null, undefined, {}] as never[])
      await assert.rejects(client.open(served, AT), ZeroKnowledgeError);
    assert.equal((await client.open({ value, version: 2 }, AT)).value, 'x');
  });

  test('it seals nothing without a version, and opens nothing without a location', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    for (const location of [AT, { ...AT, version: 0 }, { version: 1 }, undefined] as never[]) {
      await assert.rejects(client.seal('x', location), { name: 'TypeError' });
      await assert.rejects(client.written(location), { name: 'TypeError' });
    }
    const value = await client.seal('x', { ...AT, version: 1 });
    for (const requested of [{}, { vault: 'sealed' }, { path: 'db/main' }] as never[]) {
      await assert.rejects(client.open({ value, version: 1 }, requested), { name: 'TypeError' });
    }
  });

  test('moving seals for the new location, and only there it opens', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const value = await client.seal(new Uint8Array([1, 0xff]), { ...AT, version: 3 });
    const to = { vault: 'other', path: 'moved', version: 5 };
    const moved = await client.reseal({ value, version: 4 }, AT, to);
    assert.deepEqual([...(await client.openBytes({ value: moved, version: 5 }, to)).value], [1, 0xff]);
    await assert.rejects(client.openBytes({ value: moved, version: 5 }, AT), ZeroKnowledgeError);
    await assert.rejects(client.openBytes({ value, version: 5 }, to), ZeroKnowledgeError);
    await assert.rejects(client.reseal({ value, version: 4 }, { ...AT, path: 'other' }, to), ZeroKnowledgeError);
    await client.written({ ...AT, version: 4 });
    await assert.rejects(client.reseal({ value, version: 4 }, AT, to), ZeroKnowledgeVersionError);
  });
});

describe('the store of versions', () => {
  test('one of the caller’s own decides, and one that fails lets nothing pass', async () => {
    const stored = new Map<string, number>();
    const versions: VersionStore = {
      async raise({ vault, path }, version) {
        const highest = Math.max(version, stored.get(`${vault} ${path}`) ?? 0);
        stored.set(`${vault} ${path}`, highest);
        return highest;
      },
    };
    const before = new ZeroKnowledgeClient(SECRET, { versions });
    const [one, two] = [await before.seal('1', { ...AT, version: 1 }), await before.seal('2', { ...AT, version: 2 })];
    await before.open({ value: two, version: 2 }, AT);
    const restarted = new ZeroKnowledgeClient(SECRET, { versions });
    await assert.rejects(restarted.open({ value: one, version: 2 }, AT), ZeroKnowledgeVersionError);
    for (const raise of [() => Promise.reject(new Error('the disk is full')), () => undefined as never, () => NaN]) {
      const broken = new ZeroKnowledgeClient(SECRET, { versions: { raise } });
      await assert.rejects(broken.open({ value: two, version: 2 }, AT));
    }
  });

  test('many reads at once end with the highest', async () => {
    const client = new ZeroKnowledgeClient(SECRET);
    const envelopes = await Promise.all(
      Array.from({ length: 20 }, (_, at) => client.seal(`${at}`, { ...AT, version: at + 1 })),
    );
    await Promise.allSettled(envelopes.map((value) => client.open({ value, version: 20 }, AT)));
    await assert.rejects(client.open({ value: String(envelopes[18]), version: 20 }, AT), ZeroKnowledgeVersionError);
    assert.equal((await client.open({ value: String(envelopes[19]), version: 20 }, AT)).value, '19');
  });

  test('a secret that was made anew opens once its versions are deleted', async () => {
    const versions = new InProcessVersionStore();
    const client = new ZeroKnowledgeClient(SECRET, { versions });
    await client.written({ ...AT, version: 9 });
    const value = await client.seal('anew', { ...AT, version: 1 });
    await assert.rejects(client.open({ value, version: 1 }, AT), ZeroKnowledgeVersionError);
    versions.delete(AT);
    assert.equal((await client.open({ value, version: 1 }, AT)).value, 'anew');
  });

  test('a full one refuses, and evicts nothing', () => {
    const versions = new InProcessVersionStore();
    for (let at = 0; at < LOCATIONS_MAX; at++) versions.raise({ vault: 'v', path: `p/${at}` }, 2);
    assert.throws(() => versions.raise({ vault: 'v', path: 'more' }, 1), { name: 'RangeError' });
    assert.equal(versions.raise({ vault: 'v', path: 'p/0' }, 1), 2);
  });
});
