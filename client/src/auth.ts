import { type DpopKey, DpopProver } from './dpop.ts';
import { CofferError } from './errors.ts';
import type { Authorize, Credentials } from './regions.ts';
import { type Lease, Renewing } from './renewing.ts';
import type { Schemas } from './routes.ts';
import type { ClientIdentity } from './transport.ts';

type MaybePromise<T> = T | Promise<T>;

/** How the client proves who it is. */
export type Auth = (
  | {
      /** Nobody, for what anyone may call, such as a login. */
      anonymous: true;
    }
  | {
      /** A personal access token or a session token, or a function that reads the present one. */
      token: string | (() => MaybePromise<string>);
    }
  | {
      /** A connection, by its client id and client secret. */
      clientId: string;
      clientSecret: string | (() => MaybePromise<string>);
    }
  | {
      /** A connection, by the client certificate that the transport shows and nothing else. It can read secrets by path and renew the certificate. */
      certificate: { clientId: string };
    }
  | {
      /** A workload, by its identity at a cloud or cluster; called again for each login. */
      workload: { methodId: number; credential: () => MaybePromise<WorkloadCredential> };
    }
  | {
      /**
       * A CI job, by the id_token of its provider; called again for each exchange. The certificate that comes with the token is shown by the
       * transport of `@coffer/client/node`, on the TLS port; a connection that requires one takes no other.
       */
      federation: { connection: string | number; idToken: () => MaybePromise<string> };
    }
) & {
  /** The key for DPoP proofs, where the token or the connection is bound to one. */
  dpop?: DpopKey;
};

/** The field for the type of the method, such as `{ k8s_token: '…' }`. */
export type WorkloadCredential = Omit<Schemas['WorkloadLoginInput'], 'method_id'>;

/** Sends a request without credentials, for logins. */
export type SendPublic = (
  route: 'POST /workload-identity/login' | 'POST /app-connections/{connection}/federated-token',
  input: { path?: Record<string, string | number>; body: unknown },
  authorize: Authorize,
) => Promise<{ data: unknown; date: string | null }>;

/** What an exchange gave: a token, and the certificate that belongs to it where there is one. */
interface Session {
  token: string;
  identity?: ClientIdentity;
}

/** Turns `Auth` into credentials, and renews what expires. */
export class Authenticator {
  readonly #auth: Auth;
  readonly #prover: DpopProver | null;
  readonly #session: Renewing<Session> | null;

  constructor(auth: Auth, sendPublic: SendPublic) {
    this.#auth = auth;
    this.#prover = auth.dpop === undefined ? null : new DpopProver(auth.dpop);
    this.#session = sessionOf(auth, sendPublic, async (request) => ({
      headers: await this.#proof(request, null),
    }));
  }

  async credentials(request: { method: string; url: string }): Promise<Credentials> {
    if ('clientId' in this.#auth) {
      const { clientId, clientSecret } = this.#auth;
      const secret = typeof clientSecret === 'string' ? clientSecret : await clientSecret();
      const own = {
        'x-client-id': headerSafe(clientId, 'client id'),
        'x-client-secret': headerSafe(secret, 'client secret'),
      };
      return { headers: { ...own, ...(await this.#proof(request, null)) } };
    }
    if ('certificate' in this.#auth || 'anonymous' in this.#auth) return { headers: await this.#proof(request, null) };
    const { token, identity } = await this.#current();
    const scheme = this.#prover === null ? 'Bearer' : 'DPoP';
    const headers = { authorization: `${scheme} ${token}`, ...(await this.#proof(request, token)) };
    return { headers, ...(identity !== undefined && { identity }) };
  }

  /** Whether a request that was refused with 401 has a chance with what `credentials` returns next. */
  retriesAfterRefusal({ headers }: Credentials, nonce: string | null): boolean {
    if (this.#prover?.noted(nonce)) return true;
    const token = headers['authorization']?.split(' ')[1];
    if (this.#session === null || token === undefined) return false;
    this.#session.discard((session) => session.token === token);
    return true;
  }

  async #current(): Promise<Session> {
    if (this.#session !== null) return this.#session.get();
    const { token } = this.#auth as Extract<Auth, { token: unknown }>;
    return { token: headerSafe(typeof token === 'string' ? token : await token(), 'token') };
  }

  async #proof(request: { method: string; url: string }, token: string | null): Promise<Record<string, string>> {
    return this.#prover === null ? {} : { dpop: await this.#prover.proof(request, token) };
  }
}

/** A line break would end the header, and what the runtime says of one quotes it. */
function headerSafe(text: string, what: string): string {
  const trimmed = String(text).trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  const message = `The ${what} is empty or has characters that none has.`;
  throw new CofferError(message, { code: 'INVALID_ARGUMENT' });
}

function sessionOf(auth: Auth, sendPublic: SendPublic, proof: Authorize): Renewing<Session> | null {
  if ('workload' in auth) {
    const { methodId, credential } = auth.workload;
    return new Renewing(async () => {
      const body = { method_id: methodId, ...(await credential()) };
      const { data, date } = await sendPublic('POST /workload-identity/login', { body }, proof);
      const { cv_jwt, expires_at } = data as Schemas['WorkloadLoginOutput'];
      return leaseOf({ token: cv_jwt }, expires_at, date);
    });
  }
  if ('federation' in auth) {
    const { connection, idToken } = auth.federation;
    return new Renewing(async () => {
      const input = { path: { connection }, body: { id_token: await idToken() } };
      const { data, date } = await sendPublic('POST /app-connections/{connection}/federated-token', input, proof);
      const { access_token, certificate, private_key, expires_at } = data as Schemas['ExchangeFederatedTokenOutput'];
      const session = { token: access_token, identity: { cert: certificate, key: private_key } };
      return leaseOf(session, expires_at, date);
    });
  }
  return null;
}

/** By the clock of the service where the answer has it, because the clock of this machine may be wrong. */
function leaseOf(value: Session, expiresAt: string, date: string | null): Lease<Session> {
  const answeredAt = Date.parse(date ?? '') || Date.now();
  return { value, lifeMs: Math.max(0, Date.parse(expiresAt) - answeredAt) };
}
