import { createHash, createSign, KeyObject, type webcrypto } from 'node:crypto';
import { Encoder } from 'cbor-x';
import { KeyUsageFlags } from '../../server/src/features/certificates/x509.ts';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { type TestCertificate, type TestCertificateFacts, testAuthority } from './test-authority.ts';

const encoder = new Encoder({ useRecords: false, mapsAsObjects: false, variableMapSize: true });
export const cbor = (value: unknown): Buffer => Buffer.from(encoder.encode(value));

export function keysOn(namedCurve: 'P-256' | 'P-384' | 'P-521'): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve }, true, ['sign', 'verify']);
}

export interface NitroFacts {
  now?: number;
  /** What the certificates say, where it is not as it should be. */
  root?: TestCertificateFacts;
  between?: TestCertificateFacts;
  leaf?: TestCertificateFacts;
  /** Over the fields of the payload; undefined leaves one out. */
  payload?: Record<string, unknown>;
  bundle?(bundle: Uint8Array[], leaf: Uint8Array): Uint8Array[];
  protectedHeader?: Uint8Array;
  unprotectedHeader?: Map<unknown, unknown>;
  hash?: string;
  /** Over the signature or the payload, once it is signed. */
  signature?(signature: Buffer): Uint8Array;
  swappedPayload?(payload: Buffer): Uint8Array;
}

export interface NitroMade {
  document: Buffer;
  /** Of the root that it chains to. */
  rootFingerprint: string;
}

export const PCRS = new Map(Array.from({ length: 5 }, (_, n) => [n, Buffer.alloc(48, n + 1)] as const));
export const ES384 = cbor(new Map([[1, -35]]));

/** A document such as an enclave makes, under a root of our own. */
export async function nitroDocument(facts: NitroFacts = {}): Promise<NitroMade> {
  const { now = Date.now() } = facts;
  const life = { notBefore: now - DAY_MS, notAfter: now + DAY_MS };
  const root = await testAuthority({ cn: 'root', keys: await keysOn('P-384'), ...life, ...facts.root });
  const ca = {
    isCa: true,
    keyUsage: KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
    extendedKeyUsage: null,
    ...life,
  };
  const between = await root.issue({ ...ca, cn: 'between', keys: await keysOn('P-384'), ...facts.between });
  const leafFacts = { cn: 'leaf', keys: await keysOn('P-384'), extendedKeyUsage: null, ...life, ...facts.leaf };
  const leaf = await between.issue(leafFacts);
  const payload = payloadOf(facts, now, leaf, [root.der, between.der]);
  return { document: await sealed(facts, leaf, payload), rootFingerprint: fingerprintOf(root) };
}

function payloadOf(facts: NitroFacts, now: number, leaf: TestCertificate, chain: Uint8Array[]): Buffer {
  const bundle = facts.bundle?.(chain, leaf.der) ?? chain;
  const fields = {
    module_id: 'i-0123456789abcdef0-enc0123456789abcdef',
    digest: 'SHA384',
    timestamp: BigInt(now),
    pcrs: PCRS,
    certificate: Buffer.from(leaf.der),
    cabundle: bundle.map((der) => Buffer.from(der)),
    public_key: null,
    user_data: null,
    nonce: null,
    ...facts.payload,
  };
  return cbor(new Map(Object.entries(fields).filter(([, value]) => value !== undefined)));
}

async function sealed(facts: NitroFacts, leaf: TestCertificate, payload: Buffer): Promise<Buffer> {
  const { protectedHeader = ES384, unprotectedHeader = new Map(), hash = 'sha384' } = facts;
  const signer = createSign(hash).update(cbor(['Signature1', Buffer.from(protectedHeader), Buffer.alloc(0), payload]));
  const signature = signer.sign({ key: KeyObject.from(leaf.keys.privateKey), dsaEncoding: 'ieee-p1363' });
  return cbor([
    Buffer.from(protectedHeader),
    unprotectedHeader,
    Buffer.from(facts.swappedPayload?.(payload) ?? payload),
    Buffer.from(facts.signature?.(signature) ?? signature),
  ]);
}

function fingerprintOf({ der }: TestCertificate): string {
  return createHash('sha256').update(der).digest('hex');
}

/** A report of the right form that nobody signed. */
export function sevSnpReport(reportData: Uint8Array = Buffer.alloc(0)): Buffer {
  const report = Buffer.alloc(0x4a0);
  report.writeUInt32LE(2, 0);
  report.writeBigUInt64LE(0x30000n, 8);
  report.writeUInt32LE(1, 0x34);
  report.set(reportData, 0x50);
  report.fill(0xab, 0x90, 0xc0);
  return report;
}

export interface SgxFacts {
  version?: number;
  keyType?: number;
  flags?: bigint;
  reportData?: Uint8Array;
  authentication?: Uint8Array;
  certification?: { type: number; data: Uint8Array };
  /** In place of what the lengths really are. */
  lengths?: { signature?: number; authentication?: number; certification?: number };
}

/** A quote of the right form that nobody signed. */
export function sgxQuote(facts: SgxFacts = {}): Buffer {
  const {
    lengths = {},
    authentication = Buffer.alloc(32, 7),
    certification = { type: 5, data: Buffer.from('x') },
  } = facts;
  const head = Buffer.alloc(48 + 384);
  head.writeUInt16LE(facts.version ?? 3, 0);
  head.writeUInt16LE(facts.keyType ?? 2, 2);
  head.writeBigUInt64LE(facts.flags ?? 5n, 48 + 48);
  head.fill(0xcd, 48 + 64, 48 + 96);
  head.set(facts.reportData ?? [], 48 + 320);
  const signature = Buffer.concat([
    Buffer.alloc(64 + 64 + 384 + 64),
    number(2, lengths.authentication ?? authentication.length),
    authentication,
    number(2, certification.type),
    number(4, lengths.certification ?? certification.data.length),
    certification.data,
  ]);
  return Buffer.concat([head, number(4, lengths.signature ?? signature.length), signature]);
}

function number(bytes: number, value: number): Buffer {
  const written = Buffer.alloc(bytes);
  written.writeUIntLE(value, 0, bytes);
  return written;
}
