export interface ListeningPorts {
  port: number;
  /** The port of the additional TLS listener, if there is one. */
  tlsPort: number | null;
}

/** The settings that decide under which URLs the service is reached. */
export interface AddressSettings {
  readonly port: number;
  baseUrl(port: number): string;
  readonly hasBaseUrl: boolean;
  audience(port: number): string;
  /** Further audiences that a method or federation may expect. */
  readonly audiences: readonly string[];
}

/** The URLs under which clients reach this service. The ports are known only once it listens, because a setting of 0 takes any free port. */
export class Addresses {
  readonly #config: AddressSettings;
  #ports: ListeningPorts;

  constructor(config: AddressSettings) {
    this.#config = config;
    this.#ports = { port: config.port, tlsPort: null };
  }

  /** Called once, when the listeners are open. Until then, the URLs have the configured port. */
  listening(ports: ListeningPorts): void {
    this.#ports = ports;
  }

  get port(): number {
    return this.#ports.port;
  }

  get baseUrl(): string {
    return this.#config.baseUrl(this.#ports.port);
  }

  get audience(): string {
    return this.#config.audience(this.#ports.port);
  }

  /** Why a method or federation may not expect tokens for this audience, or null. A token for another service must not open this one. */
  refusalOfAudience(expected: string): string | null {
    const accepted = [this.audience, ...this.#config.audiences];
    if (accepted.includes(expected)) return null;
    return `must be the audience of this service, ${accepted.join(' or ')}: the operator lists others in CV_AUDIENCES`;
  }

  /** The URL of the additional TLS listener, if there is one. If a base URL is configured, its host name is used. */
  get tlsUrl(): string | null {
    const { tlsPort } = this.#ports;
    return tlsPort === null ? null : `https://${new URL(this.baseUrl).hostname}:${tlsPort}`;
  }

  /** The URL at which a client can present a certificate, if there is one. Plain http has none. */
  get certificateUrl(): string | null {
    return this.baseUrl.startsWith('https:') ? this.baseUrl : this.tlsUrl;
  }

  /** Every origin that clients may use. A configured base URL is the only one. */
  get origins(): readonly string[] {
    const { baseUrl, tlsUrl } = this;
    return tlsUrl === null || this.#config.hasBaseUrl ? [baseUrl] : [baseUrl, tlsUrl];
  }
}
