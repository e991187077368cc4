import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import {
  SEALED_BYTES_MAX,
  SEALED_PLAINTEXT_BYTES_MAX,
  type SealContext,
  SealError,
  type SealProblem,
  type SealProvider,
} from '../../server/src/kernel/seals/provider.ts';

/** How long a provider may take to say that it cannot be reached, with all of its attempts. */
const UNREACHABLE_MAX_MS = 30_000;

export const CONTEXT: SealContext = { installation: 'ins_test', purpose: 'root-key' };

export interface Subject {
  provider: SealProvider;
  /** The same one, where nobody answers. */
  unreachable: SealProvider;
  /** Credentials, as they are given to the provider. */
  secrets: readonly string[];
  close(): Promise<void>;
}

/** The problem that a call ended with. It fails if the call did not fail, or with another error. */
export async function problemOf(call: Promise<unknown>): Promise<SealProblem> {
  return (await errorOf(call)).problem;
}

export async function errorOf(call: Promise<unknown>): Promise<SealError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof SealError, inspect(error));
    assert.match(error.message, /^[A-Z].*[.]$/s);
    return error;
  }
  assert.fail('the call succeeded');
}

/** What every provider must do. */
export function conforms(name: string, start: () => Promise<Subject>, skip: string | false = false): void {
  describe(`every provider: ${name}`, { skip }, () => {
    let subject: Subject;
    let printed = '';
    const plaintext = randomBytes(32);
    const writes = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }));

    before(async () => {
      for (const { stream, write } of writes) {
        stream.write = ((chunk: string | Uint8Array, ...rest: []) => {
          printed += Buffer.from(chunk as Uint8Array).toString('utf8');
          return write.call(stream, chunk, ...rest);
        }) as typeof stream.write;
      }
      subject = await start();
    });
    after(async () => {
      for (const { stream, write } of writes) stream.write = write;
      await subject?.close();
    });

    const isClean = (text: string) => {
      const own = [plaintext.toString('hex'), plaintext.toString('base64'), plaintext.toString('latin1')];
      for (const secret of [...subject.secrets, ...own]) assert.ok(!text.includes(secret), 'a secret is in a message');
    };
    const refused = async (call: Promise<unknown>, problem: SealProblem) => {
      const error = await errorOf(call);
      isClean(inspect(error, { depth: 8, showHidden: true }));
      assert.equal(error.problem, problem, error.message);
    };

    test('opens what it sealed, of any length, and never seals twice alike', async () => {
      const { provider } = subject;
      for (const length of [1, 32, SEALED_PLAINTEXT_BYTES_MAX]) {
        const bytes = randomBytes(length);
        const [one, two] = [await provider.seal(bytes, CONTEXT), await provider.seal(bytes, CONTEXT)];
        assert.ok(one.length <= SEALED_BYTES_MAX && !one.equals(two));
        assert.ok(bytes.length < 32 || !one.includes(bytes));
        assert.deepEqual(await provider.open(one, CONTEXT), bytes);
        assert.deepEqual(await provider.open(two, CONTEXT), bytes);
      }
    });

    test('opens under the same context only', async () => {
      const sealed = await subject.provider.seal(plaintext, CONTEXT);
      for (const context of [
        { ...CONTEXT, installation: 'ins_other' },
        { ...CONTEXT, purpose: 'root-key2' },
        { installation: 'ins_testroot', purpose: '-key' },
        { installation: 'root-key', purpose: 'ins_test' },
      ])
        await refused(subject.provider.open(sealed, context), 'wrong');
    });

    test('does not open what was changed, cut or lengthened', async () => {
      const sealed = await subject.provider.seal(plaintext, CONTEXT);
      const step = Math.max(1, Math.floor(sealed.length / 16));
      const positions = [0, 1, 2, 3, ...Array.from({ length: 16 }, (_, i) => i * step), sealed.length - 1];
      for (const position of new Set(positions)) {
        const changed = Buffer.from(sealed);
        changed[position] = (changed[position] ?? 0) ^ 0x41;
        await refused(subject.provider.open(changed, CONTEXT), 'wrong');
      }
      for (const length of [1, 2, 3, sealed.length - 1])
        await refused(subject.provider.open(sealed.subarray(0, length), CONTEXT), 'wrong');
      await refused(subject.provider.open(Buffer.concat([sealed, Buffer.alloc(1)]), CONTEXT), 'wrong');
      assert.deepEqual(await subject.provider.open(sealed, CONTEXT), plaintext);
    });

    test('does not mix the key of one sealed text with the content of another', async () => {
      const [one, two] = [
        await subject.provider.seal(plaintext, CONTEXT),
        await subject.provider.seal(plaintext, CONTEXT),
      ];
      const keyEnd = 3 + one.readUInt16BE(1);
      assert.equal(two.readUInt16BE(1), one.readUInt16BE(1));
      const mixed = Buffer.concat([one.subarray(0, keyEnd), two.subarray(keyEnd)]);
      await refused(subject.provider.open(mixed, CONTEXT), 'wrong');
    });

    test('refuses nothing, and too much', async () => {
      const { provider } = subject;
      for (const length of [0, SEALED_PLAINTEXT_BYTES_MAX + 1])
        await assert.rejects(provider.seal(randomBytes(length), CONTEXT), RangeError);
      for (const bytes of [Buffer.alloc(0), Buffer.alloc(SEALED_BYTES_MAX + 1, 1)])
        await refused(provider.open(bytes, CONTEXT), 'wrong');
    });

    test('works for several callers at once', async () => {
      const { provider } = subject;
      const texts = Array.from({ length: 8 }, () => randomBytes(32));
      const sealed = await Promise.all(texts.map((text) => provider.seal(text, CONTEXT)));
      assert.deepEqual(await Promise.all(sealed.map((bytes) => provider.open(bytes, CONTEXT))), texts);
    });

    test('says in time that it cannot be reached', async () => {
      const sealed = await subject.provider.seal(plaintext, CONTEXT);
      const { unreachable } = subject;
      for (const call of [() => unreachable.seal(plaintext, CONTEXT), () => unreachable.open(sealed, CONTEXT)]) {
        const startedAt = performance.now();
        await refused(call(), 'unreachable');
        assert.ok(performance.now() - startedAt < UNREACHABLE_MAX_MS);
      }
    });

    test('prints nothing secret, and its reference and text have no credential', () => {
      isClean(printed);
      isClean(subject.provider.reference);
      isClean(inspect(subject.provider, { depth: 8 }));
    });
  });
}
