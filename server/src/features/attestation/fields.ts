import { isZero, MalformedDocument } from './format.ts';

/** Reads a structure of little-endian fields from front to back. Every length is compared with the remaining bytes before anything is read. */
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

  /** Whether all reserved bytes were zero, as they must be until a later version gives them a meaning. */
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

/** Formats a word with sixteen digits, as the specifications do. */
export function word(value: bigint): string {
  return `0x${value.toString(16).padStart(16, '0')}`;
}

/** The named bits of a word. */
export function flagsOf<const B extends Record<string, number>>(value: bigint, bits: B): Record<keyof B, boolean> {
  const named = Object.entries(bits).map(([name, at]) => [name, bit(value, at)]);
  return Object.fromEntries(named) as Record<keyof B, boolean>;
}
