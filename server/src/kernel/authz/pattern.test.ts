import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { MAX_ACTION_CHARS, MAX_RESOURCE_CHARS, MAX_RESOURCE_PATTERN_CHARS, MAX_VAULT_NAME_CHARS } from './limits.ts';
import {
  compileActionPattern,
  compileResourcePattern,
  compileVaultNamePattern,
  isResource,
  literalResource,
  PatternError,
  vaultResource,
} from './pattern.ts';

const RUNS = { numRuns: 2_000 };

describe('limits fit each other', () => {
  test('a pattern can name the longest secret path, and a resource is never shorter than a pattern', () => {
    const longestSecret = 'vault/'.length + MAX_VAULT_NAME_CHARS + 1 + 1_024;
    assert.ok(MAX_RESOURCE_PATTERN_CHARS >= longestSecret);
    assert.ok(MAX_RESOURCE_CHARS >= MAX_RESOURCE_PATTERN_CHARS);
  });
});

describe('action patterns', () => {
  const rows: [pattern: string, action: string, matches: boolean][] = [
    ['secrets:read', 'secrets:read', true],
    ['secrets:read', 'secrets:read_metadata', false],
    ['secrets:read', 'xsecrets:read', false],
    ['secrets:*', 'secrets:read', true],
    ['secrets:*', 'secrets_x:read', false],
    ['*:list', 'vaults:list', true],
    ['*:list', 'vaults:relist', false],
    ['*:*', 'vaults:list', true],
    ['*', 'vaults:list', true],
    // Names are case-sensitive, and text in upper case is not an action at all.
    ['secrets:read', 'Secrets:read', false],
    ['*', 'secrets:READ', false],
    ['*', 'secrets:read ', false],
    ['*', 'secrets:read\n', false],
    ['*', 'secrets', false],
    ['*', '', false],
    ['*', 'a:b:c', false],
    // A requested action is a literal: a request for a wildcard matches nothing.
    ['*', '*:*', false],
    ['secrets:*', 'secrets:*', false],
    ['*', '*', false],
    // With a Cyrillic е.
    ['*', 'sеcrets:read', false],
  ];
  for (const [pattern, action, expected] of rows) {
    test(`${pattern} ${expected ? 'matches' : 'passes by'} ${JSON.stringify(action)}`, () => {
      assert.equal(compileActionPattern(pattern).matches(action), expected);
    });
  }

  const refused = ['', ':', 'secrets', 'secrets:', ':read', 'sec*:read', 'secrets:re*', '**', '**:*', 'a:b:c', 'A:b'];
  refused.push('a:B', ' a:b', 'a:b ', 'a:b\n', '1a:b', 'a-b:c', 'a/b:c', `${'a'.repeat(65)}:b`, 'sеcrets:read');
  for (const text of refused) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => compileActionPattern(text), PatternError);
    });
  }

  test('the longest action is accepted', () => {
    const half = 'a'.repeat(64);
    assert.equal(`${half}:${half}`.length, MAX_ACTION_CHARS);
    assert.ok(compileActionPattern(`${half}:${half}`).matches(`${half}:${half}`));
  });
});

