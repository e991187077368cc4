import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { parentPort } from 'node:worker_threads';

/** The thread of `SendingThread`. */

interface ToSend {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
}

export interface Sent {
  status: number;
  rawHeaders: string[];
  bytes: Uint8Array;
  /** Why there was no answer. */
  failure: string | null;
}

const agent = new Agent({ keepAlive: true });

async function send({ url, method, headers, body }: ToSend): Promise<Sent> {
  const sending = request(new URL(url), { method, agent, headers });
  const responded = once(sending, 'response');
  sending.end(body);
  const [response] = (await responded) as [IncomingMessage];
  const bytes = new Uint8Array(await buffer(response));
  return { status: response.statusCode ?? 0, rawHeaders: response.rawHeaders, bytes, failure: null };
}

parentPort?.on('message', (toSend: ToSend) => {
  send(toSend)
    .catch((error: unknown): Sent => ({ status: 0, rawHeaders: [], bytes: new Uint8Array(), failure: String(error) }))
    .then((sent) => parentPort?.postMessage(sent, [sent.bytes.buffer as ArrayBuffer]));
});
