import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  cbor,
  ES384,
  keysOn,
  type NitroFacts,
  nitroDocument,
  PCRS,
} from '../../../../test/support/attestation-documents.ts';
import { testAuthority } from '../../../../test/support/test-authority.ts';
import { nitroVectors } from '../../../../test/support/vectors.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { KeyUsageFlags } from '../certificates/x509.ts';
import { type Assessment, assess, type Expectations } from './assessment.ts';
import { MalformedDocument } from './format.ts';
import { nitroFormat } from './nitro.ts';
import { readCoseSign1, readNitroDocument } from './nitro-document.ts';

const NOW = Date.UTC(2026, 5, 1);
const NOTHING: Expectations = { nonce: null, userData: null, measurements: {}, claims: {} };

async function assessed(facts: NitroFacts = {}, expected: Partial<Expectations> = {}, now = NOW): Promise<Assessment> {
  const { document, rootFingerprint } = await nitroDocument({ now: NOW, ...facts });
  return assess(nitroFormat(rootFingerprint).read(document), { ...NOTHING, ...expected }, now);
}

const codesOf = ({ findings }: Assessment) => findings.filter(({ isFatal }) => isFatal).map(({ code }) => code);

/** Refused for this reason, and as unsigned where `isSigned` is not said. */
async function refusedFor(code: string, facts: NitroFacts, options: { isSigned?: boolean; now?: number } = {}) {
  const assessment = await assessed(facts, {}, options.now);
  assert.equal(assessment.isVerified, false, code);
  assert.equal(assessment.isSignatureValid, options.isSigned ?? false, code);
  assert.ok(codesOf(assessment).includes(code), `${code} is not among ${codesOf(assessment)}`);
}