describe('resource patterns', () => {
  const rows: [pattern: string, resource: string, matches: boolean][] = [
    ['audit', 'audit', true],
    ['audit', 'audit/x', false],
    ['audit', 'audi', false],
    ['vault/app', 'vault/app', true],
    ['vault/app', 'vault/app/x', false],
    ['vault/app', 'vault/App', false],
    ['vault/app', 'VAULT/app', false],
    ['vault/app*', 'vault/app', true],
    ['vault/app*', 'vault/app-evil', true],
    ['vault/app*', 'vault/app-evil/x', false],
    ['vault/app*', 'vault/app/x', false],
    ['vault/*app', 'vault/my-app', true],
    ['vault/*app', 'vault/my/app', false],
    ['vault/a*b*c', 'vault/a--b--c', true],
    ['vault/a*b*c', 'vault/a--c--b', false],
    ['vault/a*b*c', 'vault/abc', true],
    ['vault/*/x', 'vault/app/x', true],
    ['vault/*/x', 'vault/app/y/x', false],
    ['vault/*/x', 'vault/x', false],
    ['*/app', 'vault/app', true],
    ['*/app', 'vault/x/app', false],
    ['vault/app/*', 'vault/app/x', true],
    ['vault/app/*', 'vault/app/x/y/z', true],
    ['vault/app/*', 'vault/app', false],
    ['vault/app/*', 'vault/app-evil/x', false],
    ['vault/*/*', 'vault/app/x', true],
    ['vault/*/*', 'vault/app/x/y', true],
    ['vault/*/*', 'vault/app', false],
    ['vault/a*/*', 'vault/app/x/y', true],
    ['vault/a*/*', 'vault/bpp/x/y', false],
    ['vault/app/**', 'vault/app', true],
    ['vault/app/**', 'vault/app/x/y', true],
    ['vault/app/**', 'vault/app-evil', false],
    ['vault/**/key', 'vault/key', true],
    ['vault/**/key', 'vault/app/key', true],
    ['vault/**/key', 'vault/app/a/b/key', true],
    ['vault/**/key', 'vault/app/a/b/keys', false],
    ['vault/**/prod/**', 'vault/app/prod', true],
    ['vault/**/prod/**', 'vault/app/prod/db/pw', true],
    ['vault/**/prod/**', 'vault/app/production/db', false],
    ['**/key', 'key', true],
    ['**/key', 'vault/key', true],
    ['**/a/*/b', 'a/a/x/b', true],
    ['vault/**/**', 'vault', true],
    ['*', 'vault/app/x', true],
    ['*', 'audit', true],
    ['**', 'vault/app/x', true],
    // A requested resource is a literal.
    ['vault/app/x', 'vault/*/x', false],
    ['vault/app/x', 'vault/app/*', false],
    ['vault/app/x', '**', false],
    ['vault/a.p', 'vault/axp', false],
    // With a Cyrillic а.
    ['vault/app', 'vault/аpp', false],
    // Another spelling of a resource is not a resource, even for a pattern that matches everything: it would bypass a deny.
    ['vault/app', 'vault/app/', false],
    ['vault/app/*', 'vault/app/', false],
    ['vault/app/**', 'vault/app/', false],
    ['vault/app/**', 'vault/app//x', false],
    ['vault/app/**', 'vault/app/../x', false],
    ['vault/app/**', 'vault/app/./x', false],
    ['*', '/vault/app', false],
    ['**', '', false],
    ['*', '.', false],
    ['vault/app/**', 'vault/app/...', true],
    ['vault/app/**', 'vault/app/.hidden', true],
  ];
  for (const [pattern, resource, expected] of rows) {
    test(`${pattern} ${expected ? 'matches' : 'passes by'} ${JSON.stringify(resource)}`, () => {
      assert.equal(compileResourcePattern(pattern).matches(resource), expected);
    });
  }

  const refused = ['', '/', '/vault', 'vault/', 'vault//x', 'vault/./x', 'vault/../x', '.', '..', 'a**', '**a'];
  refused.push(
    'vault/a**b',
    '***',
    'vault/***',
    'vault/a b',
    'vault/a\n',
    'vault/a?',
    'vault/[a]',
    'vault\\a',
    'vault/аpp',
  );
  refused.push('vault/%', 'vault/%2', 'vault/%2f', 'vault/%2*', `vault/${'a'.repeat(MAX_RESOURCE_PATTERN_CHARS)}`);
  for (const text of refused) {
    test(`${JSON.stringify(text.slice(0, 40))} is refused`, () => {
      assert.throws(() => compileResourcePattern(text), PatternError);
    });
  }

  test('a resource beyond the limit matches nothing', () => {
    const longest = 'a'.repeat(MAX_RESOURCE_CHARS);
    assert.ok(compileResourcePattern('*').matches(longest));
    assert.ok(!compileResourcePattern('*').matches(`${longest}a`));
  });

  test('hostile patterns finish fast', () => {
    const value = `${'a'.repeat(MAX_RESOURCE_CHARS - 1)}b`;
    const path = `${'a/'.repeat(MAX_RESOURCE_CHARS / 2 - 1)}a`;
    const hostile: [string, string][] = [
      ['*a'.repeat(600), value],
      [`${'*a'.repeat(600)}*c`, value],
      [`*${'a'.repeat(1_200)}c`, value],
      [`${'**/a/'.repeat(250)}c`, path],
      [`**/${'a/'.repeat(600)}c`, path],
      [`${'**/*a*/'.repeat(180)}c`, path],
      [`${'**/'.repeat(400)}c`, path],
    ];
    const ms = processorMs(() => {
      for (const [pattern, resource] of hostile) assert.equal(compileResourcePattern(pattern).matches(resource), false);
    });
    assert.ok(ms < 1_000, `${ms}`);
  });

  test('agrees with a naive reference matcher', () => {
    const segment = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 5 });
    const pattern = fc
      .array(fc.oneof({ weight: 3, arbitrary: segment }, fc.constantFrom('*', '**')), { minLength: 1, maxLength: 5 })
      .filter((segments) => segments.every((one) => one === '**' || !one.includes('**')));
    const resource = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(pattern, resource, (parts, segments) => {
        const actual = compileResourcePattern(parts.join('/')).matches(segments.join('/'));
        assert.equal(actual, naive(parts, segments));
      }),
      { numRuns: 20_000 },
    );
  });
});

/** A naive implementation of the definition, in exponential time. */
function naive(parts: string[], segments: string[]): boolean {
  if (parts.length === 1 && (parts[0] === '*' || parts[0] === '**')) return true;
  return naiveSegments(parts, segments);
}

