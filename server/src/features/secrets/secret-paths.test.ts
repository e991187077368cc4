import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { addPerson, ok, type Person, uniqueName } from '../../../../test/support/people.ts';
import { jsonBodies, sendRaw } from '../../../../test/support/raw-http.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, auditOf, pathsIn, secretUrl } from '../../../../test/support/vaults.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';

/** However a path is spelled, it does not reach a secret that a policy denies under another spelling. */

const OPEN = ['team/open', 'team/a/b', 'team/Secret'];
const CLOSED = ['team/secret', 'team/secret/deep', 'other/x'];

/** What a URL's path means, decoded once, or null if it means nothing; written without the service's code. */
function decodedOnce(raw: string): string | null {
  try {
    return decodeURIComponent(raw);
  } catch {
    return null;
  }
}

const hex = (character: string, upper: boolean) => {
  const code = character.charCodeAt(0).toString(16).padStart(2, '0');
  return `%${upper ? code.toUpperCase() : code}`;
};

/** One thing done to a spelling at a place. Some leave the meaning as it was, most must not be taken. */
const TRICKS: Record<string, (text: string, at: number) => string> = {
  encode: (text, at) => text.slice(0, at) + hex(text[at] ?? 'a', false) + text.slice(at + 1),
  encodeUpper: (text, at) => text.slice(0, at) + hex(text[at] ?? 'a', true) + text.slice(at + 1),
  encodeTwice: (text, at) => `${text.slice(0, at)}%25${hex(text[at] ?? 'a', false).slice(1)}${text.slice(at + 1)}`,
  encodeSlashes: (text) => text.replaceAll('/', '%2F'),
  encodeSlashesTwice: (text) => text.replaceAll('/', '%252F'),
  dot: (text, at) => `${text.slice(0, at)}/./${text.slice(at)}`,
  dots: (text, at) => `${text.slice(0, at)}/../${text.slice(at)}`,
  encodedDots: (text, at) => `${text.slice(0, at)}/%2e%2e/${text.slice(at)}`,
  backAndForth: (text) => `team/open/../../${text}`,
  encodedBackAndForth: (text) => `team/open/%2e%2e/%2E./${text}`,
  slashBehind: (text) => `${text}/`,
  slashBefore: (text) => `/${text}`,
  slashes: (text) => text.replace('/', '//'),
  encodedEmpty: (text) => text.replace('/', '/%2F'),
  upper: (text) => text.toUpperCase(),
  capital: (text, at) => text.slice(0, at) + (text[at] ?? '').toUpperCase() + text.slice(at + 1),
  parameter: (text, at) => `${text.slice(0, at)};v=1${text.slice(at)}`,
  backslash: (text) => text.replaceAll('/', '\\'),
  encodedBackslash: (text) => text.replaceAll('/', '%5c'),
  nul: (text, at) => `${text.slice(0, at)}%00${text.slice(at)}`,
  overlong: (text) => text.replaceAll('/', '%c0%af'),
  fullWidth: (text) => text.replaceAll('/', '%EF%BC%8F').replaceAll('.', '%EF%BC%8E'),
  lookAlike: (text) => text.replace('e', '%D0%B5'),
  ligature: (text) => text.replace('s', '%C5%BF'),
  blank: (text, at) => `${text.slice(0, at)}%20${text.slice(at)}`,
  plus: (text) => text.replace('/', '+'),
  tab: (text, at) => `${text.slice(0, at)}%09${text.slice(at)}`,
  joiner: (text, at) => `${text.slice(0, at)}%E2%80%8D${text.slice(at)}`,
  query: (text) => `${text}?`,
  strangeQuery: (text) => `${text}?version=`,
  verb: (text) => `${text}/restore`,
  fragment: (text) => `${text}%23x`,
  star: (text, at) => `${text.slice(0, at)}*${text.slice(at)}`,
};

const target = fc.constantFrom(...OPEN, ...CLOSED, 'team', 'secret', '..', '');
const trick = fc.tuple(fc.constantFrom(...Object.values(TRICKS)), fc.nat(12));
const spelling = fc
  .tuple(target, fc.array(trick, { minLength: 0, maxLength: 3 }))
  .map(([path, tricks]) => tricks.reduce((text, [apply, at]) => apply(text, Math.min(at, text.length)), path));

