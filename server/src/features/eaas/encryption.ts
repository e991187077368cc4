import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import type * as contract from './contract.ts';
import { PLAINTEXT_BYTES_MAX } from './contract.ts';
import { decryptFailed, open, parseEnvelope, seal } from './envelope.ts';
import type { KeyCache } from './key-cache.ts';

export async function encrypt(ctx: Context, keys: KeyCache, name: string, body: Body<typeof contract.encrypt>) {
  refuseUnfit([body.plaintext]);
  const { key, version } = await keys.forEncryption(ctx, name, 1);
  return { envelope: seal(key, { keyName: name, version }, body.plaintext, body.aad), version };
}

export async function encryptBatch(
  ctx: Context,
  keys: KeyCache,
  name: string,
  { items }: Body<typeof contract.encryptBatch>,
) {
  refuseUnfit(items.map((item) => item.plaintext));
  const { key, version } = await keys.forEncryption(ctx, name, items.length);
  ctx.record.describe({ items: items.length });
  return {
    version,
    envelopes: items.map(({ plaintext, aad }) => seal(key, { keyName: name, version }, plaintext, aad)),
  };
}

export async function decrypt(ctx: Context, keys: KeyCache, name: string, body: Body<typeof contract.decrypt>) {
  return { plaintext: await opened(ctx, keys, name, body) };
}

export async function decryptBatch(
  ctx: Context,
  keys: KeyCache,
  name: string,
  { items }: Body<typeof contract.decryptBatch>,
) {
  await keys.refuseUnknown(ctx, name);
  const results: { plaintext?: string; error?: 'DECRYPT_FAILED' }[] = [];
  let failed = 0;
  for (const item of items) {
    try {
      results.push({ plaintext: await opened(ctx, keys, name, item) });
    } catch (error) {
      if (!(error instanceof CofferError) || error.code !== 'DECRYPT_FAILED') throw error;
      failed++;
      results.push({ error: 'DECRYPT_FAILED' });
    }
  }
  ctx.record.describe({ items: items.length, failed });
  return { results };
}

export async function rewrap(ctx: Context, keys: KeyCache, name: string, body: Body<typeof contract.rewrap>) {
  const plaintext = await opened(ctx, keys, name, body);
  const { key, version } = await keys.forEncryption(ctx, name, 1);
  return { envelope: seal(key, { keyName: name, version }, plaintext, body.aad), version };
}

/** A missing key is reported as such. Anything wrong with the envelope gets one and the same response. */
async function opened(
  ctx: Context,
  keys: KeyCache,
  name: string,
  { envelope, aad }: { envelope: string; aad?: string | undefined },
): Promise<string> {
  const parsed = parseEnvelope(envelope);
  const key = await keys.forDecryption(ctx, name, parsed?.version ?? 1);
  if (parsed === null || key === null || parsed.keyName !== name) throw decryptFailed();
  return open(key, parsed, aad);
}

function refuseUnfit(texts: readonly string[]): void {
  let bytes = 0;
  texts.forEach((text, i) => {
    // Half of a surrogate pair has no UTF-8 encoding and would be decrypted to another character.
    if (!text.isWellFormed()) {
      throw invalidField(
        texts.length === 1 ? '/body/plaintext' : `/body/items/${i}/plaintext`,
        'must be well-formed Unicode: it contains half of a surrogate pair',
      );
    }
    bytes += Buffer.byteLength(text);
  });
  if (bytes > PLAINTEXT_BYTES_MAX) {
    throw new CofferError(
      'PAYLOAD_TOO_LARGE',
      `The plaintext is larger than ${PLAINTEXT_BYTES_MAX} bytes: send less at a time.`,
    );
  }
}
