import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { linesOf } from '../../cli/src/verify/lines.ts';
import { GENESIS_HASH } from '../../cli/src/verify/log.ts';
import { inOneLine, quoted } from '../../cli/src/verify/quoted.ts';

/** What the content of an exported log must not do to the person who verifies it. */

const PROGRAM = join(import.meta.dirname, '../../cli/src/verify/main.ts');
const KEY = `rsa-pss-3072-${'0'.repeat(40)}`;
const folder = mkdtempSync(join(tmpdir(), 'coffer-verify-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  code: number;
  out: string;
}

function verify(files: Readonly<Record<string, string | Buffer>>, ...options: string[]): Promise<Outcome> {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...options], { cwd: folder, env: {} }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
  });
}

/** A log whose chain is intact, with these names in its entries. Anybody can make one. */
function logWith(names: readonly string[], tenantId = 'tenant_1', changed: Record<string, unknown> = {}): string {
  let last = GENESIS_HASH;
  const entries = names.map((name, i) => {
    const entry = [
      'audit_1',
      1,
      'user',
      'user_1',
      name,
      '',
      'tokens:create',
      name,
      '',
      'allow',
      201,
      '',
      '',
      '',
      '',
      '',
    ];
    last = hash('sha256', `${last}\n${tenantId}\n${i + 1}\n${JSON.stringify(entry)}`, 'hex');
    return { seq: i + 1, hash: last, entry };
  });
  const header = {
    format: 'coffer-audit-export',
    version: 1,
    tenant_id: tenantId,
    first_seq: 1,
    previous_hash: GENESIS_HASH,
    last_seq: entries.length,
    last_hash: last,
    ...changed,
  };
  return [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const SEPARATORS = [
  '\u2028',
  '\u2029',
  '\u0085',
  '\r',
  '\r\n',
  '\n',
  '\v',
  '\f',
  '\u001c',
  '\u001d',
  '\u001e',
  '\ufeff',
];
/** What an attacker wants a terminal to show. */
const FAKES = [
  '\u001b[2J\u001b[HOK',
  '\u001b]0;OK\u0007',
  'x\nOK',
  'x\r\nOK',
  'x\u2028OK',
  'x\u2029OK',
  'x\u0085OK',
  'x\rOK            ',
  '\u009b1A\u009b2KOK',
  '\u202eKO TON',
  `x${' '.repeat(400)}OK`,
  `x\u00a0${'\u3000'.repeat(200)}OK`,
  `${'\b'.repeat(80)}OK`,
  '\u200fOK\u2066',
  '\u{e0001}OK',
];

/** Enough of them for the program as a whole. */
const SOME = FAKES.filter((_, i) => i % 5 === 0 || i === 2);

/** Ends without a verdict but this one, and has nothing that a terminal obeys. */
function assertPlain({ out }: Outcome, verdict: RegExp): void {
  assert.doesNotMatch(out, /[^\n -~…]/, JSON.stringify(out));
  const lines = out.trimEnd().split('\n');
  assert.match(lines.at(-1) ?? '', verdict);
  assert.ok(
    lines.every((line) => line !== 'OK' && line.length < 2000),
    out,
  );
}

describe('a name in the log', () => {
  test('cannot break its entry in two, so that an intact log is called damaged', async () => {
    const names = SEPARATORS.flatMap((separator) => [`ci${separator}x`, separator, `${separator}${separator}`]);
    const { code, out } = await verify({ log: logWith(names) }, '--log', 'log', '--chain-only');
    assert.match(out, /^Log of tenant_1: 36 entries, 1 to 36\.\nThe chain is intact, but NOT VERIFIED/, out);
    assert.equal(code, 2);
  });

  test('is read the same in pieces of any size, and only LF ends a line', async () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...SEPARATORS, 'é', '🔑', 'a'), fc.string()));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (parts, size) => {
        const bytes = Buffer.from(parts.join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        const expected = bytes.toString('utf8').split('\n');
        if (expected.at(-1) === '') expected.pop();
        assert.deepEqual(await Array.fromAsync(linesOf(Readable.from(chunks))), expected);
      }),
    );
  });

  test('cannot fill the memory with a line that does not end', async () => {
    async function* endless() {
      for (;;) yield Buffer.alloc(1024, 'x');
    }
    await assert.rejects(Array.fromAsync(linesOf(endless(), 10_000)), /a line of more than 10000 bytes/);
  });
});

