import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/**
 * `oidc-provider` as a running issuer. Tokens come from its token endpoint, by client credentials, and are for the requested resource;
 * `rotate` makes it sign with a new key and delete the old one, as after a restart with new keys.
 */
export class OidcIssuer {
  readonly url: string;
  readonly close: () => void;
  /** Added to the tokens it makes. */
  claims: Record<string, unknown> = {};
  /** Who is signed in at the provider, with what it says about them. */
  account: { sub: string } & Record<string, unknown> = { sub: 'nobody' };
  readonly #redirectUris: string[] = [];
  #logOut: (sub: string) => Promise<unknown> = async () => undefined;
  /** Where it tells the service of a logout. */
  #logoutUri: string | null = null;
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
        ...(this.#redirectUris.length === 0 ? [] : [this.#personClient()]),
      ],
      scopes: ['openid', 'email', 'profile'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'oid'] },
      findAccount: (_, sub) => ({ accountId: sub, claims: async () => ({ ...this.account, sub }) as never }),
      interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
      // By default it reaches no service on this machine.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as object),
      cookies: { keys: ['a key of a test'] },
      // Every sign-in agrees to everything.
      loadExistingGrant: async ({ oidc }) => {
        const { provider, client, session } = oidc;
        const grant = new provider.Grant({
          ...(client && { clientId: client.clientId }),
          ...(session?.accountId !== undefined && { accountId: session.accountId }),
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      features: {
        clientCredentials: { enabled: true },
        backchannelLogout: { enabled: true },
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
    const provider = new Provider(this.url, configuration);
    const redirectUris = [...this.#redirectUris];
    provider.Client.prototype.redirectUriAllowed = (uri) => redirectUris.some((base) => uri.startsWith(base));
    this.#logOut = async (sub) => {
      const client: unknown = await provider.Client.find('coffer');
      // Its types leave this method out.
      await (client as { backchannelLogout(sub: string): Promise<unknown> }).backchannelLogout(sub);
    };
    const serve = provider.callback();
    this.#serve = (request, response) => {
      if (request.url?.startsWith('/interaction/') !== true) return serve(request, response);
      const login = { accountId: this.account.sub };
      provider.interactionFinished(request, response, { login, consent: {} }).catch((error) => response.destroy(error));
    };
  }

  #personClient() {
    return {
      client_id: 'coffer',
      client_secret: 'coffer-client-secret',
      application_type: 'native' as const,
      redirect_uris: [...this.#redirectUris],
      grant_types: ['authorization_code'],
      response_types: ['code' as const],
      ...(this.#logoutUri !== null && { backchannel_logout_uri: this.#logoutUri }),
    };
  }

  /** Registers the service as a client, with the redirect addresses of all its providers, as if each had been entered. */
  async register(serviceUrl: string): Promise<void> {
    this.#redirectUris.push(`${serviceUrl}/auth/sso/callback/`);
    await this.rotate();
  }

  /** Tells the service at this address that the person has signed out, as it does when they end their session. It throws if it is refused. */
  async logOut(sub: string, logoutUri: string): Promise<void> {
    this.#logoutUri = logoutUri;
    await this.rotate();
    await this.#logOut(sub);
  }

  /** What the browser of `account` does at the provider: it follows redirects until one leaves the provider, and returns that address. */
  async signIn(authorizationUrl: string): Promise<string> {
    const jar = new Map<string, string>();
    let url = authorizationUrl;
    for (let hops = 0; url.startsWith(this.url) && hops < 10; hops++) {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        jar.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`no redirect: ${response.status} ${await response.text()}`);
      url = new URL(location, url).href;
    }
    return url;
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
