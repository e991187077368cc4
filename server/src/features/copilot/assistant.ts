import { readFile } from 'node:fs/promises';
import { DAY_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import { StartError } from '../../kernel/base/data-folder.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import { OutgoingFailure, type OutgoingStream } from '../../kernel/outbound/http-client.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { CopilotKernel } from './links.ts';
import { AzureOpenAi } from './providers/azure-openai.ts';
import { Bedrock } from './providers/bedrock.ts';
import { Ollama } from './providers/ollama.ts';
import { OpenAi } from './providers/openai.ts';
import { MalformedAnswer, type Message, type Provider, type ProviderKeys } from './providers/provider.ts';
import { Redaction } from './redactor/redaction.ts';
import { RedactedStream } from './redactor/stream.ts';
import { REPLY_LENGTH_MAX } from './schemas.ts';
import { type CopilotConfig, copilotSettings } from './settings.ts';
import { countRequest } from './store.ts';
import { StoredMatches } from './stored-matches.ts';

const CUT_OFF = `\n\n[The reply is longer than ${REPLY_LENGTH_MAX} characters and is cut off here.]`;
/** What surrounds the text takes more, above all in a stream, where each word may be an event of its own. */
const REPLY_BYTES_MAX = 512 * 1024;
const STREAM_BYTES_MAX = 8 * 1024 * 1024;
const REPLY_TOKENS_MAX = 2048;
const RETRY_SECONDS = 10;

type Outcome = 'answered' | 'unavailable' | 'cancelled';

/** One request to the assistant: what was masked in it, and what the audit log says about it. */
export class Conversation {
  readonly redaction: Redaction;
  readonly #ctx: Context;
  promptBytes = 0;
  replyBytes = 0;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    const matches = new StoredMatches(ctx);
    this.redaction = new Redaction(
      (texts) => matches.find(texts),
      () => nextTurn(ctx.tenantId),
    );
  }

  /** Sizes and counts: neither the prompt nor the reply is in any log. */
  get details(): Record<string, unknown> {
    const { redaction, promptBytes, replyBytes } = this;
    return {
      prompt_bytes: promptBytes,
      reply_bytes: replyBytes,
      masked: redaction.counts,
      stored_values: redaction.stored,
    };
  }

  describe(more: Record<string, unknown>): void {
    this.#ctx.record.describe({ ...this.details, ...more });
  }

  async masked(messages: readonly Message[]): Promise<Message[]> {
    const masked: Message[] = [];
    for (const { role, content } of messages) {
      // Our own instructions have nothing to mask.
      masked.push({ role, content: role === 'system' ? content : await this.redaction.mask(content) });
    }
    return masked;
  }
}

/** Sends conversations to the configured provider. Everything that leaves and everything that comes back is masked here. */
export class Assistant {
  readonly #kernel: Pick<Kernel, 'audit' | 'clock' | 'http'>;
  readonly #config: CopilotConfig | null;
  readonly #provider: Provider | null;
  readonly #requests;
  readonly #seconds;
  readonly #masked;

