import { SECOND_MS } from '../base/clock.ts';
import { SealError } from './provider.ts';
import { misconfigured } from './reference.ts';
import { isRecord } from './service-calls.ts';
import { credentialFile, type SealSurroundings, type SealVariable, variable } from './surroundings.ts';

const KUBERNETES_TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** A timer cannot wait longer. */
const RENEW_AFTER_MAX_MS = 0x7fffffff;
const RENEW_AGAIN_AFTER_MS = 60 * SECOND_MS;

export const TRANSIT_VARIABLES: readonly SealVariable[] = [
  {
    name: 'VAULT_TOKEN_FILE',
    doc: 'File with the token, such as the sink of an agent. It is read again when the token is refused.',
    secret: false,
  },
  { name: 'VAULT_TOKEN', doc: 'The token itself. A renewable one is renewed while the service runs.', secret: true },
  { name: 'VAULT_ROLE_ID', doc: 'Role id, to log in by AppRole in place of a token.', secret: false },
  { name: 'VAULT_SECRET_ID_FILE', doc: 'File with the secret id of that role.', secret: false },
  { name: 'VAULT_SECRET_ID', doc: 'The secret id itself.', secret: true },
  { name: 'VAULT_APPROLE_MOUNT', doc: 'Mount of AppRole; `approle` without it.', secret: false },
  { name: 'VAULT_KUBERNETES_ROLE', doc: 'Role, to log in with the service account of the pod.', secret: false },
  {
    name: 'VAULT_KUBERNETES_TOKEN_FILE',
    doc: `File with the token of the service account; \`${KUBERNETES_TOKEN_FILE}\` without it.`,
    secret: false,
  },
  { name: 'VAULT_KUBERNETES_MOUNT', doc: 'Mount of that login; `kubernetes` without it.', secret: false },
  { name: 'VAULT_CACERT', doc: 'PEM file with the only certificate authorities that are trusted.', secret: false },
];

/** Sends to a path below `/v1/`. */
type Send = (path: string, body: object, token: string | null) => Promise<Record<string, unknown>>;

interface Held {
  readonly token: string;
  /** Null if it is not known, or never. */
  readonly endsAt: number | null;
}

const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const MOUNT = /^[A-Za-z0-9_][A-Za-z0-9._/-]{0,255}$/;

