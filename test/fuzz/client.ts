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

/** Seconds that this process lived through: one that was held up as a whole has not waited. */
const ANSWER_TICKS_MAX = 90;
const TICK_MS = 1000;

class ClosedConnection extends Error {}

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
    const answer = await this.#exchange(sent).catch((error) => {
      if (error instanceof ClosedConnection) return this.#exchange(sent);
      throw error;
    });
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
      });
      sent.on('response', (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => resolve(answerOf(response.statusCode ?? 0, response.headers, Buffer.concat(pieces))));
      });
      let ticks = 0;
      const timer = setInterval(() => {
        ticks++;
        if (ticks > ANSWER_TICKS_MAX) sent.destroy(new Error('no answer in time'));
      }, TICK_MS);
      sent.on('close', () => clearInterval(timer));
      // A connection that was kept open may have been closed in that very moment, and nobody has read the request.
      sent.on('error', (error) => reject(sent.reusedSocket ? new ClosedConnection(error.message) : error));
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
