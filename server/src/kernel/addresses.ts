import type { Config } from './config.ts';

/** The URLs under which clients reach this service. The ports are known only once it listens, because a setting of 0 takes any free port. */
export class Addresses {
  readonly #config: Config;
  port: number;
  /** The port of the additional TLS listener, if there is one. */
  tlsPort: number | null = null;

  constructor(config: Config) {
    this.#config = config;
    this.port = config.port;
  }

  get baseUrl(): string {
    return this.#config.baseUrl(this.port);
  }

  get audience(): string {
    return this.#config.audience(this.port);
  }

  /** The URL of the additional TLS listener, if there is one. If a base URL is configured, its host name is used. */
  get tlsUrl(): string | null {
    return this.tlsPort === null ? null : `https://${new URL(this.baseUrl).hostname}:${this.tlsPort}`;
  }

  /** Every origin that clients may use. A configured base URL is the only one. */
  get origins(): readonly string[] {
    const { baseUrl, tlsUrl } = this;
    return tlsUrl === null || this.#config.hasBaseUrl ? [baseUrl] : [baseUrl, tlsUrl];
  }
}
