import { Agent, type RequestOptions, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Shown } from '../support/machines.ts';
import type { Service } from '../support/service.ts';
import type { Sent } from './request.ts';

/** What came back. Not through fetch, which corrects what is sent. */
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

const POOLED = { keepAlive: true, maxSockets: 16 };

class ClosedConnection extends Error {}

/** Spoils an answer on its way, to show that this would be seen. */
export type Meddle = (sent: Sent, answer: Answer) => void;

export class Client {
  readonly #main: URL;
  readonly #tls: URL;
  readonly #meddle: Meddle;
  readonly #agent = new Agent(POOLED);
  /** By the certificate that is shown: connections are opened with one, and keep it. */
  readonly #tlsAgents = new Map<string, TlsAgent>();

  constructor({ url, tlsUrl }: Pick<Service, 'url' | 'tlsUrl'>, meddle: Meddle = () => {}) {
    this.#main = new URL(url);
    this.#tls = new URL(tlsUrl);
    this.#meddle = meddle;
  }

  /** With a certificate on the listener that takes one, without on the main one. */
  async send(sent: Sent, shown: Shown | null): Promise<Answer> {
    const answer = await this.#exchange(sent, shown).catch((error) => {
      if (error instanceof ClosedConnection) return this.#exchange(sent, shown);
      throw error;
    });
    this.#meddle(sent, answer);
    return answer;
  }

  #open(shown: Shown | null, options: RequestOptions) {
    if (shown === null) return request({ ...options, agent: this.#agent });
    return tlsRequest({ ...options, agent: this.#tlsAgent(shown) });
  }

  #tlsAgent({ certificate, private_key }: Shown): TlsAgent {
    let agent = this.#tlsAgents.get(certificate);
    if (agent === undefined) {
      // The service renews its own certificate by a clock that runs ahead of this one: it is not valid here yet.
      agent = new TlsAgent({ ...POOLED, rejectUnauthorized: false, cert: certificate, key: private_key });
      this.#tlsAgents.set(certificate, agent);
    }
    return agent;
  }

  #exchange({ method, path, headers, body }: Sent, shown: Shown | null): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const all = [...headers, ...(body === null ? [] : [['content-length', String(body.length)] as [string, string]])];
      const { hostname, port } = shown === null ? this.#main : this.#tls;
      const host = ['host', `${hostname}:${port}`];
      const sent = this.#open(shown, { hostname, port, method, path, headers: [...host, ...all.flat()] });
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
      // A connection that stayed open may have been closed in that very moment, and nobody has read the request.
      sent.on('error', (error) => reject(sent.reusedSocket ? new ClosedConnection(error.message) : error));
      sent.end(body ?? undefined);
    });
  }

  close(): void {
    for (const agent of [this.#agent, ...this.#tlsAgents.values()]) agent.destroy();
  }
}

function answerOf(status: number, headers: Answer['headers'], bytes: Buffer): Answer {
  const text = bytes.toString('utf8');
  const isJson = /^application\/(scim\+)?json/.test(String(headers['content-type'] ?? ''));
  return { status, headers, bytes, text, json: isJson && text !== '' ? JSON.parse(text) : undefined };
}
