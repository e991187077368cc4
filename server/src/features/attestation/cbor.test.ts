import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Decoder, Encoder } from 'cbor-x';
import fc from 'fast-check';
import { type CborValue, decodeCbor, signedBytes } from './cbor.ts';
import { MalformedDocument } from './format.ts';

const other = new Decoder({ useRecords: false, mapsAsObjects: false });
const encoder = new Encoder({ useRecords: false, mapsAsObjects: false, variableMapSize: true, tagUint8Array: false });
const fromHex = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return `h'${Buffer.from(value).toString('hex')}'`;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return [...value].map(([key, inner]) => [plain(key), plain(inner)]);
  return typeof value === 'bigint' ? Number(value) : value;
};

describe('CBOR', () => {
  test('the values that documents are made of are read', () => {
    const cases: [string, CborValue][] = [
      ['00', 0],
      ['17', 23],
      ['18 18', 24],
      ['19 0100', 256],
      ['1a 00010000', 65_536],
      ['1b 000000e8d4a51000', 1_000_000_000_000],
      ['20', -1],
      ['38 22', -35],
      ['60', ''],
      ['62 c3bc', 'ü'],
      ['80', []],
      ['f4', false],
      ['f5', true],
      ['f6', null],
    ];
    for (const [hex, value] of cases) assert.deepEqual(decodeCbor(fromHex(hex)), value, hex);
    assert.deepEqual(plain(decodeCbor(fromHex('a2 01 38 22 61 61 82 41 00 f6'))), [
      [1, -35],
      ['a', ["h'00'", null]],
    ]);
  });

  test('one tag may stand before everything, and only there', () => {
    assert.deepEqual(decodeCbor(fromHex('d2 80'), 18), []);
    assert.deepEqual(decodeCbor(fromHex('80'), 18), []);
    for (const hex of ['d2 d2 80', 'd3 80', '81 d2 80', 'd8 12 80']) assert.throws(() => decodeCbor(fromHex(hex), 18));
    assert.throws(() => decodeCbor(fromHex('d2 80')));
  });

  test('what has two spellings, no end or a length beyond the bytes is refused before work is done', () => {
    const cases: Record<string, string> = {
      'nothing at all': '',
      'bytes after it': '00 00',
      'the same key twice': 'a2 01 01 01 02',
      'the same text key twice': 'a2 61 61 01 61 61 02',
      'an indefinite list': '9f ff',
      'an indefinite map': 'bf ff',
      'indefinite bytes': '5f 41 00 ff',
      'indefinite text': '7f 61 61 ff',
      'a lone break': 'ff',
      'a number too long': '18 17',
      'a length too long': '58 01 00',
      'two bytes for one': '19 00ff',
      'four bytes for two': '1a 0000ffff',
      'eight bytes for four': '1b 00000000ffffffff',
      'a number beyond 2^53': '1b 0020000000000000',
      'a list of 2^32': '9a ffffffff',
      'a list of 2^53 - 1': '9b 001fffffffffffff',
      'a map of 2^32': 'ba ffffffff',
      'bytes of 2^32': '5a ffffffff 00',
      'text of 2^63': '7b 8000000000000000',
      'bytes cut off': '42 00',
      'a map cut off': 'a1 01',
      'text that is not UTF-8': '61 ff',
      'a key that is a list': 'a1 80 00',
      'a key that is null': 'a1 f6 00',
      undefined: 'f7',
      'a half float': 'f9 0000',
      'a double': 'fb 0000000000000000',
      'a simple value in two bytes': 'f8 14',
      'a reserved length': '1c',
      'a big number': 'c2 41 01',
      nesting: `${'81'.repeat(9)}00`,
      'too many values': `99 0200${'00'.repeat(512)}`,
    };
    for (const [name, hex] of Object.entries(cases)) {
      assert.throws(() => decodeCbor(fromHex(hex)), MalformedDocument, name);
    }
  });

  test('whatever is accepted, another implementation reads the same', () => {
    const leaf = fc.oneof(
      fc.integer({ min: -(2 ** 31), max: 2 ** 31 }),
      fc.string(),
      fc.uint8Array({ maxLength: 300 }),
      fc.boolean(),
      fc.constant(null),
    );
    const key = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.string({ maxLength: 5 }));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('tree'), { maxLength: 5 }), tie('map')),
      map: fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map((entries) => new Map(entries)),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const bytes = Buffer.from(encoder.encode(value));
        const read = decodeCbor(bytes);
        assert.deepEqual(plain(read), plain(value));
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        let read: CborValue;
        try {
          read = decodeCbor(bytes);
        } catch (error) {
          assert.ok(error instanceof MalformedDocument);
          return;
        }
        assert.deepEqual(plain(read), plain(other.decode(Buffer.from(bytes))));
      }),
      { numRuns: 3000 },
    );
  });

  test('RFC 9052, 4.4: the bytes that are signed are those another implementation makes', () => {
    for (const length of [0, 1, 23, 24, 255, 256, 65_535, 65_536]) {
      const [header, payload] = [Buffer.alloc(Math.min(length, 40), 1), Buffer.alloc(length, 2)];
      const expected = encoder.encode(['Signature1', header, Buffer.alloc(0), payload]);
      assert.ok(signedBytes(header, payload).equals(expected), String(length));
    }
  });
});
