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

/** The chat completions of OpenAI, which many servers speak. */
export class OpenAi implements Provider {
  readonly #base: string;
  readonly #model: string;

  constructor({ url, model }: { url: string; model: string }, usualPath = '/v1') {
    this.#base = new URL(url).pathname === '/' ? `${url}${usualPath}` : url;
    this.#model = model;
  }

  request({ messages, tokensMax, isStreamed }: Conversation, { key }: ProviderKeys): ProviderRequest {
    return {
      url: `${this.#base}/chat/completions`,
      headers: { 'content-type': 'application/json', ...this.credentials(key ?? '') },
      body: JSON.stringify({
        model: this.#model,
        messages,
        max_completion_tokens: tokensMax,
        stream: isStreamed,
        // OpenAI stores conversations for thirty days otherwise.
        store: false,
      }),
    };
  }

  protected credentials(key: string): Record<string, string> {
    return { authorization: `Bearer ${key}` };
  }

  textOf(body: Buffer): string {
    return requiredText(memberAt(parseJson(body.toString('utf8')), 'choices', 0, 'message', 'content'));
  }

  async *parts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
    let isFinished = false;
    for await (const line of linesOf(pieces)) {
      if (!line.startsWith('data:')) continue;
      const data = line.slice('data:'.length).trim();
      if (data === '[DONE]') return;
      const choice = memberAt(parseJson(data), 'choices', 0);
      const content = memberAt(choice, 'delta', 'content');
      if (typeof content === 'string') yield content;
      if (typeof memberAt(choice, 'finish_reason') === 'string') isFinished = true;
    }
    if (!isFinished) throw new MalformedAnswer('the response was cut off');
  }
}
