import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ed25519Line, newFolder } from '../../../test/support/host-root.ts';
import { parseAuthorizedKeys } from './authorized-keys.ts';
import { fingerprintOf } from './key-blob.ts';

const NOW = new Date('2026-11-16T12:00:00Z');
const parse = (text: string | Buffer) => parseAuthorizedKeys(Buffer.from(text as string), NOW, 1000);
const KEY = ed25519Line(1);
const [KEY_TYPE = '', KEY_BLOB = ''] = KEY.split(' ');

const hasOracle = spawnSync('ssh-keygen', ['-?']).error === undefined;
const NO_ORACLE = 'ssh-keygen is not installed';

/** One key of each kind that can be made without a device. */
function makeKeys(): string[] {
  const folder = newFolder();
  const kinds = [['ed25519'], ['rsa', '2048'], ['ecdsa', '256'], ['ecdsa', '384'], ['ecdsa', '521']];
  return kinds.map(([type = '', bits]) => {
    const file = join(folder, `${type}-${bits ?? ''}`);
    execFileSync('ssh-keygen', ['-q', '-t', type, ...(bits ? ['-b', bits] : []), '-N', '', '-C', 'made', '-f', file]);
    return readFileSync(`${file}.pub`, 'utf8').trim();
  });
}

const oracleFile = join(newFolder(), 'keys');
/** The fingerprints that OpenSSH finds in the lines of a file. */
function oracleFingerprints(content: string): string[] {
  writeFileSync(oracleFile, content);
  const { stdout } = spawnSync('ssh-keygen', ['-lf', oracleFile], { encoding: 'utf8' });
  return [...stdout.matchAll(/^\d+ (SHA256:\S+)/gm)].map(([, fingerprint]) => String(fingerprint));
}

