import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SECOND_MS } from '../../../kernel/base/clock.ts';
import { type AddressGuard, BlockedAddress, UnresolvedHost } from '../../../kernel/outbound/address-guard.ts';
import type { OutgoingSlots } from '../../../kernel/outbound/outgoing-slots.ts';
import { FRAME_BYTES_MAX, syslogFrame } from './syslog-frame.ts';
import {
  ALL_DELIVERED,
  type BatchLimits,
  type Encoded,
  NotDelivered,
  type Receipt,
  type Transport,
} from './transport.ts';

const TIMEOUT_MS = 15 * SECOND_MS;
/** The header and structured data before the message. */
const FRAME_OVERHEAD_BYTES = 512;

export interface SyslogEndpoint {
  isTls: boolean;
  host: string;
  port: number;
}

/** `tls://host:port` or `tcp://host:port`; null for anything else. */
export function parseSyslogEndpoint(text: string): SyslogEndpoint | null {
  const match = /^(tls|tcp):\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+):([1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return null;
  return { isTls: match[1] === 'tls', host: match[2] ?? '', port };
}

/** Syslog over TLS or TCP. It has no acknowledgement: only a connection that both ends closed in the orderly way proves that all of it arrived. */
export class Syslog implements Transport {
  readonly limits: BatchLimits = {
    entriesMax: 500,
    bytesMax: 1024 * 1024,
    entryBytesMax: FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES,
  };
  readonly unconfirmedMax = 1000;
  readonly #guard: AddressGuard;
  readonly #slots: OutgoingSlots;
  readonly #owner: string;
  readonly #endpoint: SyslogEndpoint;
  readonly #caPem: string | null;
  readonly #version: string;
  #socket: Socket | null = null;
  #isBroken = false;

  constructor(
    { guard, slots, version }: { guard: AddressGuard; slots: OutgoingSlots; version: string },
    { owner, endpoint, caPem }: { owner: string; endpoint: SyslogEndpoint; caPem: string | null },
  ) {
    this.#guard = guard;
    this.#slots = slots;
    this.#owner = owner;
    this.#endpoint = endpoint;
    this.#caPem = caPem;
    this.#version = version;
  }

  async send(batch: readonly Encoded[], signal: AbortSignal): Promise<Receipt> {
    const socket = await this.#connected();
    const frames = batch.map(({ entry, text }) => syslogFrame(entry, text, this.#version));
    if (!socket.write(Buffer.concat(frames))) await this.#inTime(once(socket, 'drain', { signal }));
    if (this.#isBroken) throw this.#broken();
    return ALL_DELIVERED;
  }

  async finish(): Promise<void> {
    const socket = this.#socket;
    if (socket === null) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.end();
    await this.#inTime(closed);
    this.#socket = null;
    if (this.#isBroken) throw this.#broken();
  }

  async #connected(): Promise<Socket> {
    if (this.#isBroken) throw this.#broken();
    this.#socket ??= await this.#connect();
    return this.#socket;
  }

  #broken(): NotDelivered {
    this.#socket?.destroy();
    this.#socket = null;
    this.#isBroken = false;
    return new NotDelivered('the connection was closed, so the last entries may not have arrived');
  }

  async #connect(): Promise<Socket> {
    const leave = this.#slots.enter(this.#owner, `${this.#endpoint.host}:${this.#endpoint.port}`);
    if (leave === null) throw new NotDelivered('too many outgoing requests are in progress');
    try {
      return await this.#open(leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Calls `leave` when the connection has ended. */
  async #open(leave: () => void): Promise<Socket> {
    const { host, port, isTls } = this.#endpoint;
    const { address, isPrivateAllowed } = await this.#guard.resolve(host).catch((error: unknown) => {
      if (error instanceof BlockedAddress || error instanceof UnresolvedHost) throw new NotDelivered(error.message);
      throw error;
    });
    if (!isTls && !isPrivateAllowed) {
      throw new NotDelivered('a connection without TLS is only for private hosts that the operator has allowed');
    }
    const name = host.startsWith('[') ? host.slice(1, -1) : host;
    const socket = isTls
      ? connectTls({
          host: address,
          port,
          minVersion: 'TLSv1.2',
          // The certificate must be for the name in the endpoint, although the connection goes to an address.
          ...(isIP(name) === 0 && { servername: name }),
          ...(this.#caPem !== null && { ca: this.#caPem }),
        })
      : connectTcp({ host: address, port });
    const opened = new Promise<void>((resolve, reject) => {
      socket.once(isTls ? 'secureConnect' : 'connect', resolve);
      socket.once('error', (error: NodeJS.ErrnoException) => {
        reject(new NotDelivered(`the connection failed (${error.code ?? 'unknown'})`));
      });
    });
    socket.once('close', leave);
    socket.on('error', () => {
      this.#isBroken = true;
    });
    // Whatever the receiver says is read and dropped, so that the end of the connection is noticed.
    socket.resume();
    socket.on('end', () => {
      if (!socket.writableEnded) this.#isBroken = true;
    });
    try {
      await this.#inTime(opened, socket);
    } catch (error) {
      this.#isBroken = false;
      socket.destroy();
      throw error;
    }
    return socket;
  }

  async #inTime<T>(work: Promise<T>, socket: Socket | null = this.#socket): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new NotDelivered('the receiver did not respond in time')), TIMEOUT_MS);
    try {
      return await Promise.race([work, late.promise]);
    } catch (error) {
      socket?.destroy();
      this.#socket = null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}
