import type { Server as NetServer, Socket } from 'node:net';
import { addressGroup } from '../base/address-group.ts';
import { clientAddress, isTrustedPeer, type TrustedProxies } from '../base/client-address.ts';

export interface ConnectionLimitOptions {
  perAddress: number;
  /** On each listener. */
  total: number;
  /** On all listeners together. */
  descriptors: number;
  /** The connections of all clients come from these proxies, so they have no limit per address. */
  trusted: TrustedProxies;
  onRefused(reason: 'address' | 'total'): void;
  /** Called when a connection is opened or closed. */
  onChanged(difference: 1 | -1): void;
}

/** Closes connections beyond the limit per address, over all listeners, and beyond the total. */
export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #open = new Map<string, number>();
  /** Open connections on all listeners. */
  #total = 0;

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  guard(listener: NetServer): void {
    listener.maxConnections = this.#options.total;
    // Otherwise a worker would hand the connection back to the supervisor, which would offer it to the workers again and again.
    (listener as NetServer & { dropMaxConnection: boolean }).dropMaxConnection = true;
    listener.on('drop', () => this.#options.onRefused('total'));
    listener.on('connection', (socket: Socket) => this.#count(socket));
  }

  #count(socket: Socket): void {
    const { perAddress, descriptors, trusted, onRefused, onChanged } = this.#options;
    this.#total++;
    onChanged(1);
    socket.once('close', () => {
      this.#total--;
      onChanged(-1);
    });
    if (this.#total > descriptors) {
      onRefused('total');
      socket.destroy();
      return;
    }
    const remote = socket.remoteAddress ?? '';
    if (isTrustedPeer(remote, trusted)) return;
    const address = addressGroup(clientAddress(remote, undefined, trusted));
    const open = this.#open.get(address) ?? 0;
    if (open >= perAddress) {
      onRefused('address');
      socket.destroy();
      return;
    }
    this.#open.set(address, open + 1);
    socket.once('close', () => this.#release(address));
  }

  #release(address: string): void {
    const left = (this.#open.get(address) ?? 0) - 1;
    if (left > 0) this.#open.set(address, left);
    else this.#open.delete(address);
  }
}
