import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { CopilotProvider } from '../../server/src/features/copilot/settings.ts';

const MODEL = 'eu.test-model-1:0';
const API_KEY = createHash('sha256').update('key of the test provider').digest('hex');
const AWS_KEY_ID = 'AKIDTESTPROVIDER0';
const REGION = 'eu-central-1';

export interface Received {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the model says: a text, or a function of the prompt. */
type Say = (parsed: string) => string;
type Instead = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/**
 * The four providers of models, as far as the assistant uses them, behind one socket. It refuses requests that the real ones would refuse: another
 * path, a wrong key, a signature that does not verify, a body of another shape. It records every byte that it receives.
 */
export class ModelProvider {
  readonly url: string;
  readonly received: Received[] = [];
  /** What the service must show: an API key, or a secret access key. */
  readonly key = API_KEY;
  readonly close: () => void;
  say: Say = () => 'All is well.';
  /** Answers in place of the provider. */
  instead: Instead | null = null;
  /** How a streamed text is cut into parts. */
  partLength = 7;

  private constructor(port: number, close: () => void) {
    this.url = `http://127.0.0.1:${port}`;
    this.close = close;
  }

  static async start(): Promise<ModelProvider> {
    const server = createServer((request, response) => void provider.#receive(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const provider: ModelProvider = new ModelProvider((server.address() as AddressInfo).port, close);
    return provider;
  }

  /** The settings of a service that uses it. */
  settings(kind: CopilotProvider): Record<string, string> {
    const file = join(mkdtempSync(join(tmpdir(), 'coffer-model-')), 'key');
    writeFileSync(file, `${API_KEY}\n`, { mode: 0o600 });
    return {
      CV_COPILOT_PROVIDER: kind,
      CV_COPILOT_URL: this.url,
      CV_COPILOT_MODEL: MODEL,
      CV_OUTBOUND_ALLOW: '127.0.0.0/8,localhost',
      ...(kind !== 'ollama' && { CV_COPILOT_API_KEY_FILE: file }),
      ...(kind === 'bedrock' && { CV_COPILOT_AWS_REGION: REGION, CV_COPILOT_AWS_ACCESS_KEY_ID: AWS_KEY_ID }),
    };
  }

  /** Everything that arrived since the last call, as text. */
  takeBytes(): string {
    return this.received
      .splice(0)
      .map(({ url, headers, body }) => `${url}\n${JSON.stringify(headers)}\n${body}`)
      .join('\n');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    this.received.push({ url: request.url ?? '', headers: request.headers, body });
    if (this.instead !== null) {
      this.instead(request, response, body);
      return;
    }
    const { url = '' } = request;
    const parsed = JSON.parse(body);
    if (url === '/v1/chat/completions' || url === '/openai/v1/chat/completions')
      this.#openAi(request, response, parsed);
    else if (url === '/api/chat') this.#ollama(response, parsed);
    else if (url.startsWith('/model/')) this.#bedrock(request, response, body);
    else response.writeHead(404).end();
  }

  #parts(text: string): string[] {
    return text.match(new RegExp(`[\\s\\S]{1,${this.partLength}}`, 'g')) ?? [];
  }

