import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { headerPart, hostProblem } from './headers.ts';

const problem = (host: string | undefined, httpVersion = '1.1') =>
  hostProblem({ headers: { host }, httpVersion } as IncomingMessage);

test('one host is accepted, with or without a port', () => {
  for (const host of ['localhost', 'coffer.example.com:7400', '127.0.0.1:80', '[::1]:7400', 'a_b', '']) {
    assert.equal(problem(host), null, host);
  }
});

test('none, two and what is no host are refused', () => {
  for (const host of [undefined, 'a, b', 'a,a', ', ', 'a b', 'a/b', 'user@a', 'a?b', 'a#b', 'é', 'a\\b']) {
    assert.notEqual(problem(host), null, String(host));
  }
});

test('HTTP/1.0 knows no Host header, but two of them are refused there too', () => {
  assert.equal(problem(undefined, '1.0'), null);
  assert.notEqual(problem('a, b', '1.0'), null);
});

test('around a part of a header only spaces and tabs are no part of it', () => {
  for (const around of ['', ' ', '\t', ' \t ', ' '.repeat(16_000)]) {
    assert.equal(headerPart(`${around}a b${around}`), 'a b');
  }
  assert.equal(headerPart(' \t '), '');
  for (const character of ['\u00a0', '\u0085', '\v', '\f', '\r', '\n', '\ufeff', '\u2028', '\u3000']) {
    assert.equal(headerPart(`${character}a${character}`), `${character}a${character}`);
    assert.equal(headerPart(` ${character} a`), `${character} a`);
  }
});