describe('Nitro documents under a root of our own', () => {
  test('one that is as it should be is verified', async () => {
    const assessment = await assessed();
    assert.deepEqual(codesOf(assessment), []);
    assert.equal(assessment.isSignatureValid, true);
    assert.equal(assessment.isVerified, true);
  });

  test('the tag of COSE_Sign1 may stand before it', async () => {
    const { document, rootFingerprint } = await nitroDocument({ now: NOW });
    const tagged = Buffer.concat([Buffer.from([0xd2]), document]);
    assert.equal((await assess(nitroFormat(rootFingerprint).read(tagged), NOTHING, NOW)).isVerified, true);
    for (const tag of [[0xd1], [0xd8, 0x12], [0xd2, 0xd2], [0xd8, 0x62]]) {
      const wrong = Buffer.concat([Buffer.from(tag), document]);
      assert.throws(() => nitroFormat(rootFingerprint).read(wrong), MalformedDocument);
    }
  });

  test('what is expected must be there', async () => {
    const carried = {
      nonce: Buffer.from('a nonce'),
      user_data: Buffer.from('some data'),
      public_key: Buffer.from('k'),
    };
    const facts = { payload: carried };
    const pcr3 = Buffer.from(PCRS.get(3) ?? []).toString('hex');
    const claims = { module_id: 'i-0123456789abcdef0-enc0123456789abcdef', digest: 'SHA384' };
    const good = { nonce: carried.nonce, userData: carried.user_data, measurements: { pcr3 }, claims };
    assert.equal((await assessed(facts, good)).isVerified, true);
    const wrong: [string, Partial<Expectations>][] = [
      ['nonce_mismatch', { nonce: Buffer.from('a noncf') }],
      ['nonce_mismatch', { nonce: Buffer.from('a nonc') }],
      ['user_data_mismatch', { userData: Buffer.from('some dat') }],
      ['measurement_mismatch', { measurements: { pcr2: pcr3 } }],
      ['measurement_mismatch', { measurements: { pcr3, pcr31: pcr3 } }],
      ['measurement_mismatch', { measurements: { constructor: pcr3 } }],
      ['claim_mismatch', { claims: { module_id: 'another' } }],
      ['claim_mismatch', { claims: { toString: 'x' } }],
      ['claim_mismatch', { claims: { user_data: null } }],
    ];
    for (const [code, expected] of wrong) {
      const assessment = await assessed(facts, { ...good, ...expected });
      assert.deepEqual([assessment.isVerified, codesOf(assessment)], [false, [code]]);
      assert.equal(assessment.isSignatureValid, true);
    }
    assert.deepEqual(codesOf(await assessed({}, { nonce: carried.nonce })), ['nonce_mismatch'], 'one without a nonce');
  });

  test('debug mode is never verified', async () => {
    const zeros = new Map([0, 1, 2].map((n) => [n, Buffer.alloc(48)]));
    const open = { payload: { pcrs: new Map([...PCRS, ...zeros]) } };
    await refusedFor('debug_mode', open, { isSigned: true });
    await refusedFor('debug_mode', { payload: { pcrs: new Map([[4, Buffer.alloc(48, 1)]]) } }, { isSigned: true });
    assert.equal((await assessed({ payload: { pcrs: new Map([...PCRS, [1, Buffer.alloc(48)]]) } })).isVerified, true);
  });

  test('the chain must lead to the pinned root', async () => {
    const { document } = await nitroDocument({ now: NOW });
    for (const root of [undefined, 'a'.repeat(64), '']) {
      const assessment = await assess(nitroFormat(root).read(document), NOTHING, NOW);
      assert.deepEqual([assessment.isVerified, assessment.isSignatureValid], [false, false]);
      assert.deepEqual(codesOf(assessment), ['untrusted_root', 'bad_signature']);
    }
  });

  test('the chain is by keys and signatures, in the order given, with nothing left out', async () => {
    await refusedFor('bad_chain', { bundle: ([root]) => [root as Uint8Array] });
    await refusedFor('untrusted_root', { bundle: ([root, between]) => [between as Uint8Array, root as Uint8Array] });
    await refusedFor('bad_chain', { bundle: ([root, between], leaf) => [root, between, leaf] as Uint8Array[] });
    await refusedFor('bad_chain', { bundle: ([root, between]) => [root, root, between] as Uint8Array[] });
    await refusedFor('bad_chain', { bundle: ([root, between]) => [root, between, between] as Uint8Array[] });
    // The same names with other keys: what fields say is not what a key proves.
    const namesake = await testAuthority({ cn: 'root', keys: await keysOn('P-384') });
    const keyUsage = KeyUsageFlags.keyCertSign;
    const double = await namesake.issue({ cn: 'between', isCa: true, keyUsage, keys: await keysOn('P-384') });
    await refusedFor('untrusted_root', { bundle: ([, between]) => [namesake.der, between as Uint8Array] });
    await refusedFor('bad_chain', { bundle: ([root]) => [root as Uint8Array, double.der] });
    const flipped = ([root, between]: Uint8Array[]) => {
      const copy = Buffer.from(between as Uint8Array);
      copy[copy.length - 1] = (copy.at(-1) as number) ^ 1;
      return [root as Uint8Array, copy];
    };
    await refusedFor('bad_chain', { bundle: flipped });
    await refusedFor('bad_certificate', { bundle: ([root]) => [root as Uint8Array, Buffer.from('not one')] });
    await refusedFor('bad_certificate', {
      bundle: ([root, between]) => [root as Uint8Array, Buffer.concat([between as Uint8Array, Buffer.from([0])])],
    });
  });

  test('certificates must be allowed to do what they did', async () => {
    await refusedFor('bad_chain', { between: { isCa: false } });
    await refusedFor('bad_chain', { between: { keyUsage: KeyUsageFlags.digitalSignature } });
    await refusedFor('bad_chain', { between: { keyUsage: null } });
    await refusedFor('bad_chain', { root: { pathLength: 0 } });
    await refusedFor('bad_chain', { leaf: { isCa: true } });
    await refusedFor('bad_chain', { leaf: { keyUsage: KeyUsageFlags.keyEncipherment } });
    await refusedFor('bad_chain', { leaf: { keyUsage: null } });
    assert.equal((await assessed({ root: { pathLength: 1 }, between: { pathLength: 0 } })).isVerified, true);
  });

  test('keys must be on P-384, and hashes strong', async () => {
    for (const part of ['root', 'between', 'leaf'] as const) {
      await refusedFor('bad_chain', { [part]: { keys: await keysOn('P-256') } });
      await refusedFor('bad_chain', { [part]: { keys: await keysOn('P-521') } });
    }
    await refusedFor('bad_chain', { leaf: { hash: 'SHA-1' } });
  });

  test('every certificate must be valid at the moment', async () => {
    for (const part of ['root', 'between', 'leaf'] as const) {
      await refusedFor('certificate_expired', { [part]: { notBefore: NOW - DAY_MS, notAfter: NOW - HOUR_MS } });
      await refusedFor('certificate_not_yet_valid', { [part]: { notBefore: NOW + HOUR_MS, notAfter: NOW + DAY_MS } });
    }
    await refusedFor('certificate_expired', {}, { now: NOW + DAY_MS + 2000 });
    await refusedFor('made_in_future', { payload: { timestamp: BigInt(NOW + HOUR_MS) } }, { isSigned: true });
  });

  test('old evidence is told from forged evidence, and neither is verified', async () => {
    const told = async (facts: NitroFacts, now?: number) => {
      const { isVerified, isExpired, wasSignatureValid } = await assessed(facts, {}, now);
      return { isVerified, isExpired, wasSignatureValid };
    };
    const later = NOW + 365 * DAY_MS;
    assert.deepEqual(await told({}), { isVerified: true, isExpired: false, wasSignatureValid: true });
    assert.deepEqual(await told({}, later), { isVerified: false, isExpired: true, wasSignatureValid: true });
    const forged = { isVerified: false, isExpired: false, wasSignatureValid: false };
    assert.deepEqual(await told({ bundle: ([root]) => [root as Uint8Array] }, later), forged);
    const namesake = await testAuthority({ cn: 'root', keys: await keysOn('P-384') });
    assert.deepEqual(
      await told({ bundle: ([, between]) => [namesake.der, between as Uint8Array] }, later),
      forged,
      'by another root',
    );
    // Signed in the end by certificates that were not valid when it says it was made.
    const backdated = { payload: { timestamp: BigInt(NOW - 9 * 365 * DAY_MS) } };
    assert.deepEqual(await told(backdated, later), { isVerified: false, isExpired: true, wasSignatureValid: false });
  });

  test('the signature is ES384 over this payload, by what the protected header says and nothing else', async () => {
    await refusedFor('bad_signature', { swappedPayload: (p) => replaced(p, 'i-0123', 'i-9123') });
    await refusedFor('bad_signature', { hash: 'sha256' });
    await refusedFor('bad_signature', { hash: 'sha512' });
    await refusedFor('bad_signature', { signature: (s) => s.subarray(0, 95) });
    await refusedFor('bad_signature', { signature: (s) => Buffer.concat([s, Buffer.from([0])]) });
    await refusedFor('bad_signature', { signature: () => Buffer.alloc(96) });
    await refusedFor('bad_signature', { signature: () => Buffer.alloc(0) });
    await refusedFor('bad_signature', { signature: (s) => Buffer.concat([s.subarray(48), s.subarray(0, 48)]) });
    const header = (...entries: [number, unknown][]) => cbor(new Map(entries));
    const headers: Uint8Array[] = [
      header([1, -7]),
      header([1, -36]),
      header([1, 5]),
      header([1, 'ES384']),
      header(),
      Buffer.alloc(0),
      header([1, -35], [2, [99]], [99, 0]),
      header([1, -35], [33, Buffer.alloc(3)]),
    ];
    for (const protectedHeader of headers) await refusedFor('bad_algorithm', { protectedHeader });
  });

  test('what stands in the unprotected header changes nothing, and is refused', async () => {
    const tricks: [unknown, unknown][] = [
      [1, -35],
      [1, -7],
      [4, Buffer.from('kid')],
      [33, Buffer.alloc(9)],
      ['x', null],
    ];
    for (const header of tricks) {
      await refusedFor('unprotected_header', { unprotectedHeader: new Map([header]) });
      const moved = { protectedHeader: Buffer.alloc(0), unprotectedHeader: new Map([header]) };
      await refusedFor('bad_algorithm', moved);
    }
  });

  test('what is no document is not read', async () => {
    const { document, rootFingerprint } = await nitroDocument({ now: NOW });
    const format = nitroFormat(rootFingerprint);
    const payloads: Record<string, unknown>[] = [
      { module_id: undefined },
      { module_id: '' },
      { module_id: 'x'.repeat(257) },
      { digest: 'SHA256' },
      { timestamp: 0 },
      { timestamp: '1' },
      { timestamp: -1 },
      { timestamp: 2n ** 63n },
      { pcrs: new Map() },
      { pcrs: [] },
      { pcrs: new Map([[32, Buffer.alloc(48)]]) },
      { pcrs: new Map([[-1, Buffer.alloc(48)]]) },
      { pcrs: new Map([['0', Buffer.alloc(48)]]) },
      { pcrs: new Map([[0, Buffer.alloc(47)]]) },
      { pcrs: new Map([[0, 'x'.repeat(48)]]) },
      { certificate: undefined },
      { certificate: Buffer.alloc(0) },
      { certificate: Buffer.alloc(1025) },
      { cabundle: [] },
      { cabundle: [1] },
      { cabundle: Array.from({ length: 9 }, () => Buffer.alloc(3)) },
      { user_data: Buffer.alloc(513) },
      { nonce: Buffer.alloc(513) },
      { nonce: 'text' },
      { public_key: Buffer.alloc(0) },
      { public_key: Buffer.alloc(1025) },
    ];
    for (const payload of payloads) {
      const made = await nitroDocument({ now: NOW, payload });
      assert.throws(() => format.read(made.document), MalformedDocument, Object.keys(payload).join());
    }
    const parts = [ES384, new Map(), Buffer.from([0xa0]), Buffer.alloc(96)];
    const outer = [
      parts.slice(1),
      [...parts, 0],
      [parts[0], null, parts[2], parts[3]],
      [...parts.slice(0, 2), null, parts[3]],
    ];
    for (const value of [...outer, 'x', 1, null, new Map()])
      assert.throws(() => format.read(cbor(value)), MalformedDocument);
    assert.throws(() => format.read(Buffer.concat([document, Buffer.from([0])])), MalformedDocument);
    assert.throws(() => format.read(document.subarray(0, -1)), MalformedDocument);
    assert.throws(() => format.read(new Uint8Array()), MalformedDocument);
  });

  test('fields that are absent rather than null are absent, and unknown ones are reported', async () => {
    const bare = { public_key: undefined, user_data: undefined, nonce: undefined };
    assert.equal((await assessed({ payload: bare })).isVerified, true);
    const more = await assessed({ payload: { something: 1 } });
    assert.equal(more.isVerified, true);
    assert.ok(more.findings.some(({ code }) => code === 'unknown_fields'));
  });

  test('no change to a single bit leaves a document verified', async () => {
    const { document, rootFingerprint } = await nitroDocument({ now: NOW });
    const format = nitroFormat(rootFingerprint);
    await fc.assert(
      fc.asyncProperty(fc.nat(document.length * 8 - 1), async (bit) => {
        const copy = Buffer.from(document);
        copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.equal(await isVerified(format, copy, NOW), false, `bit ${bit}`);
      }),
      { numRuns: 400 },
    );
  });
});

