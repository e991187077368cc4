import {
  type Conversation,
  linesOf,
  MalformedAnswer,
  memberAt,
  type Provider,
  type ProviderKeys,
  type ProviderRequest,
  parseJson,
  requiredText,
} from './provider.ts';

/** A model on a machine of one's own. The key is for a proxy in front of it, since Ollama itself has none. */
export class Ollama implements Provider {
  readonly #base: string;
  readonly #model: string;

  constructor({ url, model }: { url: string; model: string }) {
    this.#base = url;
    this.#model = model;
  }

  request({ messages, tokensMax, isStreamed }: Conversation, { key }: ProviderKeys): ProviderRequest {
    return {
      url: `${this.#base}/api/chat`,
      headers: { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model: this.#model, messages, stream: isStreamed, options: { num_predict: tokensMax } }),
    };
  }

  textOf(body: Buffer): string {
    return requiredText(memberAt(parseJson(body.toString('utf8')), 'message', 'content'));
  }

  /** One JSON object on each line, the last of which says `done`. */
  async *parts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
    for await (const line of linesOf(pieces)) {
      if (line.trim() === '') continue;
      const event = parseJson(line);
      const content = memberAt(event, 'message', 'content');
      if (typeof content === 'string') yield content;
      if (memberAt(event, 'done') === true) return;
    }
    throw new MalformedAnswer('the response was cut off');
  }
}
