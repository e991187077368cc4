/**
 * QR codes (ISO/IEC 18004) of a text as bytes, with error correction level M, in the smallest of the versions 1 to 15 that holds it: enough for an
 * otpauth address. The result is a square of modules; true is dark.
 */
export type Modules = readonly (readonly boolean[])[];

/** For each version: the codewords of error correction in a block, and the number of blocks (table 9 of the standard). */
const BLOCKS: readonly (readonly [ecPerBlock: number, blocks: number])[] = [
  [10, 1],
  [16, 1],
  [26, 1],
  [18, 2],
  [24, 2],
  [16, 4],
  [18, 4],
  [22, 4],
  [22, 5],
  [26, 5],
  [30, 5],
  [22, 8],
  [22, 9],
  [24, 9],
  [24, 10],
];
const BYTE_MODE = 0b0100;
const LEVEL_M = 0b00;
const FORMAT_MASK = 0x5412;
const FORMAT_GENERATOR = 0x537;
const VERSION_GENERATOR = 0x1f25;
const FIELD_POLYNOMIAL = 0x11d;

export function qrCode(text: string): Modules {
  const bytes = new TextEncoder().encode(text);
  const version =
    BLOCKS.findIndex((_, index) => bitsNeeded(bytes.length, index + 1) <= dataCodewords(index + 1) * 8) + 1;
  if (version === 0) throw new RangeError('The text is too long for a QR code of version 15.');
  const codewords = withErrorCorrection(dataOf(bytes, version), version);
  const drawings = Array.from({ length: 8 }, (_, mask) => drawn(version, codewords, mask));
  return drawings.reduce((best, each) => (penalty(each) < penalty(best) ? each : best));
}

function bitsNeeded(length: number, version: number): number {
  return 4 + lengthBits(version) + 8 * length;
}

function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

function allCodewords(version: number): number {
  const size = sizeOf(version);
  const positions = alignmentPositions(version).length;
  const finders = 3 * 64;
  const alignments = positions === 0 ? 0 : (positions ** 2 - 3) * 25 - 2 * (positions - 2) * 5;
  const timing = 2 * (size - 16);
  const information = 31 + (version < 7 ? 0 : 36);
  return Math.floor((size ** 2 - finders - alignments - timing - information) / 8);
}

function dataCodewords(version: number): number {
  const [ecPerBlock, blocks] = BLOCKS[version - 1] as (typeof BLOCKS)[number];
  return allCodewords(version) - ecPerBlock * blocks;
}

function sizeOf(version: number): number {
  return 17 + 4 * version;
}

function alignmentPositions(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const last = sizeOf(version) - 7;
  const step = Math.ceil((last - 6) / (count - 1) / 2) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, index) => last - step * (count - 2 - index))];
}

function dataOf(bytes: Uint8Array, version: number): number[] {
  const capacity = dataCodewords(version) * 8;
  const bits: number[] = [];
  const add = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  add(BYTE_MODE, 4);
  add(bytes.length, lengthBits(version));
  for (const byte of bytes) add(byte, 8);
  add(0, Math.min(4, capacity - bits.length));
  add(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < capacity; pad ^= 0xec ^ 0x11) add(pad, 8);
  return Array.from({ length: bits.length / 8 }, (_, index) =>
    bits.slice(index * 8, index * 8 + 8).reduce((value, bit) => value * 2 + bit, 0),
  );
}

/** Blocks, the shorter ones first, interleaved; then their error correction, interleaved. */
function withErrorCorrection(data: readonly number[], version: number): number[] {
  const [ecPerBlock, count] = BLOCKS[version - 1] as (typeof BLOCKS)[number];
  const short = Math.floor(data.length / count);
  const shortBlocks = count - (data.length % count);
  const generator = generatorOf(ecPerBlock);
  const blocks = Array.from({ length: count }, (_, index) => {
    const from = index * short + Math.max(0, index - shortBlocks);
    return data.slice(from, from + short + (index < shortBlocks ? 0 : 1));
  });
  const corrections = blocks.map((block) => remainderOf(block, generator));
  return [...interleaved(blocks), ...interleaved(corrections)];
}

function interleaved(blocks: readonly (readonly number[])[]): number[] {
  const longest = Math.max(...blocks.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    blocks.flatMap((block) => (index < block.length ? [block[index] as number] : [])),
  ).flat();
}

function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * FIELD_POLYNOMIAL);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

/** The coefficients after the first, which is 1, of the product of (x − 2^i) for i below the degree. */
function generatorOf(degree: number): number[] {
  const result = [...Array.from({ length: degree - 1 }, () => 0), 1];
  let root = 1;
  for (let i = 0; i < degree; i++) {
    for (let n = 0; n < degree; n++) {
      result[n] = multiply(result[n] as number, root) ^ (result[n + 1] ?? 0);
    }
    root = multiply(root, 2);
  }
  return result;
}

