import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/**
 * `oidc-provider` as a running issuer. Tokens come from its token endpoint, by client credentials, and are for the resource that is asked for;
 * `rotate` makes it sign with a new key and forget the old one, as after a restart with new keys.
 */
export class OidcIssuer {
  readonly url: string;
  readonly close: () => void;
  /** Added to the tokens it makes. */
  claims: Record<string, unknown> = {};
  #serve: RequestListener = (_, response) => response.writeHead(503).end();
  #rotations = 0;

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.close = close;
  }

  static async start(): Promise<OidcIssuer> {
    const server = createServer((request, response) => issuer.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const issuer: OidcIssuer = new OidcIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, close);
    await issuer.rotate();
    return issuer;
  }

  async rotate(): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: `key-${++this.#rotations}`, alg: 'RS256', use: 'sig' };
    const configuration: Configuration = {
      jwks: { keys: [key] } as NonNullable<Configuration['jwks']>,
      clients: [
        {
          client_id: 'workload',
          client_secret: 'workload-secret',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_, resource) => ({
            scope: 'login',
            audience: resource,
            accessTokenTTL: 600,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      extraTokenClaims: async () => this.claims as never,
    };
    this.#serve = new Provider(this.url, configuration).callback();
  }

  async token(resource: string): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from('workload:workload-secret').toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'login', resource }),
    });
    const body = (await response.json()) as { access_token?: string };
    if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`);
    return body.access_token;
  }
}
