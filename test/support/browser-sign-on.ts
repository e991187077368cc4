import assert from 'node:assert/strict';
import { fromElsewhere } from './external-logins.ts';
import type { OidcIssuer } from './oidc-issuer.ts';
import { ok, type Tenant, uniqueName } from './people.ts';
import type { Answer, Service } from './service.ts';

/** What a provider sends back, as the console reads it from the address. */
export interface SentBack {
  code: string;
  state: string;
  redirect_uri: string;
  iss?: string;
  /** What the page that began it has stored. */
  flow_key: string;
}

/** A sign-in or link that a browser has begun. */
export interface BegunHere {
  cookie: string;
  url: string;
  flow_key: string;
  /** The page of the console that finishes it. */
  page: 'linked' | 'signed-on';
}

/** A browser that signs in with a provider for itself, or links an account, as the console does. */
export class SignOnBrowser {
  readonly #service: Service;
  readonly #idp: OidcIssuer;

  constructor(service: Service, idp: OidcIssuer) {
    this.#service = service;
    this.#idp = idp;
  }

  /** Somebody new is at the provider. */
  newAccount(groups: string[] = []): string {
    const sub = uniqueName('subject');
    this.#idp.account = { sub, email: `${sub}@acme.example`, email_verified: true, name: 'Ada', groups };
    return sub;
  }

  addProvider(tenant: Tenant, name = 'idp', more: object = {}): Promise<Answer['body']> {
    const body = {
      name,
      issuer: this.#idp.url,
      client_id: 'coffer',
      client_secret: 'coffer-client-secret',
      default_role: 'member',
      ...more,
    };
    return ok(this.#service.call('POST', '/auth/sso/providers', { token: tenant.owner.token, body }), 201);
  }

  send(method: string, path: string, token: string | null, body?: object, cookie = ''): Promise<Answer> {
    return this.#service.call(method, path, {
      token,
      ...(body !== undefined && { body }),
      headers: { ...fromElsewhere(), ...(cookie !== '' && { cookie }) },
    });
  }

  beginLink(token: string, provider = 'idp'): Promise<BegunHere> {
    return begun('linked', this.send('POST', '/auth/links', token, { provider }));
  }

  beginSignIn(tenant: Tenant, provider = 'idp'): Promise<BegunHere> {
    return begun('signed-on', this.send('POST', `/auth/sso/${provider}/browser`, null, { tenant: tenant.name }));
  }

  async comeBack({ url, cookie, page, flow_key }: BegunHere): Promise<SentBack> {
    const callback = new URL(await this.#idp.signIn(url));
    const shown = await this.send('GET', `${callback.pathname}${callback.search}`, null, undefined, cookie);
    assert.equal(shown.status, 200, shown.text);
    const [, to, fragment = ''] = /url=\/#\/([a-z-]+)\?([^"]+)"/.exec(shown.text) ?? [];
    assert.equal(to, page, shown.text);
    const sent = Object.fromEntries(new URLSearchParams(fragment.replaceAll('&amp;', '&')));
    return { ...(sent as unknown as SentBack), flow_key };
  }

  confirmLink(token: string, body: SentBack, cookie: string): Promise<Answer> {
    return this.send('POST', '/auth/links/confirm', token, body, cookie);
  }

  finishSignIn(body: SentBack, cookie: string): Promise<Answer> {
    return this.send('POST', '/auth/sso/session', null, body, cookie);
  }

  async link(token: string, provider = 'idp'): Promise<Answer['body']> {
    const sent = await this.beginLink(token, provider);
    return ok(this.confirmLink(token, await this.comeBack(sent), sent.cookie));
  }

  async signIn(tenant: Tenant, provider = 'idp'): Promise<Answer> {
    const sent = await this.beginSignIn(tenant, provider);
    return this.finishSignIn(await this.comeBack(sent), sent.cookie);
  }

  unlink(token: string, provider = 'idp'): Promise<Answer> {
    return this.send('DELETE', `/auth/links/${provider}`, token);
  }
}

async function begun(page: BegunHere['page'], answer: Promise<Answer>): Promise<BegunHere> {
  const { status, text, headers, body } = await answer;
  assert.equal(status, 200, text);
  const [cookie = ''] = (headers.get('set-cookie') ?? '').split(';');
  return { cookie, url: body.url as string, flow_key: body.flow_key as string, page };
}