onBothDatabases('paths of secrets', (database, { rule }) => {
  let service: Service;
  let vault: string;
  let closedVault: string;
  let person: Person;
  const isAllowed = (path: string) =>
    (path === 'team' || path.startsWith('team/')) && path !== 'team/secret' && !path.startsWith('team/secret/');

  before(async () => {
    service = await startService(database);
    vault = await addVault(service);
    closedVault = await addVault(service);
    for (const path of [...OPEN, ...CLOSED]) await addSecret(service, vault, path);
    await addSecret(service, closedVault, 'team/open', { value: 'closed' });
    person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [
      { action: ['secrets:*'], resource: [`vault/${vault}/team/**`] },
      { effect: 'deny', action: ['*'], resource: [`vault/${vault}/team/secret/**`] },
      { action: ['secrets:import'], resource: [`vault/${vault}`] },
    ]);
  });
  after(() => service.close());

  const raw = async (method: string, path: string, token: string, body?: object) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'Host: localhost',
      'Connection: close',
      `Authorization: Bearer ${token}`,
      ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
    ];
    const answer = await sendRaw(service.url, `${lines.join('\r\n')}\r\n\r\n${text}`, { waitMs: 5000 });
    // biome-ignore lint/suspicious/noExplicitAny: looked into by the tests
    return { status: answer.status, body: jsonBodies(answer.text)[0] as any };
  };
  const state = async () => {
    const { secrets } = await ok(service.call('GET', `/v1/vaults/${vault}/secrets`));
    return secrets.map((secret: { path: string; version: number }) => `${secret.path} ${secret.version}`);
  };

  rule('read in any spelling, a path is what it says, or refused', async () => {
    const property = fc.asyncProperty(spelling, async (text) => {
      if (/[\s#]/.test(text)) return;
      const meant = decodedOnce(text.split('?')[0] ?? '');
      for (const token of [person.token, service.adminToken]) {
        const { status, body } = await raw('GET', `/v1/vaults/${vault}/secrets/${text}`, token);
        if (status !== 200) {
          assert.ok([400, 403, 404, 405, 422].includes(status), `${text}: ${status}`);
          continue;
        }
        assert.equal(body.path, meant, text);
        assert.equal(body.value, `value of ${meant}`, text);
        if (token === person.token) assert.ok(isAllowed(body.path), text);
      }
    });
    await fc.assert(property, { numRuns: 250 });
  });

  test('what was decided on is what was read: the log names the path that was answered', async () => {
    // Refusals beyond a budget are counted and not listed: what was tried before shall not use it up.
    service.clock.advance(2 * HOUR_MS);
    const began = service.clock.now();
    for (const text of ['team/open', 'team%2Fopen', 'team%2fopen', '%74eam/op%65n', 'team/%61/b']) {
      const { status, body } = await raw('GET', `/v1/vaults/${vault}/secrets/${text}`, person.token);
      assert.equal(status, 200, text);
      const [entry] = await auditOf(service, `vault=${vault}&action=secrets:read`);
      assert.equal(entry.resource, `vault/${vault}/${body.path}`);
      assert.equal(entry.decision, 'allow');
    }
    for (const text of ['team/secret', 'team%2Fsecret', 'team/%73ecret', 'team/secret%2Fdeep', '%6Fther/x']) {
      const { status } = await raw('GET', `/v1/vaults/${vault}/secrets/${text}`, person.token);
      assert.equal(status, 403, text);
      const resource = encodeURIComponent(`vault/${vault}/${decodeURIComponent(text)}`);
      const entries = await auditOf(service, `vault=${vault}&action=secrets:read&resource=${resource}`);
      // The first refusal of a new minute also records how many were only counted before, as an entry like the last of them.
      const entry = entries.find(({ timestamp }: { timestamp: string }) => Date.parse(timestamp) >= began);
      assert.equal(entry?.decision, 'deny', text);
    }
  });

  rule('written, moved or deleted in any spelling, nothing closed changes', async () => {
    const before = (await state()).filter((row: string) => !isAllowed(row.split(' ')[0] ?? ''));
    const verbs: [string, string, object?][] = [
      ['PUT', '', { value: 'changed' }],
      ['DELETE', ''],
      ['POST', '/rotate', { value: 'changed' }],
      ['POST', '/rollback', { to_version: 1 }],
      ['POST', '/move', { to_path: 'team/stolen' }],
      ['POST', '/copy', { to_path: 'team/stolen' }],
      ['POST', '/restore'],
    ];
    const closed = fc
      .tuple(fc.constantFrom(...CLOSED), fc.array(trick, { minLength: 0, maxLength: 3 }), fc.constantFrom(...verbs))
      .map(([path, tricks, verb]) => ({
        text: tricks.reduce((text, [apply, at]) => apply(text, Math.min(at, text.length)), path),
        verb,
      }));
    const property = fc.asyncProperty(closed, async ({ text, verb: [method, suffix, body] }) => {
      if (/[\s#?]/.test(text)) return;
      const { status, body: answer } = await raw(
        method,
        `/v1/vaults/${vault}/secrets/${text}${suffix}`,
        person.token,
        body,
      );
      if (status >= 400) return;
      const meant = decodedOnce(text) ?? '';
      assert.ok(isAllowed(meant.replace(/\/restore$/, '')), `${method} ${text}: ${JSON.stringify(answer)}`);
    });
    await fc.assert(property, { numRuns: 250 });
    const left = (await state()).filter((row: string) => !isAllowed(row.split(' ')[0] ?? ''));
    assert.deepEqual(left, before);
  });

  rule('a vault’s name has one spelling too', async () => {
    const names = fc
      .tuple(fc.constantFrom(vault, closedVault), fc.array(trick, { minLength: 0, maxLength: 2 }))
      .map(([name, tricks]) => tricks.reduce((text, [apply, at]) => apply(text, Math.min(at, text.length)), name));
    const property = fc.asyncProperty(names, async (name) => {
      if (/[\s#?]/.test(name)) return;
      const { status, body } = await raw('GET', `/v1/vaults/${name}/secrets/team/open`, person.token);
      if (status !== 200) return;
      assert.deepEqual([decodedOnce(name), body.vault, body.value], [vault, vault, 'value of team/open']);
    });
    await fc.assert(property, { numRuns: 120 });
    for (const path of [
      `/v1/vaults/${vault}/../${closedVault}/secrets/team/open`,
      `/v1/vaults/${vault}/secrets/../../${closedVault}/secrets/team/open`,
      `/v1/vaults/${vault}%2F..%2F${closedVault}/secrets/team/open`,
      `//v1/vaults/${closedVault}/secrets/team/open`,
      `/v1//vaults/${closedVault}/secrets/team/open`,
      `http://x/v1/vaults/${closedVault}/secrets/team/open`,
      `/v1/vaults/${closedVault}/secrets/team/open;/../../${vault}`,
    ]) {
      const { status, body } = await raw('GET', path, person.token);
      assert.ok(status >= 400, `${path}: ${JSON.stringify(body)}`);
    }
  });

  rule('a path in a body is used as it is written, or refused', async () => {
    const texts = fc
      .tuple(target, fc.array(trick, { minLength: 0, maxLength: 2 }), fc.nat(1e9))
      .map(([path, tricks, n]) =>
        tricks.reduce((text, [apply, at]) => apply(text, Math.min(at, text.length)), `${path}/n${n}`),
      );
    const isPath = (text: string) =>
      /^[A-Za-z0-9._@+=-]+(?:\/[A-Za-z0-9._@+=-]+)*$/.test(text) &&
      !/(?:^|\/)\.{1,2}(?:\/|$)/.test(text) &&
      !text.endsWith('/restore');
    const property = fc.asyncProperty(fc.oneof(texts, fc.string()), async (text) => {
      const by = { token: person.token };
      const create = await service.call('POST', `/v1/vaults/${vault}/secrets`, {
        ...by,
        body: { path: text, value: 'x' },
      });
      if (create.status === 201) {
        assert.ok(isPath(text) && isAllowed(text), JSON.stringify(text));
        assert.equal(create.body.path, text);
      } else if (create.status === 403) assert.ok(isPath(text) && !isAllowed(text), JSON.stringify(text));
      else assert.ok([400, 409, 422].includes(create.status), create.text);
      const to = `/v1/vaults/${vault}/secrets/team/open/copy`;
      const copy = await service.call('POST', to, { ...by, body: { to_path: text } });
      if (copy.status === 201)
        assert.ok(isPath(text) && isAllowed(text) && copy.body.path === text, JSON.stringify(text));
      if (isPath(text) && !isAllowed(text)) assert.equal(copy.status, 403, copy.text);
      const imported = await service.call('POST', `/v1/vaults/${vault}/import`, {
        ...by,
        body: { secrets: { [text]: 'imported' }, dry_run: true },
      });
      if (imported.status === 200) assert.ok(isPath(text) && isAllowed(text), JSON.stringify(text));
      const prefixed = await service.call('POST', `/v1/vaults/${vault}/import`, {
        ...by,
        body: { secrets: { leaf: 'imported' }, prefix: text, dry_run: true },
      });
      // A prefix may end in a slash.
      const leaf = `${text.replace(/\/$/, '')}/leaf`;
      if (prefixed.status === 200) assert.ok(isPath(leaf) && isAllowed(leaf), JSON.stringify(text));
    });
    await fc.assert(property, { numRuns: 120 });
  });

  test('a prefix finds what begins with it and may be seen, whatever it is made of', async () => {
    const prefixes = fc.oneof(spelling, fc.string({ maxLength: 8 }));
    const all = await pathsIn(service, vault, 'limit=1000');
    const property = fc.asyncProperty(prefixes, async (text) => {
      const query = `prefix=${encodeURIComponent(text)}&limit=1000`;
      const { status, body } = await service.call('GET', `/v1/vaults/${vault}/secrets?${query}`, {
        token: person.token,
      });
      if (status !== 200) {
        assert.ok(status === 422 || status === 400);
        return;
      }
      const expected = all.filter((path) => path.startsWith(text) && isAllowed(path));
      assert.deepEqual(
        body.secrets.map((secret: { path: string }) => secret.path),
        expected,
      );
    });
    await fc.assert(property, { numRuns: 120 });
  });

  test('the longest path there may be works in every place, one longer in none', async () => {
    const where = await addVault(service);
    const longest = `${'x'.repeat(128)}/`.repeat(7) + 'x'.repeat(121);
    assert.equal(longest.length, 1024);
    await addSecret(service, where, longest);
    assert.equal((await ok(service.call('GET', secretUrl(where, longest)))).path, longest);
    const threefold = [...longest].map((character) => hex(character, true)).join('');
    assert.equal((await ok(service.call('GET', secretUrl(where, threefold)))).path, longest);
    await ok(service.call('GET', secretUrl(where, longest, 'versions')));
    assert.deepEqual(await pathsIn(service, where, `prefix=${longest}`), [longest]);
    const deepest = Array.from({ length: 32 }, () => 'd').join('/');
    await addSecret(service, where, deepest);
    for (const path of [`${deepest}/d`, 'x'.repeat(129), `${longest}x`]) {
      const create = await service.call('POST', `/v1/vaults/${where}/secrets`, { body: { path, value: 'x' } });
      assert.equal(create.status, 422, path);
      assert.equal((await service.call('GET', secretUrl(where, path))).status, 422, path);
    }
  });

  rule('verbs are no names, alone, at the end, or encoded', async () => {
    const where = await addVault(service);
    for (const verb of ['versions', 'rotate', 'move', 'copy', 'rollback', 'restore']) {
      for (const path of [verb, `a/${verb}`, `a/b/${verb}`]) {
        const create = await service.call('POST', `/v1/vaults/${where}/secrets`, { body: { path, value: 'x' } });
        assert.equal(create.status, 422, path);
        const body = { secrets: { [path]: 'x' } };
        assert.equal((await service.call('POST', `/v1/vaults/${where}/import`, { body })).status, 422, path);
      }
      await addSecret(service, where, `${verb}/inside`);
      await addSecret(service, where, `a/${verb}s`);
      await addSecret(service, where, `a/${verb.toUpperCase()}`);
      assert.equal((await ok(service.call('GET', secretUrl(where, `${verb}/inside`)))).path, `${verb}/inside`);
    }
    await addSecret(service, where, uniqueName('collisions'));
  });
});