function remainderOf(block: readonly number[], generator: readonly number[]): number[] {
  let result = generator.map(() => 0);
  for (const byte of block) {
    const factor = byte ^ (result[0] as number);
    result = generator.map((coefficient, index) => (result[index + 1] ?? 0) ^ multiply(coefficient, factor));
  }
  return result;
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

function drawn(version: number, codewords: readonly number[], mask: number): boolean[][] {
  const size = sizeOf(version);
  // Null until something is drawn there; what is left is for the data.
  const modules: (boolean | null)[][] = Array.from({ length: size }, () => Array.from({ length: size }, () => null));
  const set = (x: number, y: number, isDark: boolean) => {
    const row = modules[y];
    if (row !== undefined && x >= 0 && x < size) row[x] = isDark;
  };
  drawPatterns(version, set);
  drawFormat(size, mask, set);
  if (version >= 7) drawVersion(version, set);
  fill(modules, codewords, MASKS[mask] as (typeof MASKS)[number]);
  return modules.map((row) => row.map((module) => module === true));
}

type Draw = (x: number, y: number, isDark: boolean) => void;

function drawPatterns(version: number, set: Draw): void {
  const size = sizeOf(version);
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0);
    set(i, 6, i % 2 === 0);
  }
  const positions = alignmentPositions(version);
  const last = positions.length - 1;
  for (const [i, x] of positions.entries()) {
    for (const [n, y] of positions.entries()) {
      const isFinder = (i === 0 && n === 0) || (i === 0 && n === last) || (i === last && n === 0);
      if (!isFinder) drawRings(x, y, 2, [1], set);
    }
  }
  // A finder has a light ring around it, the separator.
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    drawRings(x, y, 4, [2, 4], set);
  }
}

function drawRings(x: number, y: number, radius: number, light: readonly number[], set: Draw): void {
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) {
      set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }
}

function checkBits(value: number, count: number, generator: number): number {
  let remainder = value;
  const top = 31 - Math.clz32(generator);
  for (let i = 0; i < count; i++) remainder = (remainder << 1) ^ (((remainder >>> (top - 1)) & 1) * generator);
  return remainder;
}

function drawFormat(size: number, mask: number, set: Draw): void {
  const data = (LEVEL_M << 3) | mask;
  const bits = ((data << 10) | checkBits(data, 10, FORMAT_GENERATOR)) ^ FORMAT_MASK;
  const isDark = (bit: number) => ((bits >>> bit) & 1) === 1;
  for (let bit = 0; bit < 15; bit++) {
    const along = bit < 6 ? bit : bit < 8 ? bit + 1 : size - 15 + bit;
    set(8, along, isDark(bit));
    const across = bit < 8 ? size - 1 - bit : bit === 8 ? 7 : 14 - bit;
    set(across, 8, isDark(bit));
  }
  set(8, size - 8, true);
}

function drawVersion(version: number, set: Draw): void {
  const bits = (version << 12) | checkBits(version, 12, VERSION_GENERATOR);
  for (let bit = 0; bit < 18; bit++) {
    const far = sizeOf(version) - 11 + (bit % 3);
    const near = Math.floor(bit / 3);
    set(far, near, ((bits >>> bit) & 1) === 1);
    set(near, far, ((bits >>> bit) & 1) === 1);
  }
}

/** In pairs of columns from the right, upwards and downwards in turn, around the vertical timing pattern. */
function fill(
  modules: (boolean | null)[][],
  codewords: readonly number[],
  isMasked: (x: number, y: number) => boolean,
) {
  const size = modules.length;
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    const column = right <= 6 ? right - 1 : right;
    const isUpward = ((column + 1) & 2) === 0;
    for (let i = 0; i < size; i++) {
      const y = isUpward ? size - 1 - i : i;
      for (const x of [column, column - 1]) {
        const row = modules[y] as (boolean | null)[];
        if (row[x] !== null) continue;
        const codeword = codewords[bit >>> 3] ?? 0;
        row[x] = (((codeword >>> (7 - (bit & 7))) & 1) === 1) !== isMasked(x, y);
        bit++;
      }
    }
  }
}

/** How hard it is to read: runs, blocks and false finders of one colour, and an uneven share of dark (7.8.3 of the standard). */
function penalty(modules: readonly (readonly boolean[])[]): number {
  const columns = modules.map((_, x) => modules.map((row) => row[x] as boolean));
  const lines = [...modules, ...columns].reduce((sum, line) => sum + linePenalty(line), 0);
  let blocks = 0;
  for (let y = 1; y < modules.length; y++) {
    for (let x = 1; x < modules.length; x++) {
      const dark = [y - 1, y].flatMap((row) => [modules[row]?.[x - 1], modules[row]?.[x]]);
      if (new Set(dark).size === 1) blocks += 3;
    }
  }
  const dark = modules.flat().filter(Boolean).length / modules.length ** 2;
  return lines + blocks + 10 * Math.floor(Math.abs(dark - 0.5) * 20);
}

function linePenalty(line: readonly boolean[]): number {
  const text = line.map((isDark) => (isDark ? '1' : '0')).join('');
  const runs = (text.match(/0{5,}|1{5,}/g) ?? []).reduce((sum, run) => sum + run.length - 2, 0);
  const finders = [...text.matchAll(/(?=10111010000|00001011101)/g)].length;
  return runs + 40 * finders;
}
