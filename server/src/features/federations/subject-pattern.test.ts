import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { matchesSubject, ownerEndsWithColon, ownerEndsWithSlash, patternProblem } from './subject-pattern.ts';

describe('matching', () => {
  const cases: [string, string[], string[]][] = [
    [
      'repo:acme/app:ref:refs/heads/main',
      ['repo:acme/app:ref:refs/heads/main'],
      [
        'repo:acme/app:ref:refs/heads/main2',
        'xrepo:acme/app:ref:refs/heads/main',
        'repo:ACME/app:ref:refs/heads/main',
        '',
      ],
    ],
    [
      'repo:acme/*:ref:refs/heads/main',
      ['repo:acme/app:ref:refs/heads/main', 'repo:acme/:ref:refs/heads/main', 'repo:acme/a.b-c@7:ref:refs/heads/main'],
      [
        'repo:acme/app/x:ref:refs/heads/main',
        'repo:acme/app:pull_request:ref:refs/heads/main',
        'repo:acme-evil/app:ref:refs/heads/main',
        'repo:acme/app:ref:refs/heads/main/x',
      ],
    ],
    [
      'repo:acme/app:ref:refs/heads/**',
      [
        'repo:acme/app:ref:refs/heads/main',
        'repo:acme/app:ref:refs/heads/feature/a:b/c',
        'repo:acme/app:ref:refs/heads/',
      ],
      ['repo:acme/app:ref:refs/tags/v1', 'repo:acme/app2:ref:refs/heads/main'],
    ],
    ['repo:acme/a*p:x', ['repo:acme/ap:x', 'repo:acme/app:x'], ['repo:acme/a:p:x', 'repo:acme/a/p:x']],
    ['repo:acme@1/app@2:*', ['repo:acme@1/app@2:pull_request'], ['repo:acme@11/app@2:x', 'repo:acme/app:x']],
  ];
  for (const [pattern, good, bad] of cases) {
    test(pattern, () => {
      for (const subject of good) assert.ok(matchesSubject(pattern, subject), subject);
      for (const subject of bad) assert.ok(!matchesSubject(pattern, subject), subject);
    });
  }

  test('neither pattern nor subject is anything but text and stars', () => {
    for (const pattern of [
      'a|b',
      '(a)',
      'a.c',
      '[abc]',
      'a+',
      'a?',
      '^a$',
      '\\d',
      'a{2}',
      '\\Qa\\E',
      '(?i)a',
      '$',
      '.**x',
    ]) {
      assert.ok(matchesSubject(pattern, pattern.replace('**', '')), pattern);
      for (const subject of ['a', 'b', 'abc', 'aa', '1', 'A']) assert.ok(!matchesSubject(pattern, subject), pattern);
    }
    for (const subject of ['*', '**', 'repo:*', 'repo:acme/*:x', 'repo:acme/.*:x|']) {
      assert.ok(!matchesSubject('repo:acme/app:x', subject), subject);
    }
  });

  test('without stars it is equality, and one star never crosses', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (pattern, subject) => {
        const plain = pattern.replaceAll('*', '');
        return matchesSubject(plain, subject) === (plain === subject) && matchesSubject(plain, plain);
      }),
    );
    const word = fc.stringMatching(/^[a-z:/|.]{0,8}$/);
    fc.assert(
      fc.property(word, word, word, (a, b, c) => matchesSubject(`${a}*${c}`, a + b + c) || /[:/]/.test(b) || b === ''),
    );
    fc.assert(fc.property(word, word, word, (a, b, c) => matchesSubject(`${a}**${c}`, a + b + c)));
    fc.assert(fc.property(word, (b) => matchesSubject('x*y', `x${b}y`) === !/[:/]/.test(b)));
  });

  test('many stars take no time', () => {
    const ms = processorMs(() => {
      matchesSubject('a*a*a*a*a*a*a*a*b', 'a'.repeat(1000));
      matchesSubject('**a**a**a**a**a**a**a**b', 'a'.repeat(1000));
    });
    assert.ok(ms < 2000, `${ms}`);
  });
});

describe('patterns that are not accepted', () => {
  const slash = (pattern: string, pinned: string[] = []) => patternProblem(pattern, pinned, ownerEndsWithSlash);

  test('bare wildcards', () => {
    for (const pattern of ['*', '**', '*:*', '**/**', '*/*:*', ':', '/', '*:', '***']) {
      assert.notEqual(slash(pattern), null, pattern);
      assert.notEqual(slash(pattern, ['repository_id']), null, pattern);
    }
  });

  test('a wildcard in the part of the owner, unless an id is pinned', () => {
    for (const pattern of [
      'repo:*',
      'repo:**',
      'repo:acme*',
      'repo:acme*/app:ref:refs/heads/main',
      'repo:*/app:x',
      'repo:acme@*/app@*:x',
      '*:acme/app',
      'r*:acme/app',
      'project_path:acme*/app:ref_type:branch:ref:main',
      'project:*',
      'project:acme*:build_type:x',
      'https://*/job/x',
      'https://jenkins*/job/x',
      'build-*',
      '**main',
      'repo:acme:*/app',
    ]) {
      assert.match(slash(pattern) ?? '', /part that names the owner/, pattern);
      assert.match(slash(pattern, ['ref', 'repository']) ?? '', /part that names the owner/, pattern);
      assert.equal(slash(pattern, ['repository_id']), null, pattern);
      assert.equal(slash(pattern, ['project_id']), null, pattern);
    }
  });

  test('elsewhere a wildcard is welcome', () => {
    for (const pattern of [
      'repo:acme/*:ref:refs/heads/main',
      'repo:acme/**',
      'repo:acme@7/app@8:*',
      'project_path:acme/app:ref_type:branch:ref:*',
      'project:shop:**',
      'https://jenkins.example/job/*/',
      'system:serviceaccount:*',
      'exact',
    ]) {
      assert.equal(slash(pattern), null, pattern);
    }
  });

  test('steps of a repository that is named by its id', () => {
    const colon = (pattern: string) => patternProblem(pattern, [], ownerEndsWithColon);
    assert.equal(colon('{7a}:*'), null);
    for (const pattern of ['{7*}:x', '*:{x}', '{7a}*', '{*'])
      assert.match(colon(pattern) ?? '', /names the owner/, pattern);
  });

  test('too many stars', () => {
    assert.match(slash('repo:acme/***') ?? '', /in a row/);
    assert.match(slash(`repo:acme/${'a*'.repeat(9)}`) ?? '', /more than 8/);
  });
});
