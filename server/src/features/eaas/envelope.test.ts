import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { gcm } from '@noble/ciphers/aes.js';
import fc from 'fast-check';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { open, parseEnvelope, seal } from './envelope.ts';

const bytes = randomBytes(32);
const key = createSecretKey(bytes);
const other = createSecretKey(randomBytes(32));
const text = fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed());
const aads = fc.option(text, { nil: undefined });

function opened(envelope: string, aad?: string, with_ = key): string {
  const parsed = parseEnvelope(envelope);
  if (parsed === null) throw new CofferError('DECRYPT_FAILED', '');
  return open(with_, parsed, aad);
}

const refused = (envelope: string, aad?: string, with_ = key) =>
  assert.throws(
    () => opened(envelope, aad, with_),
    (error) => error instanceof CofferError && error.code === 'DECRYPT_FAILED',
  );

describe('an envelope', () => {
  test('gives back what was sealed, with the same data and no other', () => {
    fc.assert(
      fc.property(text, aads, aads, (plaintext, aad, wrong) => {
        const envelope = seal(key, { keyName: 'orders', version: 3 }, plaintext, aad);
        assert.equal(opened(envelope, aad), plaintext);
        if (wrong !== aad) refused(envelope, wrong);
        refused(envelope, aad, other);
      }),
    );
  });

  test('an empty aad is not the same as none', () => {
    refused(seal(key, { keyName: 'orders', version: 1 }, 'x', ''), undefined);
    refused(seal(key, { keyName: 'orders', version: 1 }, 'x', undefined), '');
  });

  test('has the form of the interface', () => {
    const [prefix, v1, name, version, iv, ciphertext, tag, ...more] = seal(
      key,
      { keyName: 'a.b-c_d', version: 12 },
      'hello',
      undefined,
    ).split(':');
    assert.deepEqual([prefix, v1, name, version, more.length], ['eaas', 'v1', 'a.b-c_d', '12', 0]);
    assert.equal(Buffer.from(iv ?? '', 'base64').length, 12);
    assert.equal(Buffer.from(ciphertext ?? '', 'base64').length, 5);
    assert.equal(Buffer.from(tag ?? '', 'base64').length, 16);
  });

  test('is plain AES-256-GCM to others: node’s own cipher and a second implementation open and make them', () => {
    fc.assert(
      fc.property(text, aads, (plaintext, aad) => {
        const parsed = parseEnvelope(seal(key, { keyName: 'orders', version: 1 }, plaintext, aad));
        assert.ok(parsed);
        const bound = Buffer.from(aad === undefined ? 'eaas:v1:orders:1' : `eaas:v1:orders:1\n${aad}`);
        const theirs = gcm(bytes, parsed.iv, bound).decrypt(Buffer.concat([parsed.ciphertext, parsed.tag]));
        assert.equal(Buffer.from(theirs).toString('utf8'), plaintext);
        const decipher = createDecipheriv('aes-256-gcm', bytes, parsed.iv).setAAD(bound).setAuthTag(parsed.tag);
        assert.equal(Buffer.concat([decipher.update(parsed.ciphertext), decipher.final()]).toString('utf8'), plaintext);
        const iv = randomBytes(12);
        const cipher = createCipheriv('aes-256-gcm', bytes, iv).setAAD(bound);
        const ct = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
        const made = ['eaas:v1:orders:1', ...[iv, ct, cipher.getAuthTag()].map((part) => part.toString('base64'))].join(
          ':',
        );
        assert.equal(opened(made, aad), plaintext);
      }),
      { numRuns: 30 },
    );
  });

  test('changed in any character, cut or lengthened anywhere, opens nothing', () => {
    const envelope = seal(key, { keyName: 'orders', version: 1 }, 'some text to change', 'data');
    for (let at = 0; at < envelope.length; at++) {
      for (const replacement of ['A', 'b', '0', '=', ':', '+', ' ', '']) {
        const changed = envelope.slice(0, at) + replacement + envelope.slice(at + 1);
        if (changed !== envelope) refused(changed, 'data');
      }
      refused(`${envelope.slice(0, at)}A${envelope.slice(at)}`, 'data');
      refused(envelope.slice(0, at), 'data');
    }
  });

  test('has one spelling: spare bits, missing padding, the URL alphabet and spaces are refused', () => {
    const envelope = seal(key, { keyName: 'orders', version: 1 }, 'a', undefined);
    assert.match(envelope, /==:[^:]+$/);
    for (const other of [
      envelope.replace(/([A-Za-z0-9+/])==:/, (_, c: string) => `${next(c)}==:`),
      envelope.replace(/==:/, ':'),
      envelope.replace(/==:/, '=:'),
      envelope.replaceAll('+', '-').replaceAll('/', '_').concat(' '),
      ` ${envelope}`,
      `${envelope}\n`,
      envelope.replace('eaas', 'EAAS'),
      envelope.replace(':1:', ':01:'),
      envelope.replace(':1:', ':+1:'),
      envelope.replace(':1:', ':1.0:'),
      envelope.replace('v1', 'v2'),
    ]) {
      refused(other);
    }
  });

  test('any text that is none is refused, and never takes long', () => {
    fc.assert(fc.property(fc.string({ maxLength: 500 }), (any) => void assert.equal(parseEnvelope(any), null)));
    const ms = processorMs(() => assert.equal(parseEnvelope(`eaas:v1:k:1:${'A'.repeat(1_400_000)}`), null));
    assert.ok(ms < 500, `${ms}`);
  });

  test('the IV is the service’s own, and never repeats', () => {
    const ivs = new Set(
      Array.from({ length: 5000 }, () => seal(key, { keyName: 'orders', version: 1 }, 'x', undefined).split(':')[4]),
    );
    assert.equal(ivs.size, 5000);
  });
});

/** The next character of the alphabet. For the last character before padding this changes only unused bits. */
function next(character: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return alphabet[(alphabet.indexOf(character) + 1) % 64] ?? 'A';
}