/** The token for a transit engine: given and renewed, or got by a login and got again. */
export class TransitToken {
  readonly #surroundings: SealSurroundings;
  readonly #send: Send;
  readonly #get: () => Promise<Held>;
  #held: Held | null = null;
  #getting: Promise<Held> | null = null;
  #renewal: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(surroundings: SealSurroundings, send: Send) {
    this.#surroundings = surroundings;
    this.#send = send;
    this.#get = this.#source();
  }

  /** Runs the work with the token, and once more with a new one if that was refused. */
  async use<T>(work: (token: string) => Promise<T>): Promise<T> {
    const { token } = await this.#current();
    try {
      return await work(token);
    } catch (error) {
      if (!(error instanceof SealError) || error.problem !== 'denied') throw error;
      if (this.#held?.token === token) this.#held = null;
      return work((await this.#current()).token);
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#renewal !== null) clearTimeout(this.#renewal);
  }

  async #current(): Promise<Held> {
    const now = this.#surroundings.clock.now();
    if (this.#held !== null && (this.#held.endsAt === null || now < this.#held.endsAt)) return this.#held;
    this.#getting ??= this.#get().finally(() => {
      this.#getting = null;
    });
    this.#held = await this.#getting;
    return this.#held;
  }

  #source(): () => Promise<Held> {
    const value = (name: string) => variable(this.#surroundings, name);
    const chosen = [
      value('VAULT_TOKEN') ?? value('VAULT_TOKEN_FILE'),
      value('VAULT_ROLE_ID'),
      value('VAULT_KUBERNETES_ROLE'),
    ];
    if (chosen.filter((one) => one !== null).length !== 1)
      throw misconfigured(
        'A transit seal needs exactly one of VAULT_TOKEN or VAULT_TOKEN_FILE, VAULT_ROLE_ID, and VAULT_KUBERNETES_ROLE.',
      );
    const [token, roleId, role] = chosen;
    if (token !== null) return () => this.#given();
    if (roleId !== null)
      return () =>
        this.#login('VAULT_APPROLE_MOUNT', 'approle', { role_id: roleId, secret_id: this.#text('VAULT_SECRET_ID') });
    const file = value('VAULT_KUBERNETES_TOKEN_FILE') ?? KUBERNETES_TOKEN_FILE;
    return () =>
      this.#login('VAULT_KUBERNETES_MOUNT', 'kubernetes', {
        role,
        jwt: credentialFile(this.#surroundings, 'VAULT_KUBERNETES_TOKEN_FILE', file),
      });
  }

  /** Of the variable, or of the file that the variable with _FILE names. */
  #text(name: string): string {
    const [own, file] = [variable(this.#surroundings, name), variable(this.#surroundings, `${name}_FILE`)];
    if ((own === null) === (file === null)) throw misconfigured(`Set exactly one of ${name} and ${name}_FILE.`);
    return own ?? credentialFile(this.#surroundings, `${name}_FILE`, String(file));
  }

  async #given(): Promise<Held> {
    const token = this.#text('VAULT_TOKEN');
    if (!TOKEN.test(token)) throw misconfigured('The token of the transit seal has blanks or control characters.');
    await this.#renew(token);
    return { token, endsAt: null };
  }

  /** Renews it now, and again after half of its time. */
  async #renew(token: string): Promise<void> {
    const lifeMs = await this.#renewedFor(token);
    if (lifeMs !== null) this.#renewAfter(token, Math.min(lifeMs / 2, RENEW_AFTER_MAX_MS));
  }

  /** Null for a token that cannot be renewed, such as a root token. The calls that use it tell whether it is good. */
  async #renewedFor(token: string): Promise<number | null> {
    try {
      const { lifeMs, isRenewable } = this.#authOf(await this.#send('auth/token/renew-self', {}, token));
      return isRenewable && lifeMs > 0 ? lifeMs : null;
    } catch (error) {
      if (!(error instanceof SealError) || error.isPassing) throw error;
      return null;
    }
  }

  #renewAfter(token: string, ms: number): void {
    if (this.#renewal !== null) clearTimeout(this.#renewal);
    if (this.#isClosed) return;
    this.#renewal = setTimeout(() => {
      this.#renew(token).catch((error: unknown) => {
        if (!(error instanceof SealError)) throw error;
        this.#renewAfter(token, RENEW_AGAIN_AFTER_MS);
      });
    }, ms).unref();
  }

  async #login(variableName: string, usual: string, body: object): Promise<Held> {
    const mount = variable(this.#surroundings, variableName) ?? usual;
    if (!MOUNT.test(mount)) throw misconfigured(`${variableName} is not the name of a mount.`);
    const { token, lifeMs } = this.#authOf(await this.#send(`auth/${mount}/login`, body, null));
    // Another one is got well before this one ends.
    return { token, endsAt: lifeMs === 0 ? null : this.#surroundings.clock.now() + (lifeMs * 2) / 3 };
  }

  #authOf({ auth }: Record<string, unknown>): { token: string; lifeMs: number; isRenewable: boolean } {
    const { client_token: token, lease_duration: seconds, renewable } = isRecord(auth) ? auth : {};
    const isUsable = typeof token === 'string' && TOKEN.test(token) && Number.isSafeInteger(seconds);
    if (!isUsable || Number(seconds) < 0)
      throw new SealError(
        'unreachable',
        'The transit engine did not answer a login or a renewal as it is documented. Check that no proxy answers in its place.',
      );
    return { token, lifeMs: Number(seconds) * SECOND_MS, isRenewable: renewable === true };
  }
}
