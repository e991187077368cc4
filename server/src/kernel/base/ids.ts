import { randomFillSync } from 'node:crypto';

/** The prefixes of the kernel's identifiers. Each feature declares its own; a test holds that no two share one, and that none is undeclared. */
export const KERNEL_ID_PREFIXES = ['audit', 'req', 'key', 'node', 'approval'];

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const COUNTER_CHARACTERS = 3;
const RANDOM_CHARACTERS = 13;
const COUNTER_END = 32 ** COUNTER_CHARACTERS;
/** Time (50 bits), a counter within the millisecond (15 bits) and random bits (65), in Crockford's base 32. */
export const ID_LENGTH = TIME_CHARACTERS + COUNTER_CHARACTERS + RANDOM_CHARACTERS;

/** All pairs of two characters, so that building an id takes half the steps. Each request creates two ids. */
const PAIRS = Array.from({ length: 1024 }, (_, i) => `${ALPHABET[i >> 5]}${ALPHABET[i & 31]}`);
const POOL_BYTES = 4096;
const pool = Buffer.alloc(POOL_BYTES);
let poolOffset = POOL_BYTES;
let lastTime = -1;
let lastTimeText = '';
let counter = 0;

/**
 * Returns a time-sortable, unguessable identifier. Ids sort by creation time, so lists can use the primary key as their order and the database
 * appends new rows instead of inserting them between others.
 */
export function newId(prefix: string, now: number = Date.now()): string {
  if (now !== lastTime) {
    lastTime = now;
    lastTimeText = encode(now, TIME_CHARACTERS);
    counter = 0;
  }
  if (poolOffset + RANDOM_CHARACTERS > POOL_BYTES) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  let id = `${prefix}_${lastTimeText}${counterText(counter++ % COUNTER_END)}`;
  for (let i = 0; i < RANDOM_CHARACTERS - 1; i += 2) {
    id += PAIRS[(((pool[poolOffset++] as number) & 31) << 5) | ((pool[poolOffset++] as number) & 31)];
  }
  return id + ALPHABET[(pool[poolOffset++] as number) & 31];
}

/** The same identifier for the same digest, for what is found again rather than created. It says nothing about a time. */
export function idOfDigest(prefix: string, digest: Uint8Array): string {
  if (digest.length < ID_LENGTH) throw new Error('the digest is too short for an identifier');
  let id = `${prefix}_`;
  for (const byte of digest.subarray(0, ID_LENGTH)) id += ALPHABET[byte & 31];
  return id;
}

/** The smallest id that `newId` could have returned at that time: a bound for time ranges over ids. */
export function idAtTime(prefix: string, time: number): string {
  return `${prefix}_${encode(Math.max(0, time), TIME_CHARACTERS)}${'0'.repeat(COUNTER_CHARACTERS + RANDOM_CHARACTERS)}`;
}

/** The creation time of an id, by the clock of the node that created it. */
export function timeOfId(id: string): number {
  const start = id.indexOf('_') + 1;
  let time = 0;
  for (const character of id.slice(start, start + TIME_CHARACTERS)) time = time * 32 + ALPHABET.indexOf(character);
  return time;
}

export function isId(prefix: string, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ID_BODY.test(text.slice(prefix.length + 1));
}

/** The exact form of an id with this prefix, for wire schemas. */
export function idPattern(prefix: string): string {
  return `^${prefix}_[${ALPHABET}]{${ID_LENGTH}}$`;
}

/** The same form for cursors, which hold the id of the last row shown. */
export function idForm(prefix: string): RegExp {
  const form = forms.get(prefix) ?? new RegExp(idPattern(prefix));
  forms.set(prefix, form);
  return form;
}

const forms = new Map<string, RegExp>();

const ID_BODY = new RegExp(`^[${ALPHABET}]{${ID_LENGTH}}$`);

function counterText(value: number): string {
  return `${ALPHABET[value >> 10]}${PAIRS[value & 1023]}`;
}

function encode(value: number, characters: number): string {
  let text = '';
  let rest = value;
  for (let i = 0; i < characters; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
