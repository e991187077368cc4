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

  /** Where the listener for TLS is reached, if there is one: with a base URL configured, by the name in it. */
  get tlsUrl(): string | null {
    return this.tlsPort === null ? null : `https://${new URL(this.baseUrl).hostname}:${this.tlsPort}`;
  }

  /** Every origin that clients may use. With a base URL configured it is that one alone. */
  get origins(): readonly string[] {
    const { baseUrl, tlsUrl } = this;
    return tlsUrl === null || this.#config.hasBaseUrl ? [baseUrl] : [baseUrl, tlsUrl];
  }
}
