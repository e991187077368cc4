import type { Config } from './config.ts';

/** Where this service is reached. The ports are known once it listens: a setting of 0 takes any free one. */
export class Addresses {
  readonly #config: Config;
  port: number;
  /** Of the listener for TLS beside the main one, if there is one. */
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

  /** Every origin that clients may use. With a base URL configured it is that one alone. */
  get origins(): readonly string[] {
    const { baseUrl } = this;
    if (this.tlsPort === null || this.#config.hasBaseUrl) return [baseUrl];
    const tls = new URL(baseUrl);
    return [baseUrl, `https://${tls.hostname}:${this.tlsPort}`];
  }
}
