import { isZero, MalformedDocument } from './format.ts';

/** Reads a structure of little-endian fields from front to back. Every length is held against what is left before anything is read. */
export class Fields {
  readonly #bytes: Buffer;
  #at = 0;
  #areReservedZero = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Whether all that was skipped as reserved is zero, as it must be until a later version gives it a meaning. */
  get areReservedZero(): boolean {
    return this.#areReservedZero;
  }

  bytes(name: string, length: number): Buffer {
    if (length > this.left) throw new MalformedDocument(`ends inside ${name}`);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  hex(name: string, length: number): string {
    return this.bytes(name, length).toString('hex');
  }

  u8(name: string): number {
    return this.bytes(name, 1).readUInt8();
  }

  u16(name: string): number {
    return this.bytes(name, 2).readUInt16LE();
  }

  u32(name: string): number {
    return this.bytes(name, 4).readUInt32LE();
  }

  u64(name: string): bigint {
    return this.bytes(name, 8).readBigUInt64LE();
  }

  reserved(length: number): void {
    if (!isZero(this.bytes('reserved bytes', length))) this.#areReservedZero = false;
  }

  end(name: string): void {
    if (this.left !== 0) throw new MalformedDocument(`has ${this.left} bytes more than ${name}`);
  }
}

export function bit(value: bigint, at: number): boolean {
  return ((value >> BigInt(at)) & 1n) === 1n;
}

/** Sixteen digits, as such words are written in their specifications. */
export function word(value: bigint): string {
  return `0x${value.toString(16).padStart(16, '0')}`;
}

/** Bits of a word, by the names they have. */
export function flagsOf<const B extends Record<string, number>>(value: bigint, bits: B): Record<keyof B, boolean> {
  const named = Object.entries(bits).map(([name, at]) => [name, bit(value, at)]);
  return Object.fromEntries(named) as Record<keyof B, boolean>;
}
