import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { resealVault, type ServedSecret, sealZeroKnowledge, ZeroKnowledgeClient } from './zero-knowledge-index.ts';

const file = new URL('../../docs/zero-knowledge-vectors.json', import.meta.url);
const { opens } = JSON.parse(readFileSync(file, 'utf8')) as {
  opens: { kdf: string; key: string; plaintext: string; envelope: string }[];
};
/** An envelope sealed by a release up to 0.4. */
const UNBOUND = opens.find(({ kdf, plaintext }) => kdf === 'hkdf-sha256' && plaintext !== '') as (typeof opens)[0];
const SECRET = { key: new Uint8Array(Buffer.from(UNBOUND.key, 'hex')) };
const VAULT = 'sealed';
const ALL = { acceptUnbound: true, acceptUnversioned: true };

/** A fake vault with the service's rules for versions: a write increments the version, and requires the expected one. */
function vaultOf(secrets: Record<string, ServedSecret>) {
  const stored = new Map(Object.entries(secrets));
  return {
    stored,
    list: () => [...stored.keys()],
    read: async (path: string) => stored.get(path) as ServedSecret,
    write: async (path: string, value: string, expectedVersion: number) => {
      if (stored.get(path)?.version !== expectedVersion) throw new Error('VERSION_CONFLICT');
      stored.set(path, { value, version: expectedVersion + 1 });
    },
  };
}

async function mixedVault() {
  const client = new ZeroKnowledgeClient(SECRET);
  return vaultOf({
    old: { value: UNBOUND.envelope, version: 3 },
    current: { value: await client.seal('current', { vault: VAULT, path: 'current', version: 1 }), version: 2 },
    unversioned: {
      value: await sealZeroKnowledge('unversioned', SECRET, { vault: VAULT, path: 'unversioned' }),
      version: 1,
    },
    swapped: { value: await client.seal('swapped', { vault: VAULT, path: 'current', version: 1 }), version: 1 },
    theirs: {
      value: await sealZeroKnowledge('x', { key: new Uint8Array(32) }, { vault: VAULT, path: 'theirs' }),
      version: 1,
    },
  });
}

test('every value is bound to its location and version, each kind of older one only if that is requested', async () => {
  const vault = await mixedVault();
  const none = await resealVault(VAULT, SECRET, vault);
  const rest = ['old', 'unversioned', 'swapped', 'theirs'];
  assert.deepEqual(none, { resealed: [], unchanged: ['current'], refused: rest });
  const first = await resealVault(VAULT, SECRET, vault, { acceptUnversioned: true });
  assert.deepEqual(first, { resealed: ['unversioned'], unchanged: ['current'], refused: ['old', 'swapped', 'theirs'] });
  assert.equal(vault.stored.get('old')?.value, UNBOUND.envelope, 'nothing is written where it was refused');
  const second = await resealVault(VAULT, SECRET, vault, { acceptUnbound: true, algorithm: 'xchacha20-poly1305' });
  assert.deepEqual(second, {
    resealed: ['old'],
    unchanged: ['current', 'unversioned'],
    refused: ['swapped', 'theirs'],
  });
  const client = new ZeroKnowledgeClient(SECRET);
  for (const [path, value, sealedVersion] of [
    ['old', UNBOUND.plaintext, 4],
    ['unversioned', 'unversioned', 2],
    ['current', 'current', 1],
  ] as const) {
    assert.deepEqual(await client.open(await vault.read(path), { vault: VAULT, path }), { value, sealedVersion });
  }
  assert.match(String(vault.stored.get('old')?.value), /^zk:v1:xchacha20-poly1305:/);
});

test('a run that was interrupted is repeated and goes on', async () => {
  const vault = await mixedVault();
  let writes = 0;
  const interrupted = {
    ...vault,
    write: (...given: Parameters<typeof vault.write>) =>
      ++writes === 2 ? Promise.reject(new Error('the connection was cut')) : vault.write(...given),
  };
  await assert.rejects(resealVault(VAULT, SECRET, interrupted, ALL), /connection was cut/);
  const rest = await resealVault(VAULT, SECRET, vault, ALL);
  assert.deepEqual([rest.resealed, rest.unchanged], [['unversioned'], ['old', 'current']]);
});

test('a secret that somebody changes meanwhile is not overwritten', async () => {
  const vault = await mixedVault();
  const raced = {
    ...vault,
    read: async (path: string) => {
      const served = await vault.read(path);
      if (path === 'old') vault.stored.set(path, { value: served.value, version: served.version + 1 });
      return served;
    },
  };
  await assert.rejects(resealVault(VAULT, SECRET, raced, { acceptUnbound: true }), /VERSION_CONFLICT/);
  assert.equal(vault.stored.get('old')?.value, UNBOUND.envelope);
});
