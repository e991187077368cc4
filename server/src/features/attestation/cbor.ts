import { MalformedDocument } from './format.ts';

/**
 * The part of CBOR (RFC 8949) that COSE and Nitro documents use, with one spelling for each value. cbor-x keeps the last of two equal keys, accepts
 * indefinite and needlessly long lengths and interprets any tag, so two readers could see two documents under one signature. All of that is refused
 * here, and every length is compared with the remaining bytes before anything is allocated.
 */

export type CborValue = number | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap;
export type CborMap = ReadonlyMap<number | string, CborValue>;

const DEPTH_MAX = 8;
/** Maximum values in one document, keys included. */
const VALUES_MAX = 512;
const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6, simple: 7 } as const;
const SIMPLE = new Map<number, boolean | null>([
  [20, false],
  [21, true],
  [22, null],
]);

/** Decodes one value and nothing after it. Only the given tag is accepted, and only before the outermost value. */
export function decodeCbor(bytes: Uint8Array, optionalTag: number | null = null): CborValue {
  const decoder = new Decoder(bytes);
  if (optionalTag !== null) decoder.skipTag(optionalTag);
  const value = decoder.value(0);
  if (decoder.left !== 0) throw new MalformedDocument(`has ${decoder.left} bytes after its CBOR value`);
  return value;
}

class Decoder {
  readonly #bytes: Buffer;
  #at = 0;
  #values = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  skipTag(tag: number): void {
    if (this.#bytes[this.#at] === ((MAJOR.tag << 5) | tag)) this.#at++;
  }

  value(depth: number): CborValue {
    if (depth > DEPTH_MAX) throw new MalformedDocument(`nests CBOR deeper than ${DEPTH_MAX}`);
    if (++this.#values > VALUES_MAX) throw new MalformedDocument(`has more than ${VALUES_MAX} CBOR values`);
    const { major, argument } = this.#head();
    switch (major) {
      case MAJOR.unsigned:
        return argument;
      case MAJOR.negative:
        return -1 - argument;
      case MAJOR.bytes:
        return this.#take(argument);
      case MAJOR.text:
        return this.#text(argument);
      case MAJOR.array:
        return this.#array(argument, depth);
      case MAJOR.map:
        return this.#map(argument, depth);
      case MAJOR.simple:
        return simple(argument);
      default:
        throw new MalformedDocument('has a CBOR tag where none is allowed');
    }
  }

  #head(): { major: number; argument: number } {
    const [initial = 0] = this.#take(1);
    const major = initial >> 5;
    const info = initial & 0x1f;
    if (info < 24) return { major, argument: info };
    // RFC 8949, 3.2: 31 begins an indefinite length; 28 to 30 are unassigned. In major type 7 the longer forms are floats.
    if (info > 27 || major === MAJOR.simple) throw new MalformedDocument('has a CBOR type that is not allowed here');
    const length = 1 << (info - 24);
    const argument = this.#unsigned(length);
    // RFC 8949, 4.1: an argument must be encoded as short as possible.
    if (argument < (length === 1 ? 24 : 2 ** (length * 4)))
      throw new MalformedDocument('has a CBOR number that is not in its shortest form');
    return { major, argument };
  }

  #unsigned(length: number): number {
    const bytes = this.#take(length);
    if (length < 8) return bytes.readUIntBE(0, length);
    const big = bytes.readBigUInt64BE();
    if (big > BigInt(Number.MAX_SAFE_INTEGER)) throw new MalformedDocument('has a CBOR number or length beyond 2^53');
    return Number(big);
  }

  #take(length: number): Buffer {
    if (length > this.left) throw new MalformedDocument('ends inside a CBOR value');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  #text(length: number): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.#take(length));
    } catch (error) {
      if (error instanceof MalformedDocument) throw error;
      throw new MalformedDocument('has CBOR text that is not UTF-8');
    }
  }

  #array(length: number, depth: number): CborValue[] {
    this.#refuseImpossible(length);
    return Array.from({ length }, () => this.value(depth + 1));
  }

  #map(length: number, depth: number): CborMap {
    this.#refuseImpossible(length * 2);
    const map = new Map<number | string, CborValue>();
    for (let n = 0; n < length; n++) {
      const key = this.value(depth + 1);
      if (typeof key !== 'number' && typeof key !== 'string') {
        throw new MalformedDocument('has a CBOR map whose keys are neither numbers nor text');
      }
      if (map.has(key)) throw new MalformedDocument('has a CBOR map with the same key twice');
      map.set(key, this.value(depth + 1));
    }
    return map;
  }

  /** Each value takes at least one byte, so a count beyond the remaining bytes would only make us allocate for nothing. */
  #refuseImpossible(values: number): void {
    if (values > this.left || values > VALUES_MAX)
      throw new MalformedDocument('has a CBOR length that exceeds its size');
  }
}

function simple(argument: number): boolean | null {
  const value = SIMPLE.get(argument);
  if (value === undefined) throw new MalformedDocument('has a CBOR type that is not allowed here');
  return value;
}

/** RFC 9052, 4.4: the bytes that the signature of a COSE_Sign1 covers, here without external data. */
export function signedBytes(protectedHeader: Uint8Array, payload: Uint8Array): Buffer {
  const context = Buffer.from('Signature1', 'utf8');
  return Buffer.concat([
    head(MAJOR.array, 4),
    head(MAJOR.text, context.length),
    context,
    head(MAJOR.bytes, protectedHeader.length),
    protectedHeader,
    head(MAJOR.bytes, 0),
    head(MAJOR.bytes, payload.length),
    payload,
  ]);
}

function head(major: number, argument: number): Buffer {
  const first = major << 5;
  if (argument < 24) return Buffer.from([first | argument]);
  const length = argument < 0x100 ? 1 : argument < 0x10000 ? 2 : 4;
  const bytes = Buffer.alloc(1 + length);
  bytes[0] = first | (23 + { 1: 1, 2: 2, 4: 3 }[length]);
  bytes.writeUIntBE(argument, 1, length);
  return bytes;
}