async function isVerified(format: ReturnType<typeof nitroFormat>, bytes: Uint8Array, now: number): Promise<boolean> {
  try {
    const assessment = await assess(format.read(bytes), NOTHING, now);
    return assessment.isVerified || assessment.isSignatureValid;
  } catch (error) {
    assert.ok(error instanceof MalformedDocument, String(error));
    return false;
  }
}

function replaced(bytes: Buffer, from: string, to: string): Buffer {
  const at = bytes.indexOf(from);
  assert.ok(at > 0);
  const copy = Buffer.from(bytes);
  copy.write(to, at);
  return copy;
}

for (const { by, bytes: document, facts } of nitroVectors())
  describe(`a Nitro document ${by}`, () => {
    const format = nitroFormat(facts.rootFingerprint ?? undefined);
    /** When all its certificates hold. */
    const madeAt = Date.parse(facts.timestamp) + SECOND_MS;
    const codes = facts.isDebug ? ['debug_mode'] : [];

    test('holds at its own time, up to its root', async () => {
      const evidence = format.read(document);
      const assessment = await assess(evidence, NOTHING, madeAt);
      assert.equal(assessment.isSignatureValid, true);
      assert.equal(assessment.isVerified, !facts.isDebug);
      assert.deepEqual(codesOf(assessment), codes);
      assert.equal(evidence.claims['module_id'], facts.moduleId);
      assert.equal(evidence.claims['timestamp'], facts.timestamp);
      if (facts.nonce !== null) assert.equal(evidence.claims['nonce'], facts.nonce);
      assert.equal(Object.keys(evidence.measurements).length, 16);
      assert.ok(String(evidence.measurements['pcr4']).startsWith(facts.pcr4));
      const nonce = Buffer.from(String(evidence.claims['nonce']), 'base64');
      assert.deepEqual(codesOf(await assess(evidence, { ...NOTHING, nonce }, madeAt)), codes);
      const other = await assess(evidence, { ...NOTHING, nonce: nonce.subarray(1) }, madeAt);
      assert.deepEqual(codesOf(other), [...codes, 'nonce_mismatch']);
    });

    test('does not hold before and after', async () => {
      for (const [time, code] of [
        [facts.validFrom - SECOND_MS, 'certificate_not_yet_valid'],
        [facts.validUntil + SECOND_MS, 'certificate_expired'],
        [Date.now(), 'certificate_expired'],
      ] as const) {
        const assessment = await assess(format.read(document), NOTHING, time);
        assert.equal(assessment.isSignatureValid, false);
        assert.ok(codesOf(assessment).includes(code));
      }
    });

    test('mutated in any way is never mistaken for signed, and never breaks the reader', async () => {
      const at = fc.nat(document.length - 1);
      const mutation = fc.oneof(
        fc.tuple(at, fc.integer({ min: 1, max: 255 })).map(([place, mask]) => {
          const copy = Buffer.from(document);
          copy[place] = (copy[place] as number) ^ mask;
          return copy;
        }),
        at.map((end) => document.subarray(0, end)),
        fc
          .tuple(at, fc.uint8Array({ minLength: 1, maxLength: 40 }))
          .map(([place, more]) => Buffer.concat([document.subarray(0, place), more, document.subarray(place)])),
        fc
          .tuple(at, fc.integer({ min: 1, max: 400 }))
          .map(([place, length]) => Buffer.concat([document.subarray(0, place), document.subarray(place + length)])),
      );
      await fc.assert(
        fc.asyncProperty(mutation, async (bytes) => {
          if (!document.equals(bytes)) assert.equal(await isVerified(format, bytes, madeAt), false);
        }),
        { numRuns: 600 },
      );
    });

    test('holds for OpenSSL too', () => {
      const cose = readCoseSign1(document);
      const { certificate, bundle } = readNitroDocument(cose.payload);
      const folder = mkdtempSync(join(tmpdir(), 'coffer-nitro-'));
      const write = (name: string, data: string | Uint8Array) => {
        writeFileSync(join(folder, name), data);
        return join(folder, name);
      };
      const leaf = new X509Certificate(certificate);
      const [root = '', ...between] = bundle.map((der) => new X509Certificate(der).toString());
      const openssl = (...args: string[]) => execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' });
      const files = ['-CAfile', write('root.pem', root), '-untrusted', write('between.pem', between.join(''))];
      const at = ['-attime', String(Math.floor(madeAt / 1000))];
      assert.match(openssl('verify', ...at, ...files, write('leaf.pem', leaf.toString())), /OK/);
      const key = write('key.pem', leaf.publicKey.export({ type: 'spki', format: 'pem' }));
      const data = write(
        'data',
        cbor(['Signature1', Buffer.from(cose.protectedBytes), Buffer.alloc(0), Buffer.from(cose.payload)]),
      );
      const signature = write('signature', derOf(cose.signature));
      assert.match(openssl('dgst', '-sha384', '-verify', key, '-signature', signature, data), /Verified OK/);
      rmSync(folder, { recursive: true });
    });
  });

/** r and s as OpenSSL wants them: two ASN.1 integers. */
function derOf(signature: Uint8Array): Buffer {
  const integer = (bytes: Uint8Array) => {
    const from = bytes.findIndex((byte) => byte !== 0);
    const digits = bytes.subarray(from);
    const padded = (digits[0] as number) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : Buffer.from(digits);
    return Buffer.concat([Buffer.from([2, padded.length]), padded]);
  };
  const both = Buffer.concat([integer(signature.subarray(0, 48)), integer(signature.subarray(48))]);
  return Buffer.concat([Buffer.from([0x30, both.length]), both]);
}
