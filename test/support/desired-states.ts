import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import {
  checksumOf,
  type DesiredState,
  stateChecksum,
  type WithheldSecret,
} from '../../agent/src/cluster/desired-state.ts';
import type { ApplyResult } from '../../agent/src/cluster/reconcile.ts';

export const CLUSTER = 'cluster_01a';
export const TOKEN = 'cv_cluster_first';

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export interface Wanted {
  namespace?: string;
  name: string;
  type?: string;
  data: Record<string, string>;
}

/** A whole desired state, with the checksums that the service would send. */
export function stateOf(generation: number, wanted: readonly Wanted[], withheld: WithheldSecret[] = []): DesiredState {
  const secrets = wanted.map(({ namespace = 'shop', name, type = 'Opaque', data }) => {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
    const secret = { namespace, name, type, data: encoded };
    return { ...secret, checksum: checksumOf(secret) };
  });
  const state = { cluster_id: CLUSTER, generation, secrets, withheld };
  return { ...state, checksum: stateChecksum(state) };
}

/** The two calls of the service that the operator makes, answered as a test says. */
export class DesiredStates {
  state: unknown = stateOf(1, []);
  status = 200;
  isCut = false;
  notModified = 0;
  readonly reports: { generation: number; results: ApplyResult[] }[] = [];
  url = '';
  #server: Server | null = null;

  async listen(): Promise<this> {
    const server = createServer(async (request, response) => {
      const body = await readText(request);
      if (request.headers['x-cluster-token'] !== TOKEN || this.status !== 200) {
        const status = this.status === 200 ? 401 : this.status;
        response.writeHead(status).end('{"error":{"code":"INVALID_TOKEN"}}');
      } else if (request.method === 'POST' && request.url === `/clusters/${CLUSTER}/status`) {
        this.reports.push(JSON.parse(body));
        response.writeHead(200).end('{}');
      } else if (request.method === 'GET' && request.url === `/clusters/${CLUSTER}/desired-state`) {
        const text = JSON.stringify(this.state);
        const etag = `"${(this.state as DesiredState).checksum}"`;
        if (request.headers['if-none-match'] === etag) {
          this.notModified++;
          response.writeHead(304, { etag }).end();
        } else if (this.isCut) {
          response.writeHead(200, { 'content-length': String(text.length) }).write(text.slice(0, -20));
          setTimeout(() => response.destroy(), 20);
        } else response.writeHead(200, { etag }).end(text);
      } else response.writeHead(404).end('{}');
    });
    this.#server = server;
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  close(): void {
    this.#server?.close().closeAllConnections();
  }

  last(): ApplyResult[] {
    return this.reports.at(-1)?.results ?? [];
  }

  states(): string[] {
    return this.last().map(({ namespace, secret_name, state }) => `${namespace}/${secret_name} ${state}`);
  }
}
