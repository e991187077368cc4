import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { TLSSocket } from 'node:tls';
import type { Config } from '../../settings/config.ts';
import type { Logger } from '../observability/log.ts';

/** Host headers that were accepted before, so that a request does not parse its own again. */
const ACCEPTED_MAX = 256;
const ANY = '*';

/**
 * The names by which browsers may reach the service over plain http. A page whose name is pointed at this service by its owner (DNS rebinding) would
 * otherwise be a page of the service itself for the browser, inside the network of the person who opened it.
 */
export class OwnHosts {
  readonly #names: ReadonlySet<string>;
  readonly #suffixes: readonly string[];
  readonly #accepted = new Set<string>();

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    this.#suffixes = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
  }

  /** Whether this Host header was checked before, and accepted. */
  isKnown({ headers: { host } }: IncomingMessage): boolean {
    return host !== undefined && this.#accepted.has(host);
  }

  /** With TLS the certificate has shown the browser that the name is ours, and programs name what they like. */
  isMeant({ headers: { host }, socket }: IncomingMessage): boolean {
    if (host === undefined || this.#accepted.has(host) || (socket as TLSSocket).encrypted === true) return true;
    if (!this.has(host)) return false;
    if (this.#accepted.size < ACCEPTED_MAX) this.#accepted.add(host);
    return true;
  }

  has(host: string): boolean {
    const name = nameIn(host);
    // An address needs no DNS, so nobody can point it elsewhere.
    if (isIP(name) !== 0 || this.#names.has(name) || this.#names.has(ANY)) return true;
    return this.#suffixes.some((suffix) => name.endsWith(suffix) && name.length > suffix.length);
  }
}

/** An address in brackets, or anything without a colon, and a port. */
const FORM = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d*)?$/i;

/** A host without its port, brackets and trailing dot; empty if it has no such form. */
function nameIn(host: string): string {
  const [, address, name = address ?? ''] = FORM.exec(host) ?? [];
  return (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
}

type Named = Pick<Config, 'host' | 'port' | 'baseUrl' | 'hosts'>;

/** What the operator configured, what clients call the region, and what the machine is called in its own network. */
export function ownNames(
  { host, port, baseUrl, hosts }: Named,
  regionUrl: string | null,
  machine = hostname(),
): string[] {
  const [label = ''] = machine.split('.');
  const urls = [baseUrl(port), regionUrl].filter((url) => url !== null);
  const configured = [host, ...hosts, ...urls.map((url) => new URL(url).hostname)];
  const names = ['localhost', machine, label, `${label}.local`, ...configured];
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

const FOREIGN_HOSTS_MAX = 16;
const FOREIGN_HOST_LENGTH_MAX = 253;
const FOREIGN_HOST =
  'If clients or a proxy reach the service under this name, add it to CV_HOSTS. Otherwise somebody points a name of theirs at it.';

/** Logs each foreign name once: an operator who left one out has to see it, and a stranger must not fill the log. */
export class ForeignHosts {
  readonly #log: Logger;
  readonly #reported = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  report(host = ''): void {
    if (this.#reported.has(host) || this.#reported.size >= FOREIGN_HOSTS_MAX) return;
    this.#reported.add(host);
    const named = host.slice(0, FOREIGN_HOST_LENGTH_MAX);
    this.#log.warn({ host: named, what_to_do: FOREIGN_HOST }, 'a request named a host that is not this service');
  }
}