function naiveSegments(parts: string[], segments: string[]): boolean {
  const [part, ...rest] = parts;
  const [segment, ...others] = segments;
  if (part === undefined) return segment === undefined;
  if (part === '**') return naiveSegments(rest, segments) || (segment !== undefined && naiveSegments(parts, others));
  if (segment === undefined) return false;
  if (part === '*' && rest.length === 0) return true;
  return naiveGlob(part, segment) && naiveSegments(rest, others);
}

function naiveGlob(glob: string, text: string): boolean {
  if (glob === '') return text === '';
  if (glob[0] === '*') return naiveGlob(glob.slice(1), text) || (text !== '' && naiveGlob(glob, text.slice(1)));
  return glob[0] === text[0] && naiveGlob(glob.slice(1), text.slice(1));
}

describe('vault name patterns', () => {
  const rows: [pattern: string, name: string, matches: boolean][] = [
    ['app', 'app', true],
    ['app', 'App', false],
    ['app', 'app2', false],
    ['app-*', 'app-prod', true],
    ['app-*', 'app', false],
    ['*', 'anything', true],
    ['*', 'a/b', false],
    ['*-prod', 'app-prod', true],
  ];
  for (const [pattern, name, expected] of rows) {
    test(`${pattern} ${expected ? 'matches' : 'passes by'} ${name}`, () => {
      assert.equal(compileVaultNamePattern(pattern).matches(name), expected);
    });
  }
  for (const text of ['', '**', 'a**', 'a/b', 'a/*', '.', '-a', 'a b', 'аpp', 'a'.repeat(64)]) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => compileVaultNamePattern(text), PatternError);
    });
  }
});

describe('literal resources (text from an identity never becomes pattern syntax)', () => {
  const rows: [segments: string[], resource: string][] = [
    [['self', 'ana@example.com'], 'self/ana@example.com'],
    [['self', '*'], 'self/%2A'],
    [['self', '**'], 'self/%2A%2A'],
    [['self', 'a/b'], 'self/a%2Fb'],
    [['self', '..'], 'self/%2E%2E'],
    [['self', '.'], 'self/%2E'],
    [['self', 'a%2Fb'], 'self/a%252Fb'],
    [['self', "it's (me)!"], 'self/it%27s%20%28me%29%21'],
    [['self', 'José'], 'self/Jos%C3%A9'],
    [['self', '🔑'], 'self/%F0%9F%94%91'],
  ];
  for (const [segments, expected] of rows) {
    test(`${JSON.stringify(segments)} becomes ${expected}`, () => assert.equal(literalResource(...segments), expected));
  }

  test('no segment, an empty one, a lone surrogate or too long a text is refused', () => {
    for (const segments of [[], [''], ['self', ''], ['self', '\ud800'], ['self', 'a'.repeat(MAX_RESOURCE_CHARS)]]) {
      assert.throws(() => literalResource(...segments), PatternError);
    }
  });

  test('a secret path keeps its segments', () => {
    assert.equal(vaultResource('app'), 'vault/app');
    assert.equal(vaultResource('app', 'db/password'), 'vault/app/db/password');
    for (const path of ['', '/', 'a/', '/a', 'a//b']) assert.throws(() => vaultResource('app', path), PatternError);
    assert.equal(vaultResource('app', '../x'), 'vault/app/%2E%2E/x');
  });

  const identity = fc.oneof(
    fc.string({ unit: fc.constantFrom('*', '/', '.', '%', '+', 'a', '2', 'A', ':'), minLength: 1, maxLength: 12 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
  );

  test('identity text is one literal segment, and as a pattern matches only itself', () => {
    fc.assert(
      fc.property(identity, identity, (mine, other) => {
        const resource = literalResource('self', mine);
        assert.equal(resource.split('/').length, 2);
        assert.ok(isResource(resource) && !resource.includes('*'));
        const pattern = compileResourcePattern(resource);
        assert.ok(pattern.matches(resource));
        assert.equal(pattern.matches(literalResource('self', other)), mine === other);
        assert.equal(pattern.matches(`self/${other}`), `self/${other}` === resource);
      }),
      RUNS,
    );
  });
});

test('compiling arbitrary text throws nothing but PatternError', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('*', '/', '.', ':', 'a', '%', '2', 'A', '\n', '\ud800'), maxLength: 20 }),
  );
  fc.assert(
    fc.property(text, (input) => {
      for (const compile of [compileActionPattern, compileResourcePattern, compileVaultNamePattern, literalResource]) {
        try {
          compile(input);
        } catch (error) {
          assert.ok(error instanceof PatternError);
          assert.ok(input.length < 4 || !error.message.includes(input));
        }
      }
    }),
    { numRuns: 5_000 },
  );
});
