import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseSecretPath } from '../../../server/src/kernel/wire/secret-path.ts';
import { documentsIn, parseExactly, textOf } from './exact-json.ts';
import { inParallel } from './parallel.ts';
import { compared } from './plan.ts';
import type { SourceEntry } from './source.ts';
import { targetMetadata } from './target-metadata.ts';
import { prefixSegments, targetPath } from './target-path.ts';
import { wantedSecrets } from './wanted-secrets.ts';

const entry = (origin: string, versions: SourceEntry['versions'], names = origin.split('/')): SourceEntry => ({
  origin,
  names,
  versions,
  metadata: {},
  tags: [],
});
const value = (text: string, label = 'v') => ({ label, data: { value: text } });

describe('paths of imported secrets', () => {
  test('whatever the names are, the path is one that the service takes, or there is a reason', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 40 }), (names) => {
        const target = targetPath(['moved'], names);
        if ('reason' in target) assert.ok(target.reason.length > 0);
        else assert.deepEqual(parseSecretPath(target.path), { ok: true, path: target.path });
      }),
    );
  });

  test('a path that fits stays as it is', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[A-Za-z0-9_@+=-]{1,20}$/), { minLength: 1, maxLength: 8 }), (names) => {
        fc.pre(parseSecretPath(names.join('/')).ok);
        assert.deepEqual(targetPath([], names), { path: names.join('/'), isRenamed: false });
      }),
    );
    assert.ok('reason' in targetPath([], ['x'.repeat(129)]));
    assert.deepEqual(targetPath([], ['a', 'rotate']), { path: 'a/rotate_', isRenamed: true });
    assert.deepEqual(targetPath([], ['..', 'k']), { path: '__/k', isRenamed: true });
    assert.deepEqual(prefixSegments('shop/web/'), ['shop', 'web']);
    for (const wrong of ['', '/', '/shop', 'a//b', '../x', 'a b', 'a%2Fb']) assert.equal(prefixSegments(wrong), null);
  });

  test('of two names that become one path the one that fits is used, and the other is named', () => {
    const all = {
      entries: [
        entry('a b', [value('1')]),
        entry('a_b', [value('2')]),
        entry('a-b', [value('3')]),
        entry('a!b', [value('4')]),
      ],
      skipped: [],
    };
    const { secrets, skipped } = wantedSecrets(all, { keysAs: 'paths', prefix: [] });
    assert.deepEqual(
      secrets.map(({ from, path }) => [from, path]),
      [
        ['a-b', 'a-b'],
        ['a_b', 'a_b'],
      ],
    );
    assert.deepEqual(skipped, [
      { from: 'a b', reason: 'its path a_b is that of a_b' },
      { from: 'a!b', reason: 'its path a_b is that of a_b' },
    ]);
  });
});

