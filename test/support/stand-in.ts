import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../server/src/kernel/base/clock.ts';
import { AddressGuard } from '../../server/src/kernel/outbound/address-guard.ts';
import { HttpClient, type OutgoingRequest } from '../../server/src/kernel/outbound/http-client.ts';
import type { OutgoingCalls, SealSurroundings } from '../../server/src/kernel/seals/surroundings.ts';

export interface StandInRequest {
  method: string;
  /** With the host that the request was meant for. */
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface StandInAnswer {
  status?: number;
  body?: string | object;
}

/** Never answers. */
export const SILENT = 'silent';
/** Closes the connection. */
export const GONE = 'gone';

type Answered = StandInAnswer | typeof SILENT | typeof GONE;
type Answering = (request: StandInRequest) => Answered | Promise<Answered>;

const MEANT_FOR = 'x-meant-for';
/** Long enough for a busy machine, and for what never answers short enough. */
const TIMEOUT_MS = 3000;

/** A local server that stands in for services of others. */
export class StandIn {
  readonly requests: StandInRequest[] = [];
  /** What is answered in place of the service, while it is set. */
  instead: Answering | null = null;
  readonly #answer: Answering;
  readonly #server: Server;

  constructor(answer: Answering) {
    this.#answer = answer;
    this.#server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { [MEANT_FOR]: origin, ...headers } = incoming.headers;
      const url = new URL(incoming.url ?? '/', String(origin));
      const request = { method: incoming.method ?? '', url, headers, body: Buffer.concat(chunks).toString('utf8') };
      this.requests.push(request);
      const answer = await (this.instead ?? this.#answer)(request);
      if (answer === SILENT) return;
      if (answer === GONE) {
        incoming.socket.destroy();
        return;
      }
      const { status = 200, body = '' } = answer;
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Everything reaches this server, by the client of the service and under the name that it was meant for. */
  get calls(): OutgoingCalls {
    const client = new HttpClient(new AddressGuard(['127.0.0.1/32']));
    const { port } = this.#server.address() as AddressInfo;
    return {
      send: (request: OutgoingRequest) => {
        const { origin, host } = new URL(request.url);
        const url = request.url.replace(origin, `http://127.0.0.1:${port}`);
        return client.send({ ...request, url, headers: { ...request.headers, [MEANT_FOR]: `http://${host}` } });
      },
    };
  }

  surroundings(env: Record<string, string> = {}): SealSurroundings {
    const { calls } = this;
    return {
      http: calls,
      machine: calls,
      env,
      clock: systemClock,
      owner: 'ten_seals',
      timeoutMs: TIMEOUT_MS,
      backoffMs: 5,
    };
  }
}
