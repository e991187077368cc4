/** One message of a conversation, already masked. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The credentials of a request, read from their files. */
export interface ProviderKeys {
  readonly key: string | null;
  readonly sessionToken: string | null;
}

export interface ProviderRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Conversation {
  readonly messages: readonly Message[];
  readonly tokensMax: number;
  readonly isStreamed: boolean;
}

/** One provider of models: how a request to it is made, and how its responses are read. It makes no calls itself. */
export interface Provider {
  request(conversation: Conversation, keys: ProviderKeys, now: number): ProviderRequest;
  /** The text of a whole answer; throws MalformedAnswer. */
  textOf(body: Buffer): string;
  /** The parts of a text as they arrive; throws MalformedAnswer if the stream ends before the answer does. */
  parts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void>;
}

/** What the provider sent is not an answer. The message is our own and quotes nothing of it. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer';
}

/** Parses an answer of the provider, which may be anything. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedAnswer('the response is not JSON');
  }
}

/** The member of a parsed JSON value at a path; undefined if there is none. */
export function memberAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

export function requiredText(value: unknown): string {
  if (typeof value !== 'string') throw new MalformedAnswer('the response has no text');
  return value;
}

/** A line or event longer than this is no answer of a model. */
const LINE_LENGTH_MAX = 256 * 1024;

/** The lines of a stream, without their ends. A last line without an end is a stream that was cut off, unless it is empty. */
export async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8');
  // The parts of the line that has not ended: joining them with each piece would take quadratic time.
  let rest: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n');
    rest.push(first);
    length += first.length;
    for (const next of others) {
      const line = rest.join('');
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
      rest = [next];
      length = next.length;
    }
    if (length > LINE_LENGTH_MAX) throw new MalformedAnswer('a line of the response is too long');
  }
  if (length > 0) yield rest.join('');
}
