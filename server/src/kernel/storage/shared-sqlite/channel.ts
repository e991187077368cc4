import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';

const LENGTH_BYTES = 4;

/**
 * Messages over a socket between two processes of one command, each behind its length. Both ends have the same root key and may read the same
 * files, so what arrives is trusted as what this process itself computes.
 */
export class Channel<Sent, Received> {
  readonly #socket: Socket;
  readonly #receive: (message: Received) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #bytesNeeded = LENGTH_BYTES;
  #isCorked = false;

  constructor(socket: Socket, receive: (message: Received) => void) {
    this.#socket = socket;
    this.#receive = receive;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#add(chunk));
  }

  /** Messages of one turn of the event loop are written together. */
  send(message: Sent): void {
    const body = serialize(message);
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeUInt32BE(body.length);
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(length);
    this.#socket.write(body);
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#bytesNeeded) return;
    const received = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    let at = 0;
    this.#bytesNeeded = LENGTH_BYTES;
    while (received.length - at >= LENGTH_BYTES) {
      const end = at + LENGTH_BYTES + received.readUInt32BE(at);
      this.#bytesNeeded = end - at;
      if (end > received.length) break;
      this.#receive(deserialize(received.subarray(at + LENGTH_BYTES, end)) as Received);
      at = end;
      this.#bytesNeeded = LENGTH_BYTES;
    }
    this.#chunks = at === received.length ? [] : [received.subarray(at)];
    this.#bytes = received.length - at;
  }
}