describe('values and metadata', () => {
  test('repetitions in a history are one version, and a value that does not fit is named', () => {
    const history = ['a', 'a', 'b', 'a'].map((text, i) => value(text, `version ${i + 1}`));
    const all = {
      entries: [
        entry('x', history),
        entry('large', [value('y'.repeat(2 ** 20 + 1))]),
        entry('broken', [value('\ud800')]),
      ],
      skipped: [],
    };
    const { secrets, skipped } = wantedSecrets(all, { keysAs: 'paths', prefix: [] });
    assert.deepEqual(secrets[0]?.values, [
      { value: 'a', label: 'version 1' },
      { value: 'b', label: 'version 3' },
      { value: 'a', label: 'version 4' },
    ]);
    assert.deepEqual(
      skipped.map(({ from }) => from),
      ['large', 'broken'],
    );
  });

  test('keys keep their own values, also one that is called __proto__', () => {
    const keys = parseExactly('{"__proto__": "p", "n": 1.50, "big": 12345678901234567890}') as object;
    const all = { entries: [entry('e', [{ label: 'v', data: { keys } }])], skipped: [] };
    const { secrets } = wantedSecrets(all, { keysAs: 'paths', prefix: [] });
    assert.deepEqual(
      secrets.map(({ path, values }) => [path, values[0]?.value]),
      [
        ['e/__proto__', 'p'],
        ['e/big', '12345678901234567890'],
        ['e/n', '1.50'],
      ],
    );
    assert.equal(wantedSecrets(all, { keysAs: 'json', prefix: [] }).secrets[0]?.values[0]?.value, textOf(keys));
  });

  test('metadata that does not fit is named and the rest is imported', () => {
    const { metadata, skipped } = targetMetadata({
      metadata: {
        team: 'a',
        tags: 'x',
        'b d': 'y',
        long: 'z'.repeat(1025),
        owner: 'two\nlines',
        description: 'line\nline',
      },
      tags: ['one', 'one', '', 'a,b'],
    });
    assert.deepEqual(metadata, { team: 'a', description: 'line\nline', tags: ['one'] });
    assert.deepEqual(
      skipped.map(({ name }) => name),
      ['tags', 'b d', 'long', 'owner', 'a tag', 'a tag'],
    );
    const much = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`key${i}`, 'v'.repeat(100)]));
    const bounded = targetMetadata({ metadata: much, tags: [] });
    assert.ok(Buffer.byteLength(JSON.stringify(bounded.metadata)) <= 4096);
    assert.equal(Object.keys(bounded.metadata).length + bounded.skipped.length, 70);
  });
});

describe('what is in Coffer already', () => {
  const values = (...texts: string[]) => ({ values: texts.map((text) => ({ value: text, label: '' })) });
  const step = (secret: ReturnType<typeof values>, text: string, version: number, isOverwriting = false) => {
    const { change, done } = compared(secret, { value: text, version }, isOverwriting);
    return [change, done];
  };

  test('an import that was stopped goes on behind the version that it wrote last', () => {
    assert.deepEqual(step(values('a', 'b', 'a', 'c'), 'a', 1), ['update', 1]);
    assert.deepEqual(step(values('a', 'b', 'a', 'c'), 'a', 3), ['update', 3]);
    assert.deepEqual(step(values('a', 'b', 'a', 'c'), 'c', 4), ['unchanged', 4]);
  });

  test('a history whose beginning the source dropped is continued', () => {
    assert.deepEqual(step(values('c', 'd', 'e'), 'd', 7), ['update', 2]);
  });

  test('a value that the source never had is left, unless it shall be replaced', () => {
    assert.deepEqual(step(values('a', 'b'), 'mine', 3), ['leave', 0]);
    assert.deepEqual(step(values('a', 'b'), 'mine', 3, true), ['update', 1]);
  });
});

describe('exports', () => {
  test('several documents, one after the other, are all read', () => {
    const texts = ['{"a":"}\\"{"}', '[1,{"b":[]}]', '{}'];
    for (const between of ['', '\n', ' \r\n\t'])
      assert.deepEqual(documentsIn(`\uFEFF${texts.join(between)}\n`, 'It').map(textOf), texts);
  });

  test('a failure says where, and quotes nothing of the file', () => {
    for (const text of [
      '',
      '{"password": "hunter2"',
      '{"password": hunter2}',
      'hunter2',
      '{}]hunter2',
      '{"a":1} hunter2',
    ])
      assert.throws(
        () => documentsIn(text, 'It'),
        (error: Error) => /^It is (not JSON|empty)/.test(error.message) && !error.message.includes('hunter2'),
      );
  });
});

test('work that fails ends with what is under way, and nothing more is begun', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    await Promise.resolve();
    if (item === 2) throw new Error('two');
  };
  await assert.rejects(inParallel([1, 2, 3, 4, 5, 6, 7, 8], 2, work), /two/);
  assert.ok(begun.length < 8, String(begun));
  const none: number[] = [];
  await inParallel(
    [1],
    4,
    async (item) => void none.push(item),
    () => true,
  );
  assert.deepEqual(none, []);
});
