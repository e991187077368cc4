import { azureToken } from './azure-credentials.ts';
import type { BearerToken } from './bearer-token.ts';
import { EnvelopeProvider, type KeyWrapping, notSealedHere } from './envelope.ts';
import { SealError } from './provider.ts';
import { misconfigured, optionsOf, type SealOption, type SealReference } from './reference.ts';
import { memberOf, ServiceCalls } from './service-calls.ts';
import type { SealSurroundings } from './surroundings.ts';

const API_VERSION = '7.4';
const ALGORITHM = 'RSA-OAEP-256';
const NAME = /^\/\/([a-z][a-z0-9-]{1,22}[a-z0-9])\/([A-Za-z0-9-]{1,127})(?:\/([0-9a-f]{32}))?$/;
const VERSION = /^[0-9a-f]{32}$/;
/** Of an RSA key with 2048 to 4096 bits. */
const WRAPPED_BYTES = [256, 384, 512];

const DOMAINS: Readonly<Record<string, string>> = {
  'vault.azure.net': 'https://login.microsoftonline.com',
  'managedhsm.azure.net': 'https://login.microsoftonline.com',
  'vault.azure.cn': 'https://login.chinacloudapi.cn',
  'vault.usgovcloudapi.net': 'https://login.microsoftonline.us',
};
const DOMAIN_DEFAULT = 'vault.azure.net';
const OTHER_DOMAINS = Object.keys(DOMAINS).filter((domain) => domain !== DOMAIN_DEFAULT);

export const AZURE_OPTIONS: readonly SealOption[] = [
  {
    name: 'domain',
    value: new RegExp(`^(?:${OTHER_DOMAINS.join('|').replaceAll('.', '\\.')})$`),
    doc: `Where the vault is, if not at ${DOMAIN_DEFAULT}: ${OTHER_DOMAINS.join(', ')}.`,
  },
];

interface VaultKey {
  /** Such as `https://name.vault.azure.net/keys/root/`. A `kid` is this and a version. */
  readonly base: string;
  /** Null for the newest when sealing. Opening uses the version that sealed. */
  readonly version: string | null;
}

/** The `wrapkey` and `unwrapkey` calls of Azure Key Vault. RSA binds no context, so the envelope alone binds it. */
class AzureKeyVault implements KeyWrapping {
  readonly kind = 'azure-keyvault';
  readonly #key: VaultKey;
  readonly #calls: ServiceCalls;
  readonly #token: BearerToken;

  constructor(key: VaultKey, domain: string, surroundings: SealSurroundings) {
    this.#key = key;
    this.#calls = new ServiceCalls('Azure Key Vault', surroundings);
    this.#token = azureToken(surroundings, { login: String(DOMAINS[domain]), resource: `https://${domain}` });
  }

  /** `kid ‖ line feed ‖ wrapped key`: only the version that wrapped unwraps. */
  async wrap(key: Buffer): Promise<Buffer> {
    const { kid, value } = await this.#call('wrapkey', this.#key.version, key);
    if (!WRAPPED_BYTES.includes(value.length)) throw this.#calls.malformed();
    return Buffer.concat([Buffer.from(`${kid}\n`), value]);
  }

  async unwrap(wrapped: Buffer): Promise<Buffer> {
    const end = wrapped.indexOf('\n');
    const kid = wrapped.toString('latin1', 0, Math.max(0, end));
    const version = kid.slice(this.#key.base.length);
    // The address comes from the reference alone: a changed text sends the token nowhere else.
    if (!kid.startsWith(this.#key.base) || !VERSION.test(version) || !WRAPPED_BYTES.includes(wrapped.length - end - 1))
      throw notSealedHere();
    const answer = await this.#call('unwrapkey', version, wrapped.subarray(end + 1));
    if (answer.kid !== kid) throw anotherKey();
    return answer.value;
  }

  async close(): Promise<void> {}

  #call(
    action: 'wrapkey' | 'unwrapkey',
    version: string | null,
    bytes: Buffer,
  ): Promise<{ kid: string; value: Buffer }> {
    const url = `${this.#key.base}${version ?? ''}/${action}?api-version=${API_VERSION}`;
    const body = JSON.stringify({ alg: ALGORITHM, value: bytes.toString('base64url') });
    return this.#calls.retried(() =>
      this.#token.use(async (token) => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
        const answer = await this.#calls.send({ url, method: 'POST', headers, body });
        if (answer.status !== 200) throw this.#errorOf(answer.status, answer.body, action);
        const members = this.#calls.json(answer);
        const [kid, text] = [this.#calls.text(members, 'kid'), this.#calls.text(members, 'value')];
        const value = Buffer.from(text, 'base64url');
        if (value.toString('base64url') !== text) throw this.#calls.malformed();
        const used = kid.slice(this.#key.base.length);
        if (!kid.startsWith(this.#key.base) || !VERSION.test(used) || (version !== null && used !== version))
          throw anotherKey();
        return { kid, value };
      }),
    );
  }

  #errorOf(status: number, body: Buffer, action: 'wrapkey' | 'unwrapkey'): SealError {
    if (status >= 500 || status === 429 || status === 401) return this.#calls.refusal(status);
    const error = memberOf(this.#calls.json({ body }), 'error');
    const codes = [error['code'], memberOf(error, 'innererror')['code']].map(String);
    const has = (...known: string[]) => known.some((code) => codes.includes(code));
    if (has('KeyDisabled', 'KeyExpired', 'KeyNotYetValid'))
      return new SealError(
        'disabled',
        'The version of the key in Azure Key Vault is disabled, or outside of its dates. Enable it, and clear or move its expiry date.',
      );
    if (has('ObjectIsDeletedButRecoverable', 'ObjectIsBeingDeleted', 'KeyNotFound') || status === 404)
      return new SealError(
        'deleted',
        'Azure Key Vault has no such key or version. Recover it while it is soft-deleted, or compare the reference; otherwise open with another seal.',
      );
    if (has('ForbiddenByFirewall', 'ForbiddenByConnection'))
      return new SealError(
        'denied',
        'The network rules of Azure Key Vault refuse this machine. Allow its address, or use a private endpoint.',
      );
    if (status === 403)
      return new SealError(
        'denied',
        'Azure Key Vault does not let this identity use the key. Give it the role Key Vault Crypto Service Encryption User, or the rights wrapKey and unwrapKey.',
      );
    if (status === 400 && action === 'unwrapkey') return notSealedHere();
    if (status === 400)
      return misconfigured(
        'Azure Key Vault cannot wrap with this key. Name an RSA key that permits wrapKey and unwrapKey.',
      );
    return this.#calls.refusal(status);
  }
}

function anotherKey(): SealError {
  return new SealError(
    'wrong',
    'Azure Key Vault used another key or version than it was told. Check that the network leads to Azure itself.',
  );
}

/** Opens `azure-keyvault://<vault>/<key>[/<version>]`. */
export function openAzureKeyVault(reference: SealReference, surroundings: SealSurroundings): EnvelopeProvider {
  const domain = optionsOf(reference, AZURE_OPTIONS).get('domain') ?? DOMAIN_DEFAULT;
  const [, vault, key, version = null] = NAME.exec(reference.name) ?? [];
  if (vault === undefined || key === undefined)
    throw misconfigured(
      'A reference of azure-keyvault is azure-keyvault://<vault>/<key>, or azure-keyvault://<vault>/<key>/<version>, with the name of the vault in lower case.',
    );
  const base = `https://${vault}.${domain}/keys/${key}/`;
  return new EnvelopeProvider(reference.text, new AzureKeyVault({ base, version }, domain, surroundings));
}