describe('authorized_keys', () => {
  test('a key, a comment, blank lines and comments', () => {
    const { keys, refusedLines } = parse(`\n# ${KEY}\n \t\n\t ${KEY} anna@laptop two words \n`);
    assert.equal(refusedLines, 0);
    assert.deepEqual(
      keys.map(({ type, comment, flags }) => ({ type, comment, flags })),
      [{ type: 'ssh-ed25519', comment: 'anna@laptop two words', flags: [] }],
    );
    assert.match(keys[0]?.fingerprint ?? '', /^SHA256:[A-Za-z0-9+/]{43}$/);
  });

  test('line ends of Windows, and a last line without an end', () => {
    assert.deepEqual(
      parse(`${KEY}\r\n${ed25519Line(2, 'bob')}\r\n${ed25519Line(3)}`).keys.map(({ comment }) => comment),
      ['', 'bob', ''],
    );
  });

  test('options: quotes hold blanks and commas together, and escapes do not close them', () => {
    const { keys } = parse(`command="echo \\"a, b\\" # c",no-pty,from="10.0.0.0/8" ${KEY} x\n`);
    assert.deepEqual(keys[0]?.flags, ['forced_command', 'from']);
    assert.equal(keys[0]?.comment, 'x');
  });

  test('options: between commas there may be nothing', () => {
    for (const options of ['no-pty,', ',', ',,restrict', 'no-pty,,restrict']) {
      assert.equal(parse(`${options} ${KEY}`).keys.length, 1, options);
    }
  });

  const refused: Record<string, string> = {
    'an option that nobody knows': `no-such-option ${KEY}`,
    'a quote that is not closed': `command="ls ${KEY}`,
    'a value without quotes': `command=ls ${KEY}`,
    'the same command twice': `command="a",command="b" ${KEY}`,
    'an invalid time': `expiry-time="20261399" ${KEY}`,
    'a variable without a name': `environment="=c" ${KEY}`,
    'a variable with a blank in its name': `environment="a b=c" ${KEY}`,
    'a host without a port': `permitopen="a" ${KEY}`,
    'an invalid port': `permitlisten="0" ${KEY}`,
    'an invalid tunnel': `tunnel="x" ${KEY}`,
    'a key cut short': KEY.slice(0, -8),
    'a key with more after it': `${KEY_TYPE} ${Buffer.concat([Buffer.from(KEY_BLOB, 'base64'), Buffer.from('xxx')]).toString('base64')}`,
    'another type than the key has': KEY.replace('ssh-ed25519', 'ssh-rsa'),
    'no padding': KEY.replace(/=+$/, '').slice(0, -1),
    'a certificate': `ssh-ed25519-cert-v01@openssh.com ${KEY_BLOB}`,
    'a private key': '-----BEGIN OPENSSH PRIVATE KEY-----',
    'a key after a zero byte': `no-pty\0 ${KEY}`,
  };
  for (const [name, line] of Object.entries(refused)) {
    test(`refused as sshd would: ${name}`, () => {
      const { keys, refusedLines } = parse(`${line}\n${ed25519Line(9)}\n`);
      assert.equal(refusedLines, 1);
      assert.equal(keys.length, 1, 'the line after it counts');
    });
  }

  test('a certificate authority and a key past its time are flagged', () => {
    const flagsOf = (options: string) => parse(`${options} ${KEY}`).keys[0]?.flags;
    assert.deepEqual(flagsOf('cert-authority,principals="a"'), ['cert_authority', 'principals']);
    assert.deepEqual(flagsOf('CERT-AUTHORITY'), ['cert_authority']);
    assert.deepEqual(flagsOf('expiry-time="20261116115959Z"'), ['expired']);
    assert.deepEqual(flagsOf('expiry-time="202611161200Z"'), ['expired']);
    assert.deepEqual(flagsOf('expiry-time="20261116120001Z"'), []);
    assert.deepEqual(flagsOf('expiry-time="20250101"'), ['expired']);
    assert.deepEqual(flagsOf('restrict'), ['restrict']);
  });

  test('no more keys are returned than the limit, and the result says so', () => {
    const lines = Array.from({ length: 5 }, (_, i) => ed25519Line(i)).join('\n');
    assert.deepEqual(
      [4, 5, 6].map((max) => {
        const { keys, isCut } = parseAuthorizedKeys(Buffer.from(lines), NOW, max);
        return [keys.length, isCut];
      }),
      [
        [4, true],
        [5, false],
        [5, false],
      ],
    );
  });

  test('arbitrary bytes: parsing ends, and whatever it finds is a key', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc.constantFrom('\n', '\r', '\0', '"', '\\', ' ', '\t', ',', '#', 'command="', KEY, KEY_TYPE, KEY_BLOB),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        for (const key of parse(Buffer.from(pieces.join(''), 'latin1')).keys) {
          assert.match(key.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
          assert.equal(key.type, 'ssh-ed25519');
        }
      }),
    );
  });

  test('a line of several MiB takes no more than its length', () => {
    const started = performance.now();
    parse(`command="${'\\"a '.repeat(1024 * 1024)}" ${KEY}`);
    parse(`${'no-pty,'.repeat(512 * 1024)} ${KEY}`);
    assert.ok(performance.now() - started < 20_000);
  });

  test('fingerprints are those of ssh-keygen, for each kind of key', (t) => {
    if (!hasOracle) return t.skip(NO_ORACLE);
    const content = makeKeys().join('\n');
    const { keys } = parse(content);
    assert.equal(keys.length, 5);
    assert.deepEqual(
      keys.map(({ fingerprint }) => fingerprint),
      oracleFingerprints(content),
    );
  });

  test('a modulus with more leading zeros than it needs is the same key, up to the length that OpenSSH reads', () => {
    const { n = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
    // 256 bytes, the first of which is 128 or more, so that it needs one zero.
    const modulus = Buffer.from(n, 'base64url');
    const field = (bytes: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return Buffer.concat([length, bytes]);
    };
    const blobOf = (number: Buffer) => Buffer.concat([Buffer.from('ssh-rsa'), Buffer.of(1, 0, 1), number].map(field));
    const padded = [1, 2, 100, 2049 - 256, 2050 - 256].map((zeros) => Buffer.concat([Buffer.alloc(zeros), modulus]));
    const smaller = Buffer.concat([Buffer.of(7), modulus.subarray(1)]);
    const numbers = [...padded, smaller, Buffer.concat([Buffer.of(0), smaller])];
    const content = numbers.map((number) => `ssh-rsa ${blobOf(number).toString('base64')}\n`).join('');
    const [usual, other] = [Buffer.concat([Buffer.of(0), modulus]), smaller].map((one) => fingerprintOf(blobOf(one)));
    const found = parse(content).keys.map(({ fingerprint }) => fingerprint);
    assert.deepEqual(found, [usual, usual, usual, usual, other, other]);
    if (hasOracle) assert.deepEqual(oracleFingerprints(content), found);
  });

  test('lines are accepted and refused as by OpenSSH', (t) => {
    if (!hasOracle) return t.skip(NO_ORACLE);
    const keys = [...makeKeys(), ed25519Line(5)].map((line) => line.split(' ') as [string, string]);
    const blank = fc.stringMatching(/^[ \t]{1,3}$/);
    const options = fc.constantFrom('', 'no-pty', 'command="a b \\" c"', 'from="*",restrict', 'cert-authority');
    const comment = fc.constantFrom('', 'anna', 'a b', '#x', '"q', 'ü', '=');
    const names = fc.constantFrom(...keys.map(([name]) => name), 'rsa-sha2-256', 'rsa-sha2-512', 'SSH-RSA', 'ssh-foo');
    const damage = fc.oneof(
      { weight: 4, arbitrary: fc.constant(null) },
      { weight: 3, arbitrary: fc.tuple(fc.nat(400), fc.constantFrom('', 'A', '=', '-', '\r', 'z', '\v')) },
    );
    const line = fc
      .tuple(fc.constantFrom(...keys), fc.option(names, { freq: 4 }), options, blank, comment, damage, blank)
      .map(([[name, blob], otherName, before, gap, after, harm, lead]) => {
        const at = harm === null ? 0 : harm[0] % blob.length;
        const bytes = harm === null ? blob : `${blob.slice(0, at)}${harm[1]}${blob.slice(at + 1)}`;
        // After options ssh-keygen takes one blank, and sshd any number.
        const start = before === '' ? '' : `${before} `;
        return `${lead}${start}${otherName ?? name}${gap}${bytes}${after === '' ? '' : gap}${after}`;
      });
    fc.assert(
      fc.property(fc.array(line, { minLength: 10, maxLength: 40 }), fc.constantFrom('\n', '\r\n'), (lines, end) => {
        const content = lines.map((one) => `${one}${end}`).join('');
        assert.deepEqual(
          parse(content).keys.map(({ fingerprint }) => fingerprint),
          oracleFingerprints(content),
        );
      }),
      { numRuns: 25 },
    );
  });
});
