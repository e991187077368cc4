import { parseOutgoingUrl } from '../outbound/http-client.ts';
import { EnvelopeProvider, type KeyWrapping, notSealedHere } from './envelope.ts';
import { SealError } from './provider.ts';
import { misconfigured, optionsOf, type SealOption, type SealReference } from './reference.ts';
import { ServiceCalls } from './service-calls.ts';
import { credentialFile, type SealSurroundings, variable } from './surroundings.ts';
import { TransitToken } from './transit-token.ts';

const SEGMENT = '[A-Za-z0-9_][A-Za-z0-9._-]{0,127}';
const PATH = new RegExp(`^${SEGMENT}(?:/${SEGMENT}){0,7}$`);
const NAME = new RegExp(`^//([a-z0-9.-]{1,253}(?::\\d{1,5})?)/(${SEGMENT}(?:/${SEGMENT}){0,7})/(${SEGMENT})$`);
const CIPHERTEXT = /^vault:v[1-9]\d{0,8}:[A-Za-z0-9+/]{20,2000}={0,2}$/;
const SERVICE = 'The transit engine';

export const TRANSIT_OPTIONS: readonly SealOption[] = [
  {
    name: 'namespace',
    value: PATH,
    doc: 'Namespace of the mount, as OpenBao and Vault Enterprise have them: `team/a`.',
  },
  {
    name: 'prefix',
    value: PATH,
    doc: 'Path before `/v1`: `vault` for the ordinary port of another Coffer with CV_VAULT_API=on.',
  },
];

interface TransitKey {
  /** Up to and with `/v1/`. */
  readonly base: string;
  readonly mount: string;
  readonly key: string;
  readonly namespace: string | null;
}

/** The transit engine of Vault, OpenBao or another Coffer. It has no general way to bind a context, so the envelope alone binds it. */
class Transit implements KeyWrapping {
  readonly kind = 'transit';
  readonly #key: TransitKey;
  readonly #surroundings: SealSurroundings;
  readonly #calls: ServiceCalls;
  readonly #token: TransitToken;

  constructor(key: TransitKey, surroundings: SealSurroundings) {
    this.#key = key;
    this.#surroundings = surroundings;
    this.#calls = new ServiceCalls(SERVICE, surroundings);
    this.#token = new TransitToken(surroundings, (path, body, token) => this.#send(path, body, token));
  }

  async wrap(key: Buffer): Promise<Buffer> {
    const { ciphertext } = await this.#call('encrypt', { plaintext: key.toString('base64') });
    if (typeof ciphertext !== 'string' || !CIPHERTEXT.test(ciphertext)) throw this.#calls.malformed();
    return Buffer.from(ciphertext);
  }

  async unwrap(wrapped: Buffer): Promise<Buffer> {
    const ciphertext = wrapped.toString('latin1');
    // Nothing else is sent there, so that nobody reaches another version of the engine's grammar through a changed text.
    if (!CIPHERTEXT.test(ciphertext)) throw notSealedHere();
    return this.#calls.base64(await this.#call('decrypt', { ciphertext }), 'plaintext');
  }

  async close(): Promise<void> {
    this.#token.close();
  }

  #call(action: 'encrypt' | 'decrypt', body: object): Promise<Record<string, unknown>> {
    const { mount, key } = this.#key;
    return this.#calls.retried(async () => {
      const answer = await this.#token.use((token) => this.#send(`${mount}/${action}/${key}`, body, token));
      const { data } = answer;
      if (typeof data !== 'object' || data === null) throw this.#calls.malformed();
      return data as Record<string, unknown>;
    });
  }

  async #send(path: string, body: object, token: string | null): Promise<Record<string, unknown>> {
    const { base, namespace } = this.#key;
    const authority = variable(this.#surroundings, 'VAULT_CACERT');
    const answer = await this.#calls.send({
      url: `${base}${path}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-vault-request': 'true',
        ...(token !== null && { 'x-vault-token': token }),
        ...(namespace !== null && { 'x-vault-namespace': namespace }),
      },
      body: JSON.stringify(body),
      ...(authority !== null && { caPem: credentialFile(this.#surroundings, 'VAULT_CACERT', authority) }),
    });
    if (answer.status === 200) return this.#calls.json(answer);
    throw this.#errorOf(answer.status, answer.body);
  }

  /** The engine has no codes: its texts are told apart by what they have had in them for years. */
  #errorOf(status: number, body: Buffer): SealError {
    const text = body.toString('utf8');
    const [, problem, message] = ERRORS.find(([known]) => status < 500 && text.includes(known)) ?? [];
    if (problem !== undefined && message !== undefined) return new SealError(problem, message);
    if (status < 500 && WRONG.some((known) => text.includes(known))) return notSealedHere();
    if (status === 503)
      return new SealError(
        'unreachable',
        `${SERVICE} is sealed or not active. Unseal it, and the next attempt succeeds.`,
      );
    // "Not replicated yet", and a standby that could not forward.
    if (status === 412 || status === 472 || status === 473) return this.#calls.refusal(503);
    if (status === 403)
      return new SealError(
        'denied',
        `${SERVICE} refused the token, or the token may not use the key. Give its policy "update" on encrypt/<key> and decrypt/<key> of the mount, and check that the token has not ended.`,
      );
    if (status === 404)
      return misconfigured(`${SERVICE} is not there. Compare mount, namespace and prefix of the reference.`);
    return this.#calls.refusal(status);
  }
}

const ERRORS: readonly (readonly [text: string, problem: SealError['problem'], message: string])[] = [
  [
    'disallowed by policy (too old)',
    'disabled',
    `${SERVICE} no longer decrypts with the version of the key that sealed this. Lower min_decryption_version of the key, then seal again before you raise it.`,
  ],
  [
    'encryption key not found',
    'deleted',
    `${SERVICE} has no such key: it was deleted, or the reference names it wrongly. Restore it from a backup there, or open with another seal.`,
  ],
  [
    'soft deleted',
    'deleted',
    `The key of the transit engine is deleted, and can still be restored. Restore it there (soft-delete-restore).`,
  ],
  [
    "missing 'context' for key derivation",
    'misconfigured',
    `The key of the transit engine is derived (derived=true). Name one that is not: the context is bound by Coffer.`,
  ],
  [
    'invalid role or secret ID',
    'denied',
    `The AppRole login was refused. Check VAULT_ROLE_ID and the secret id, which may have ended or been used up.`,
  ],
  ['invalid role name', 'denied', `The login was refused: no such role. Check VAULT_KUBERNETES_ROLE.`],
];

const WRONG = ['message authentication failed', 'invalid ciphertext', 'version is too new'];

/** Opens `transit:https://<host>[:<port>]/<mount>/<key>`, or `transit://…` as the short form of the same. */
export function openTransit(reference: SealReference, surroundings: SealSurroundings): EnvelopeProvider {
  const options = optionsOf(reference, TRANSIT_OPTIONS);
  const [, host, mount, key] = NAME.exec(reference.name.replace(/^https:/, '')) ?? [];
  if (mount === undefined || key === undefined || parseOutgoingUrl(`https://${host}/`) === null)
    throw misconfigured(
      'A reference of transit is transit:https://<host>:<port>/<mount>/<key>, or transit://<host>:<port>/<mount>/<key>, in lower case up to the mount.',
    );
  const prefix = options.get('prefix');
  const base = `https://${host}/${prefix === undefined ? '' : `${prefix}/`}v1/`;
  const namespace = options.get('namespace') ?? null;
  return new EnvelopeProvider(reference.text, new Transit({ base, mount, key, namespace }, surroundings));
}
