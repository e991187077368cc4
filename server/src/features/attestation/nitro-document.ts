import { type CborMap, type CborValue, decodeCbor } from './cbor.ts';
import { MalformedDocument } from './format.ts';

/** AWS Nitro Enclaves, attestation process, 3.1: limits of the fields. */
const CERTIFICATE_BYTES_MAX = 1024;
const PUBLIC_KEY_BYTES_MAX = 1024;
const FREE_BYTES_MAX = 512;
const MODULE_ID_LENGTH_MAX = 256;
/** AWS specifies no limit; real bundles have four. */
const BUNDLE_MAX = 8;
const PCR_MAX = 31;
const PCR_BYTES = [32, 48, 64];
const COSE_SIGN1_TAG = 18;
const COSE_SIGN1_PARTS = 4;

export interface CoseSign1 {
  readonly protectedBytes: Uint8Array;
  readonly protectedHeader: CborMap;
  readonly unprotectedHeader: CborMap;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

export interface NitroDocument {
  readonly moduleId: string;
  readonly digest: string;
  readonly timestamp: number;
  /** Sorted by index. */
  readonly pcrs: ReadonlyMap<number, Uint8Array>;
  readonly certificate: Uint8Array;
  /** Root first. */
  readonly bundle: readonly Uint8Array[];
  readonly publicKey: Uint8Array | null;
  readonly userData: Uint8Array | null;
  readonly nonce: Uint8Array | null;
  /** How many fields were not known when this was written. They are signed with the rest and ignored here. */
  readonly unknownFields: number;
}

/** RFC 9052, 4.2: `[protected, unprotected, payload, signature]`, with or without its tag. */
export function readCoseSign1(bytes: Uint8Array): CoseSign1 {
  const parts = decodeCbor(bytes, COSE_SIGN1_TAG);
  if (!Array.isArray(parts) || parts.length !== COSE_SIGN1_PARTS) throw wrong('the COSE_Sign1', 'a list of four');
  const [protectedBytes, unprotectedHeader, payload, signature] = parts as readonly CborValue[];
  if (!isBytes(protectedBytes)) throw wrong('the protected header', 'bytes');
  if (!isMap(unprotectedHeader)) throw wrong('the unprotected header', 'a map');
  if (!isBytes(payload) || payload.length === 0) throw wrong('the payload', 'bytes');
  if (!isBytes(signature)) throw wrong('the signature', 'bytes');
  // RFC 9052, 3: an empty map may be spelled as no bytes at all.
  const protectedHeader = protectedBytes.length === 0 ? new Map() : decodeCbor(protectedBytes);
  if (!isMap(protectedHeader)) throw wrong('the protected header', 'a map');
  return { protectedBytes, protectedHeader, unprotectedHeader, payload, signature };
}

const FIELDS = [
  'module_id',
  'digest',
  'timestamp',
  'pcrs',
  'certificate',
  'cabundle',
  'public_key',
  'user_data',
  'nonce',
] as const;

export function readNitroDocument(payload: Uint8Array): NitroDocument {
  const map = decodeCbor(payload);
  if (!isMap(map)) throw wrong('the payload', 'a map');
  const moduleId = map.get('module_id');
  if (typeof moduleId !== 'string' || moduleId === '' || moduleId.length > MODULE_ID_LENGTH_MAX) {
    throw wrong('module_id', `text of 1 to ${MODULE_ID_LENGTH_MAX} characters`);
  }
  const digest = map.get('digest');
  if (digest !== 'SHA384') throw wrong('digest', 'SHA384');
  const timestamp = map.get('timestamp');
  if (typeof timestamp !== 'number' || timestamp <= 0) throw wrong('timestamp', 'a positive number');
  return {
    moduleId,
    digest,
    timestamp,
    pcrs: pcrsOf(map.get('pcrs')),
    certificate: boundedBytes('certificate', map.get('certificate'), 1, CERTIFICATE_BYTES_MAX),
    bundle: bundleOf(map.get('cabundle')),
    publicKey: optionalBytes('public_key', map.get('public_key'), 1, PUBLIC_KEY_BYTES_MAX),
    userData: optionalBytes('user_data', map.get('user_data'), 0, FREE_BYTES_MAX),
    nonce: optionalBytes('nonce', map.get('nonce'), 0, FREE_BYTES_MAX),
    unknownFields: [...map.keys()].filter((key) => !(FIELDS as readonly unknown[]).includes(key)).length,
  };
}

function pcrsOf(value: CborValue | undefined): Map<number, Uint8Array> {
  if (!isMap(value) || value.size === 0) throw wrong('pcrs', 'a map that is not empty');
  const pcrs: [number, Uint8Array][] = [];
  for (const [index, pcr] of value) {
    if (typeof index !== 'number' || index < 0 || index > PCR_MAX) throw wrong('an index of pcrs', `0 to ${PCR_MAX}`);
    if (!isBytes(pcr) || !PCR_BYTES.includes(pcr.length)) throw wrong('a PCR', `${PCR_BYTES.join(', ')} bytes`);
    pcrs.push([index, pcr]);
  }
  return new Map(pcrs.sort(([a], [b]) => a - b));
}

function bundleOf(value: CborValue | undefined): Uint8Array[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > BUNDLE_MAX) {
    throw wrong('cabundle', `a list of 1 to ${BUNDLE_MAX} certificates`);
  }
  return value.map((one: CborValue) => boundedBytes('a certificate of cabundle', one, 1, CERTIFICATE_BYTES_MAX));
}

/** Real documents contain null for absent fields. */
function optionalBytes(name: string, value: CborValue | undefined, min: number, max: number): Uint8Array | null {
  return value === undefined || value === null ? null : boundedBytes(name, value, min, max);
}

function boundedBytes(name: string, value: CborValue | undefined, min: number, max: number): Uint8Array {
  if (!isBytes(value) || value.length < min || value.length > max) throw wrong(name, `${min} to ${max} bytes`);
  return value;
}

function isBytes(value: CborValue | undefined): value is Uint8Array {
  return value instanceof Uint8Array;
}

function isMap(value: CborValue | undefined): value is CborMap {
  return value instanceof Map;
}

function wrong(name: string, expected: string): MalformedDocument {
  return new MalformedDocument(`is not a Nitro document: ${name} must be ${expected}`);
}
