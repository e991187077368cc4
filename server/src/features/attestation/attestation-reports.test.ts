import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { sevSnpReport, sgxQuote } from '../../../../test/support/attestation-documents.ts';
import { assess } from './assessment.ts';
import { type AttestationFormat, MalformedDocument } from './format.ts';
import { sevSnpReportFormat } from './sev-snp-report.ts';
import { sgxQuoteFormat } from './sgx-quote.ts';

const NOTHING = { nonce: null, userData: null, measurements: {}, claims: {} };

/** The codes of what is found; never verified, never taken for signed. */
async function codes(format: AttestationFormat, document: Uint8Array): Promise<string[]> {
  const { isVerified, isSignatureValid, findings } = await assess(format.read(document), NOTHING, Date.now());
  assert.deepEqual([isVerified, isSignatureValid], [false, false]);
  return findings.map(({ code }) => code).filter((code) => !code.startsWith('no_'));
}

function changed(document: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(document);
  change(copy);
  return copy;
}

/** Any bytes at all give evidence that is not verified, or are refused as malformed. */
async function survives(format: AttestationFormat, document: Uint8Array): Promise<void> {
  try {
    await codes(format, document);
  } catch (error) {
    assert.ok(error instanceof MalformedDocument, String(error));
  }
}

describe('SGX quotes', () => {
  test('are read, with any lengths that fit', async () => {
    assert.deepEqual(await codes(sgxQuoteFormat, sgxQuote()), ['signature_not_validated']);
    const bare = { authentication: Buffer.alloc(0), certification: { type: 9, data: Buffer.alloc(0) } };
    const { claims } = sgxQuoteFormat.read(sgxQuote(bare));
    const { certification } = claims['signature_section'] as { certification: object };
    assert.deepEqual(certification, { type: 9, type_name: 'unknown', bytes: 0, certificates: null });
    const large = { authentication: Buffer.alloc(65_535), certification: { type: 4, data: Buffer.alloc(70_000) } };
    await codes(sgxQuoteFormat, sgxQuote(large));
  });

  test('debug mode and reserved bytes are reported', async () => {
    assert.ok((await codes(sgxQuoteFormat, sgxQuote({ flags: 7n }))).includes('debug_mode'));
    for (const at of [4, 48 + 20, 48 + 96, 48 + 160, 48 + 262, 48 + 303]) {
      const odd = changed(sgxQuote(), (copy) => copy.writeUInt8(1, at));
      assert.ok((await codes(sgxQuoteFormat, odd)).includes('reserved_not_zero'), String(at));
    }
  });

  test('the report data carries a nonce from its beginning, with zeros after it', () => {
    const { carriesNonce } = sgxQuoteFormat.read(sgxQuote({ reportData: Buffer.from('nonce') }));
    assert.equal(carriesNonce(Buffer.from('nonce')), true);
    for (const other of ['nonc', 'nonce!', 'xnonce', '']) assert.equal(carriesNonce(Buffer.from(other)), false, other);
    assert.equal(carriesNonce(Buffer.alloc(65)), false);
    const full = sgxQuoteFormat.read(sgxQuote({ reportData: Buffer.alloc(64, 1) }));
    assert.equal(full.carriesUserData(Buffer.alloc(64, 1)), true);
  });

  test('every length is held against what is there', () => {
    const whole = sgxQuote();
    const wrong = [
      sgxQuote({ version: 4 }),
      sgxQuote({ keyType: 3 }),
      ...[0, 1, whole.length, 0xffffffff].map((signature) => sgxQuote({ lengths: { signature } })),
      ...[31, 33, 0xffff].map((length) => sgxQuote({ lengths: { authentication: length } })),
      ...[0, 2, 0xffffffff].map((length) => sgxQuote({ lengths: { certification: length } })),
      Buffer.concat([whole, Buffer.alloc(1)]),
    ];
    for (const document of wrong) assert.throws(() => sgxQuoteFormat.read(document), MalformedDocument);
    for (let end = 0; end < whole.length; end++) {
      assert.throws(() => sgxQuoteFormat.read(whole.subarray(0, end)), MalformedDocument, String(end));
    }
  });

  test('whatever bytes there are, nothing breaks', async () => {
    const whole = sgxQuote();
    const spliced = fc.tuple(fc.nat(whole.length), fc.nat(whole.length), fc.uint8Array({ maxLength: 9 }));
    await fc.assert(
      fc.asyncProperty(spliced, async ([from, to, bytes]) => {
        await survives(sgxQuoteFormat, Buffer.concat([whole.subarray(0, from), bytes, whole.subarray(to)]));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('SEV-SNP reports', () => {
  const versioned = (version: number, change: (copy: Buffer) => void = () => {}) =>
    changed(sevSnpReport(), (copy) => {
      copy.writeUInt32LE(version, 0);
      change(copy);
    });

  test('of versions 2 to 5 are read, each with what it has', () => {
    const fill = (copy: Buffer) => {
      copy.set([0x19, 0x11, 0x01], 0x188);
      copy.writeBigUInt64LE(1n, 0x1f8);
      copy.writeBigUInt64LE(2n, 0x200);
    };
    const claimsOf = (version: number) => sevSnpReportFormat.read(versioned(version, fill)).claims;
    assert.equal(claimsOf(2)['cpuid'], null);
    for (const version of [3, 4, 5])
      assert.deepEqual(claimsOf(version)['cpuid'], { family: 0x19, model: 0x11, stepping: 1 });
    assert.equal(claimsOf(4)['current_mitigation_vector'], null);
    assert.equal(claimsOf(5)['current_mitigation_vector'], '0x0000000000000002');
    for (const version of [0, 1, 6, 0xffffffff]) {
      assert.throws(() => sevSnpReportFormat.read(versioned(version)), MalformedDocument);
    }
  });

  test('the parts of a TCB version stand where the processor puts them', () => {
    const tcb = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
    const read = (family: number) => {
      const document = versioned(3, (copy) => {
        copy.set(tcb, 0x180);
        copy.writeUInt8(family, 0x188);
      });
      return sevSnpReportFormat.read(document).claims['reported_tcb'];
    };
    const value = '0x0807060504030201';
    assert.deepEqual(read(0x19), { value, boot_loader: 1, tee: 2, snp: 7, microcode: 8 });
    assert.deepEqual(read(0x1a), { value, fmc: 1, boot_loader: 2, tee: 3, snp: 4, microcode: 8 });
  });

  test('debug mode and reserved bits are reported', async () => {
    assert.deepEqual(await codes(sevSnpReportFormat, sevSnpReport()), ['signature_not_validated']);
    const debug = changed(sevSnpReport(), (copy) => copy.writeBigUInt64LE(0xb0000n, 8));
    assert.ok((await codes(sevSnpReportFormat, debug)).includes('debug_mode'));
    const odd = [0x4c, 0x18b, 0x1eb, 0x1ef, 0x208, 0x29f, 0x330, 0x49f].map((at) =>
      changed(sevSnpReport(), (copy) => copy.writeUInt8(1, at)),
    );
    odd.push(changed(sevSnpReport(), (copy) => copy.writeBigUInt64LE(0x10000n, 8)));
    for (const document of odd) assert.ok((await codes(sevSnpReportFormat, document)).includes('reserved_not_zero'));
  });

  test('have one length, and nothing breaks whatever they hold', async () => {
    for (const length of [0, 1, 0x49f, 0x4a1, 0x940]) {
      assert.throws(() => sevSnpReportFormat.read(Buffer.alloc(length, 2)), MalformedDocument);
    }
    const bytes = fc.uint8Array({ minLength: 0x4a0 - 4, maxLength: 0x4a0 - 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 7 }), bytes, async (version, rest) => {
        await survives(sevSnpReportFormat, Buffer.concat([Buffer.from([version, 0, 0, 0]), rest]));
      }),
    );
  });
});
