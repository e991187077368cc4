import { crc32 } from 'node:zlib';
import { signedHeaders } from '../../../kernel/outbound/aws-signature.ts';
import {
  type Conversation,
  MalformedAnswer,
  memberAt,
  type Provider,
  type ProviderKeys,
  type ProviderRequest,
  parseJson,
} from './provider.ts';

export interface BedrockOptions {
  readonly url: string;
  readonly model: string;
  readonly region: string;
  readonly accessKeyId: string;
}

/** The Converse API of Amazon Bedrock, which is the same for all of its models. */
export class Bedrock implements Provider {
  readonly #options: BedrockOptions;

  constructor(options: BedrockOptions) {
    this.#options = options;
  }

  request(conversation: Conversation, { key, sessionToken }: ProviderKeys, now: number): ProviderRequest {
    const { url: base, model, region, accessKeyId } = this.#options;
    const { messages, tokensMax, isStreamed } = conversation;
    const url = `${base}/model/${encodeURIComponent(model)}/${isStreamed ? 'converse-stream' : 'converse'}`;
    const content = ({ content: text }: { content: string }) => [{ text }];
    const system = messages.filter(({ role }) => role === 'system').flatMap(content);
    const body = JSON.stringify({
      ...(system.length > 0 && { system }),
      messages: messages
        .filter(({ role }) => role !== 'system')
        .map((one) => ({ role: one.role, content: content(one) })),
      inferenceConfig: { maxTokens: tokensMax },
    });
    const headers = { 'content-type': 'application/json' };
    const credentials = { accessKeyId, secretAccessKey: key ?? '', sessionToken };
    const signed = signedHeaders({ method: 'POST', url, headers, body }, credentials, {
      region,
      service: 'bedrock',
      now,
    });
    return { url, headers: signed, body };
  }

  textOf(body: Buffer): string {
    const blocks = memberAt(parseJson(body.toString('utf8')), 'output', 'message', 'content');
    const texts = Array.isArray(blocks)
      ? blocks.map((block) => memberAt(block, 'text')).filter((text) => typeof text === 'string')
      : [];
    if (texts.length === 0) throw new MalformedAnswer('the response has no text');
    return texts.join('');
  }

  async *parts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
    for await (const { type, payload } of eventsOf(pieces)) {
      if (type === 'messageStop') return;
      const text =
        type === 'contentBlockDelta' ? memberAt(parseJson(payload.toString('utf8')), 'delta', 'text') : undefined;
      if (typeof text === 'string') yield text;
    }
    throw new MalformedAnswer('the response was cut off');
  }
}

interface AwsEvent {
  readonly type: string;
  readonly payload: Buffer;
}

const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const EVENT_BYTES_MAX = 256 * 1024;

/** Events of application/vnd.amazon.eventstream: lengths, their checksum, headers, payload, and the checksum of it all. */
async function* eventsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<AwsEvent, void> {
  let rest: Buffer = Buffer.alloc(0);
  // Pieces of an event that has not ended: joining them one by one would take quadratic time.
  let waiting: Buffer[] = [];
  let needed = PRELUDE_BYTES;
  for await (const piece of pieces) {
    waiting.push(piece);
    needed -= piece.length;
    if (needed > 0) continue;
    rest = Buffer.concat([rest, ...waiting]);
    waiting = [];
    needed = PRELUDE_BYTES - rest.length;
    while (rest.length >= PRELUDE_BYTES) {
      const total = rest.readUInt32BE(0);
      const headerBytes = rest.readUInt32BE(4);
      const isPlausible =
        total <= EVENT_BYTES_MAX &&
        total >= PRELUDE_BYTES + headerBytes + CHECKSUM_BYTES &&
        crc32(rest.subarray(0, 8)) === rest.readUInt32BE(8);
      if (!isPlausible) throw new MalformedAnswer('the response is not a stream of events');
      needed = total - rest.length;
      if (needed > 0) break;
      if (crc32(rest.subarray(0, total - CHECKSUM_BYTES)) !== rest.readUInt32BE(total - CHECKSUM_BYTES))
        throw new MalformedAnswer('an event of the response is damaged');
      const headersEnd = PRELUDE_BYTES + headerBytes;
      const type = headerNamed(rest.subarray(PRELUDE_BYTES, headersEnd), ':event-type');
      yield { type, payload: rest.subarray(headersEnd, total - CHECKSUM_BYTES) };
      rest = rest.subarray(total);
      needed = PRELUDE_BYTES - rest.length;
    }
  }
}

const STRING_TYPE = 7;

/** A header: the length of its name, the name, its type, and for text the length and the text. Bedrock sends no other type. */
function headerNamed(headers: Buffer, wanted: string): string {
  for (let start = 0; start < headers.length; ) {
    const nameEnd = start + 1 + headers.readUInt8(start);
    if (nameEnd + 3 > headers.length || headers.readUInt8(nameEnd) !== STRING_TYPE) return '';
    const valueStart = nameEnd + 3;
    const valueEnd = valueStart + headers.readUInt16BE(nameEnd + 1);
    if (headers.toString('utf8', start + 1, nameEnd) === wanted) return headers.toString('utf8', valueStart, valueEnd);
    start = valueEnd;
  }
  return '';
}