  constructor(kernel: CopilotKernel) {
    this.#kernel = kernel;
    this.#config = kernel.config.of(copilotSettings);
    this.#provider = this.#config === null ? null : providerOf(this.#config);
    const { metrics } = kernel;
    this.#requests = metrics.counter(
      'cv_copilot_requests_total',
      'Requests to the provider of the assistant, by outcome.',
      ['outcome'],
    );
    this.#seconds = metrics.histogram(
      'cv_copilot_request_duration_seconds',
      'Duration of requests to the provider of the assistant.',
      [0.1, 0.5, 1, 2, 5, 10, 30, 60],
    );
    this.#masked = metrics.counter(
      'cv_copilot_masked_total',
      'What was masked in prompts and replies of the assistant, by kind.',
      ['kind'],
    );
  }

  /** Fails the start if a file with a key cannot be read, instead of the first request. */
  async open(): Promise<void> {
    if (this.#config === null) return;
    try {
      await keysOf(this.#config);
    } catch (error) {
      const { code = 'empty' } = error as NodeJS.ErrnoException;
      throw new StartError(
        `A file with a key of the assistant cannot be read (${code}): check CV_COPILOT_API_KEY_FILE and CV_COPILOT_AWS_SESSION_TOKEN_FILE.`,
      );
    }
  }

  requireEnabled(): void {
    if (this.#config !== null) return;
    const message = 'The assistant is not enabled here: the operator enables it with CV_COPILOT_PROVIDER.';
    throw new CofferError('COPILOT_DISABLED', message);
  }

  /** The reply as the provider sent it, for a caller that looks for secrets in it before anything is masked. */
  async rawReply(ctx: Context, conversation: Conversation, messages: readonly Message[]): Promise<string> {
    const started = performance.now();
    const { provider, stream } = await this.#send(ctx, conversation, messages, false);
    try {
      const pieces: Buffer[] = [];
      for await (const piece of stream.pieces) pieces.push(piece);
      const body = Buffer.concat(pieces);
      conversation.replyBytes = body.length;
      const text = provider.textOf(body);
      this.#observe('answered', started);
      conversation.describe({ ...this.#model, duration_ms: Math.round(performance.now() - started) });
      return text;
    } catch (error) {
      throw this.#unavailable(conversation, error, started);
    }
  }

  async reply(ctx: Context, conversation: Conversation, messages: readonly Message[]): Promise<string> {
    const reply = await this.rawReply(ctx, conversation, messages);
    const text =
      reply.length <= REPLY_LENGTH_MAX
        ? await conversation.redaction.mask(reply)
        : await cutOff(new RedactedStream(conversation.redaction), reply.slice(0, REPLY_LENGTH_MAX));
    this.finish(conversation);
    return text;
  }

  /** For a reply of which a part is of no use. */
  tooLong(conversation: Conversation): CofferError {
    this.finish(conversation);
    return new CofferError(
      'COPILOT_UNAVAILABLE',
      `The reply of the model is longer than ${REPLY_LENGTH_MAX} characters: ask for less at once.`,
      { retryAfterSeconds: RETRY_SECONDS, auditReason: 'the reply is too long' },
    );
  }

  /** The parts of the reply. It resolves once the provider has begun to answer, so that until then an error has a status of its own. */
  async replyInParts(
    ctx: Context,
    conversation: Conversation,
    messages: readonly Message[],
  ): Promise<AsyncGenerator<string, void>> {
    const started = performance.now();
    const { provider, stream } = await this.#send(ctx, conversation, messages, true);
    conversation.describe(this.#model);
    return this.#parts(ctx, conversation, { provider, stream, started });
  }

  async *#parts(
    ctx: Context,
    conversation: Conversation,
    { provider, stream, started }: { provider: Provider; stream: OutgoingStream; started: number },
  ): AsyncGenerator<string, void> {
    const redacted = new RedactedStream(conversation.redaction);
    let outcome: Outcome = 'cancelled';
    let length = 0;
    try {
      for await (const part of provider.parts(stream.pieces)) {
        conversation.replyBytes += Buffer.byteLength(part);
        const room = REPLY_LENGTH_MAX - length;
        length += part.length;
        const safe = part.length <= room ? await redacted.push(part) : await cutOff(redacted, part.slice(0, room));
        if (safe !== '') yield safe;
        if (part.length > room) break;
      }
      const rest = length <= REPLY_LENGTH_MAX ? await redacted.end() : '';
      if (rest !== '') yield rest;
      outcome = 'answered';
    } catch (error) {
      outcome = isCancelled(error) ? 'cancelled' : 'unavailable';
      throw unavailable(error);
    } finally {
      await stream.pieces.return();
      this.#observe(outcome, started);
      this.finish(conversation);
      const details = {
        ...conversation.details,
        ...this.#model,
        outcome,
        duration_ms: Math.round(performance.now() - started),
      };
      // The entry of the request was written before the first part, when nothing of this was known.
      await this.#kernel.audit.record(ctx.record.separateEntry('copilot:chat_end', 'copilot', details));
    }
  }

  /** Called once the reply is masked, when all counts are known. */
  finish(conversation: Conversation): void {
    for (const [kind, count] of Object.entries(conversation.redaction.counts)) this.#masked.labels(kind).inc(count);
    conversation.describe({});
  }

  get #model() {
    return { provider: this.#config?.provider, model: this.#config?.model };
  }

  async #send(
    ctx: Context,
    conversation: Conversation,
    messages: readonly Message[],
    isStreamed: boolean,
  ): Promise<{ provider: Provider; stream: OutgoingStream }> {
    this.requireEnabled();
    const [config, provider] = [this.#config as CopilotConfig, this.#provider as Provider];
    await this.#countRequest(ctx, config);
    const masked = await conversation.masked(messages);
    const started = performance.now();
    try {
      const prompt = { messages: masked, tokensMax: REPLY_TOKENS_MAX, isStreamed };
      const { url, headers, body } = provider.request(prompt, await keysOf(config), this.#kernel.clock.now());
      conversation.promptBytes = Buffer.byteLength(body);
      const stream = await this.#kernel.http.open({
        owner: ctx.tenantId,
        url,
        method: 'POST',
        headers: { ...headers, accept: isStreamed ? '*/*' : 'application/json' },
        body,
        bodyBytesMax: isStreamed ? STREAM_BYTES_MAX : REPLY_BYTES_MAX,
        timeoutMs: config.timeoutMs,
        signal: ctx.call.departure?.(),
      });
      if (stream.status !== 200) {
        await stream.pieces.return();
        throw new MalformedAnswer(`the provider responded with status ${stream.status}`);
      }
      return { provider, stream };
    } catch (error) {
      throw this.#unavailable(conversation, error, started);
    }
  }

  /** Counted before anything is sent, so that requests at the same time cannot exceed the limit. */
  async #countRequest(ctx: Context, { requestsPerDay }: CopilotConfig): Promise<void> {
    const dayStart = ctx.now - (ctx.now % DAY_MS);
    await ctx.database.transaction(async (tx) => {
      const requests = await countRequest(tx, ctx.tenantId, dayStart);
      if (requests <= requestsPerDay) return;
      const message = `The tenant has used its ${requestsPerDay} requests to the assistant for today: try again tomorrow, or ask the operator.`;
      const retryAfterSeconds = Math.ceil((dayStart + DAY_MS - ctx.now) / SECOND_MS);
      throw new CofferError('RATE_LIMIT_EXCEEDED', message, { retryAfterSeconds });
    });
  }

  #unavailable(conversation: Conversation, error: unknown, started: number): unknown {
    const outcome = isCancelled(error) ? 'cancelled' : 'unavailable';
    this.#observe(outcome, started);
    conversation.describe({ ...this.#model, outcome, duration_ms: Math.round(performance.now() - started) });
    return unavailable(error);
  }

  #observe(outcome: Outcome, started: number): void {
    this.#requests.labels(outcome).inc();
    this.#seconds.observe((performance.now() - started) / SECOND_MS);
  }
}

/** The last part of a reply that is too long, and a sentence that says so. */
async function cutOff(redacted: RedactedStream, part: string): Promise<string> {
  const safe = await redacted.push(part);
  return `${safe}${await redacted.cut()}${CUT_OFF}`;
}

function isCancelled(error: unknown): boolean {
  return error instanceof OutgoingFailure && error.problem === 'cancelled';
}

/** What went wrong with the provider, in words of our own. Other errors are defects, and stay what they are. */
function unavailable(error: unknown): unknown {
  const isFile = error instanceof Error && 'code' in error && 'path' in error;
  if (!(error instanceof OutgoingFailure) && !(error instanceof MalformedAnswer) && !isFile) return error;
  const reason = isFile ? 'the file with its key cannot be read' : error.message;
  return new CofferError(
    'COPILOT_UNAVAILABLE',
    `The provider of the assistant cannot be used: ${reason}. Try again later.`,
    {
      retryAfterSeconds: RETRY_SECONDS,
      auditReason: reason,
    },
  );
}

function providerOf(config: CopilotConfig): Provider {
  const { provider, url, model, aws } = config;
  if (provider === 'openai') return new OpenAi({ url, model });
  if (provider === 'azure-openai') return new AzureOpenAi({ url, model });
  if (provider === 'ollama') return new Ollama({ url, model });
  if (aws === null) throw new StartError('CV_COPILOT_AWS_REGION must be set for bedrock.');
  return new Bedrock({ url, model, region: aws.region, accessKeyId: aws.accessKeyId });
}

async function keysOf({ keyFile, aws }: CopilotConfig): Promise<ProviderKeys> {
  const read = async (file: string | null | undefined) => (file == null ? null : (await readFile(file, 'utf8')).trim());
  return { key: await read(keyFile), sessionToken: await read(aws?.sessionTokenFile) };
}