describe('a forged log cannot print a verdict of its own', () => {
  test('by any text', () => {
    for (const fake of FAKES) {
      assert.match(quoted(fake), /^"[ -~]{0,400}"…?$/);
      assert.doesNotMatch(quoted(fake), / {65}/);
      assert.doesNotMatch(inOneLine(fake), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
    for (const id of [KEY, 'tenant_01JCXYZ', '2026-11-18T10:00:00.000Z', GENESIS_HASH]) assert.equal(quoted(id), id);
  });

  test('by its tenant', async () => {
    for (const fake of SOME) {
      const outcome = await verify({ log: logWith(['a'], fake) }, '--log', 'log', '--chain-only');
      assertPlain(outcome, /^The chain is intact, but NOT VERIFIED/);
      const other = await verify({ log: logWith(['a'], fake) }, '--log', 'log', '--chain-only', '--tenant', 'tenant_2');
      assertPlain(other, /^NOT OK$/);
    }
  });

  test('by its checkpoints, keys and anything else that is not what it should be', async () => {
    for (const fake of SOME) {
      const checkpoint = {
        id: 1,
        tenant_id: fake,
        seq: 1,
        hash: fake,
        signed_at: '2026-01-01',
        key_id: fake,
        signature: fake,
      };
      const keys = [{ key_id: fake, public_key: fake, endorsed_by: fake, endorsement: fake }];
      const page = JSON.stringify({ checkpoints: [checkpoint], keys });
      const given = ['--log', 'log', '--checkpoints', 'page', '--key', KEY];
      for (const tenant of ['tenant_1', fake])
        assertPlain(await verify({ log: logWith(['a'], tenant), page }, ...given), /^NOT OK$/);
      const broken = await verify({ log: logWith(['a']), page: fake }, ...given);
      assert.equal(broken.code, 2);
      assertPlain(broken, /^coffer-verify: page cannot be read: /);
    }
  });

  test('by the header of an archive', async () => {
    const page = JSON.stringify({ checkpoints: [], keys: [] });
    for (const fake of SOME) {
      const texts = ['tenant_id', 'previous_hash', 'last_hash', 'from', 'to', 'body_sha256', 'signed_at', 'key_id'];
      const header = {
        format: 'coffer-audit-archive',
        version: 1,
        first_seq: 1,
        last_seq: 1,
        entries: 1,
        signature: fake,
        ...Object.fromEntries(texts.map((name) => [name, fake])),
      };
      const archives = ['--archive', 'one', '--archive', 'two', '--checkpoints', 'page', '--key', KEY];
      const one = `${JSON.stringify(header)}\nx`;
      const two = `${JSON.stringify({ ...header, first_seq: 9, last_seq: 9 })}\nx`;
      const checkpoint = {
        id: 1,
        tenant_id: fake,
        seq: 1,
        hash: 'x',
        signed_at: '2026-01-01',
        key_id: fake,
        signature: '',
      };
      const withOne = JSON.stringify({ checkpoints: [checkpoint], keys: [] });
      assertPlain(await verify({ one, two, page: withOne }, ...archives), /^NOT OK$/);
      const broken = await verify({ one: `${fake}\n`, page: withOne }, ...archives);
      assert.equal(broken.code, 2);
      assertPlain(broken, /^coffer-verify: one cannot be read: /);
    }
    assert.equal((await verify({ page }, '--archive', 'one', '--checkpoints', 'page', '--key', KEY)).code, 2);
  });

  test('by the record of a purge', async () => {
    for (const from_seq of [' 1\n\u001b[2JOK', ['\n1\n'], { a: '\u001b' }]) {
      const details = JSON.stringify({ from_seq, entries: 9, digest: '\u001b[2JOK' });
      const entry = ['audit_9', 1, 'system', 'o', '', '', 'audit:purge', '', '', 'allow', 200, '', '', '', '', details];
      const purged = { seq: 5, hash: 'x', purged_by: 'audit_9' };
      const linkHash = hash('sha256', `x\ntenant_1\n6\n${JSON.stringify(entry)}`, 'hex');
      const header = { first_seq: 5, previous_hash: 'x', last_seq: 6, last_hash: linkHash };
      const [first] = logWith([], 'tenant_1', header).split('\n');
      const log = [first, JSON.stringify(purged), JSON.stringify({ seq: 6, hash: linkHash, entry })].join('\n');
      const outcome = await verify({ log }, '--log', 'log', '--chain-only', '--from-seq', '5');
      assertPlain(outcome, /^NOT OK$/);
    }
  });
});
