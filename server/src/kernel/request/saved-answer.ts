import { NONE } from '../endpoint/declaration.ts';
import type { Context } from './context.ts';
import type { SavedAnswer } from './idempotency.ts';
import type { ReadyEndpoint } from './ready-endpoint.ts';
import type { Reply } from './reply.ts';

/** No resource has an empty name. */
const CREDENTIAL_ALONE = '';

export function answerToSave(endpoint: ReadyEndpoint, status: number, ctx: Context, result: unknown): SavedAnswer {
  const { attributes, isCredentialEnough } = ctx.access;
  const resource = isCredentialEnough ? CREDENTIAL_ALONE : ctx.record.resource;
  const { output, status: own } = endpoint.declaration;
  if (status !== own) return { status, resource, attributes, body: JSON.stringify(result) };
  const saved = { status, resource, attributes };
  if (isBytes(endpoint, status)) return { ...saved, body: rawText(ctx, result as string | Uint8Array) };
  return { ...saved, body: output === NONE ? '' : endpoint.serialize(result) };
}

/** A raw response may be any bytes, so it is stored as base64 text. */
function isBytes({ declaration }: ReadyEndpoint, status: number): boolean {
  return declaration.raw !== NONE && status === declaration.status;
}

/** The headers are stored too, because one of them may hold the key that decrypts the bytes. */
function rawText({ replyHeaders }: Context, bytes: string | Uint8Array): string {
  return JSON.stringify({ headers: replyHeaders, base64: Buffer.from(bytes).toString('base64') });
}

export function repeatedReply(
  endpoint: ReadyEndpoint,
  ctx: Context,
  { status, body }: SavedAnswer,
): Omit<Reply, 'headers'> {
  if (!isBytes(endpoint, status)) return { status, body };
  // Releases up to 0.4 stored the bytes without headers.
  const { headers, base64 } = body.startsWith('{') ? JSON.parse(body) : { headers: {}, base64: body };
  for (const name in headers) ctx.setHeader(name, headers[name]);
  return { status, body: Buffer.from(base64, 'base64') };
}

/** A `loaded` resource is authorized again, because rights may have changed since the response was stored. */
export function authorizeReplay(ctx: Context, saved: SavedAnswer): void {
  if (ctx.declaration.resource === 'loaded') {
    if (saved.resource === CREDENTIAL_ALONE) ctx.access.authorizeCredentialOnly();
    else ctx.access.authorize(saved.resource, saved.attributes);
  }
  ctx.record.describe({ idempotent_replay: true });
}
