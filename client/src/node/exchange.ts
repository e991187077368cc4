import type { Agent as HttpAgent, IncomingMessage } from 'node:http';

export interface Exchange {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  signal?: AbortSignal | undefined;
  route: { agent: HttpAgent } | { socketPath: string };
  bytesMax: number;
}

export interface WholeAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** Sends one request and reads the whole answer. Redirects are not followed, since credentials would go with them. */
export function exchange({ method, url, headers, body, signal, route, bytesMax }: Exchange): Promise<WholeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  // Loaded with the first request: a command that sends none starts sooner without them.
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const request = send(url, { method, ...route, ...(signal && { signal }), headers: { ...headers, ...length } });
  request.once('error', reject);
  request.once('response', (response: IncomingMessage) => {
    const chunks: Buffer[] = [];
    let total = 0;
    response.on('data', (chunk: Buffer) => {
      total += chunk.length;
      if (total > bytesMax) request.destroy(new Error('the answer is too large'));
      else chunks.push(chunk);
    });
    response.once('error', reject);
    // After the end this has no effect any more.
    response.once('close', () => reject(new Error('the answer was cut')));
    response.once('end', () => {
      if (!response.complete) return;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
    });
  });
  request.end(body);
  return promise;
}