  #openAi(request: IncomingMessage, response: ServerResponse, parsed: OpenAiBody): unknown {
    const isAzure = request.url?.startsWith('/openai/') ?? false;
    const given = isAzure ? request.headers['api-key'] : request.headers.authorization;
    if (given !== (isAzure ? API_KEY : `Bearer ${API_KEY}`)) return refuse(response, 401);
    if (parsed.model !== MODEL || !isConversation(parsed.messages)) return refuse(response, 400);
    const text = this.say(parsed.messages.at(-1)?.content ?? '');
    if (!parsed.stream) {
      const message = { role: 'assistant', content: text };
      return json(response, { id: 'chatcmpl-1', choices: [{ index: 0, message, finish_reason: 'stop' }] });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (choice: object) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`);
    for (const content of this.#parts(text)) event({ delta: { content }, finish_reason: null });
    event({ delta: {}, finish_reason: 'stop' });
    response.end('data: [DONE]\n\n');
  }

  #ollama(response: ServerResponse, parsed: OpenAiBody): unknown {
    if (parsed.model !== MODEL || !isConversation(parsed.messages)) return refuse(response, 400);
    const text = this.say(parsed.messages.at(-1)?.content ?? '');
    if (!parsed.stream)
      return json(response, { model: MODEL, message: { role: 'assistant', content: text }, done: true });
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    for (const content of this.#parts(text))
      response.write(`${JSON.stringify({ message: { role: 'assistant', content }, done: false })}\n`);
    response.end(`${JSON.stringify({ message: { role: 'assistant', content: '' }, done: true })}\n`);
  }

  #bedrock(request: IncomingMessage, response: ServerResponse, body: string): unknown {
    if (!isSigned(request, body)) return refuse(response, 403);
    const parsed = JSON.parse(body) as BedrockBody;
    const path = `/model/${encodeURIComponent(MODEL)}/converse`;
    if (request.url !== path && request.url !== `${path}-stream`) return refuse(response, 404);
    const texts = parsed.messages.map(({ content }) => content.map(({ text }) => text).join(''));
    const text = this.say(texts.at(-1) ?? '');
    if (request.url === path)
      return json(response, {
        output: { message: { role: 'assistant', content: [{ text }] } },
        stopReason: 'end_turn',
      });
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    const events = this.#parts(text).map((part) =>
      awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: part } }),
    );
    const bytes = Buffer.concat([
      awsEvent('messageStart', { role: 'assistant' }),
      ...events,
      awsEvent('messageStop', { stopReason: 'end_turn' }),
    ]);
    // Events do not begin where packets do.
    for (let start = 0; start < bytes.length; start += 11) response.write(bytes.subarray(start, start + 11));
    response.end();
  }
}

interface OpenAiBody {
  model: string;
  messages: { role: string; content: string }[];
  stream: boolean;
}

interface BedrockBody {
  messages: { role: string; content: { text: string }[] }[];
}

function isConversation(messages: OpenAiBody['messages']): boolean {
  return messages.every(
    ({ role, content }) => ['system', 'user', 'assistant'].includes(role) && typeof content === 'string',
  );
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{"message":"refused"}}');
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** One event, as the SDK's event stream codec writes it. */
export function awsEvent(type: string, payload: unknown): Buffer {
  const header = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, value.length >> 8, value.length & 255]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([
    header(':message-type', 'event'),
    header(':event-type', type),
    header(':content-type', 'application/json'),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(12 + headers.length + body.length + 4, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message), 0);
  return Buffer.concat([message, checksum]);
}

/** Signature Version 4 in the Authorization header, written from its description and not with the signer's own code. */
function isSigned(request: IncomingMessage, body: string): boolean {
  const { authorization = '', 'x-amz-date': date, 'x-amz-content-sha256': sentHash } = request.headers;
  const form =
    /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)\/(\d{8})\/([a-z0-9-]+)\/bedrock\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;
  const [, keyId, day = '', region = '', signed = '', signature = ''] = form.exec(authorization) ?? [];
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const isFresh =
    Math.abs(Date.now() - Date.parse(String(date).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))) <
    300_000;
  const names = signed.split(';');
  const needed = ['host', 'x-amz-date', 'content-type'].every((name) => names.includes(name));
  if (keyId !== AWS_KEY_ID || region !== REGION || !isFresh || !needed || sentHash !== hash(body)) return false;
  const path = (request.url ?? '').replace(/%/g, '%25');
  const headers = names.map((name) => `${name}:${String(request.headers[name]).trim()}`);
  const canonical = ['POST', path, '', ...headers, '', names.join(';'), hash(body)].join('\n');
  const scope = `${day}/${region}/bedrock/aws4_request`;
  const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = mac(mac(mac(mac(`AWS4${API_KEY}`, day), region), 'bedrock'), 'aws4_request');
  const expected = mac(key, ['AWS4-HMAC-SHA256', String(date), scope, hash(canonical)].join('\n'));
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}
