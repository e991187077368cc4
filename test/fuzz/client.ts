import { Agent, request } from 'node:http';
import type { Sent } from './request.ts';

/** What came back. Not through fetch, which mends what is sent. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  text: string;
  /** Undefined if it is not JSON. */
  json: unknown;
}

const ANSWER_TIMEOUT_MS = 60_000;

/** Spoils an answer on its way, to show that this would be seen. */
export type Meddle = (sent: Sent, answer: Answer) => void;

export class Client {
  readonly #url: URL;
  readonly #meddle: Meddle;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor(url: string, meddle: Meddle = () => {}) {
    this.#url = new URL(url);
    this.#meddle = meddle;
  }

  async send(sent: Sent): Promise<Answer> {
    const answer = await this.#exchange(sent);
    this.#meddle(sent, answer);
    return answer;
  }

  #exchange({ method, path, headers, body }: Sent): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const all = [...headers, ...(body === null ? [] : [['content-length', String(body.length)] as [string, string]])];
      const { hostname, port } = this.#url;
      const sent = request({
        hostname,
        port,
        method,
        path,
        agent: this.#agent,
        headers: ['host', `${hostname}:${port}`, ...all.flat()],
        timeout: ANSWER_TIMEOUT_MS,
      });
      sent.on('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(pieces))));
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function answerOf(status: number, headers: Answer['headers'], bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  const isJson = String(headers['content-type'] ?? '').startsWith('application/json');
  return { status, headers, bytes, text, json: isJson && text !== '' ? JSON.parse(text) : undefined };
}
