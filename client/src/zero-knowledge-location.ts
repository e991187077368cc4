/** The location a sealed value belongs to. An envelope opens only for the location it was sealed for. */
export interface ZeroKnowledgeLocation {
  vault: string;
  /** The secret's path, decoded: `db/main`, not `db%2Fmain`. */
  path: string;
  /** The version of the secret that the value becomes. If given, it is bound, and then required to open. */
  version?: number;
}

/** Marks envelopes of releases up to 0.4. It is a symbol private to the library, so no text given as a location can mean it. */
export const UNBOUND = Symbol('unbound');
/** The check of a vault's passphrase, which is no value of a secret. */
export interface CheckBinding {
  checkOf: string;
}
export type Binding = ZeroKnowledgeLocation | CheckBinding | typeof UNBOUND;

/**
 * The first authenticated field. It separates bound from unbound envelopes: unbound data begins with `zk:v1:`, bound data with the bytes of a length.
 */
const LABEL = 'coffer zero-knowledge location v1';
const CHECK_LABEL = 'coffer zero-knowledge passphrase check v1';
const LENGTH_BYTES = 4;

const VAULT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const SEGMENT = /^[A-Za-z0-9._@+=-]{1,128}$/;
const SEGMENTS_MAX = 32;
const PATH_BYTES_MAX = 1024;

/** Refuses every spelling but the service's canonical one: an envelope sealed for another one would never open again. */
export function refuseBadLocation(location: ZeroKnowledgeLocation): void {
  const { vault, path, version } = (location ?? {}) as Partial<ZeroKnowledgeLocation>;
  if (typeof vault !== 'string' || !VAULT.test(vault)) {
    throw new TypeError('location.vault must be the name of the vault that the envelope belongs to');
  }
  if (typeof path !== 'string' || !isPath(path)) {
    throw new TypeError('location.path must be the path of the secret, decoded, without a slash at either end');
  }
  if (version !== undefined && (!Number.isSafeInteger(version) || version < 1)) {
    throw new TypeError('location.version must be a whole number of at least 1');
  }
}

export function refuseBadBinding(binding: Binding): void {
  if (binding === UNBOUND) return;
  if (!('checkOf' in binding)) refuseBadLocation(binding);
  else if (!VAULT.test(binding.checkOf)) throw new TypeError('checkOf must be the name of the vault');
}

/** For callers that must bind a version. */
export function refuseUnversioned(location: Required<ZeroKnowledgeLocation>): void {
  refuseBadLocation(location);
  if (location.version === undefined)
    throw new TypeError('location.version must be the version that the value becomes');
}

function isPath(path: string): boolean {
  const segments = path.split('/');
  const isEach = segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
  return isEach && segments.length <= SEGMENTS_MAX && path.length <= PATH_BYTES_MAX;
}

/** The additional authenticated data. `header` is the envelope up to and including its salt. */
export function authenticatedData(header: string, binding: Binding): Uint8Array<ArrayBuffer> {
  if (binding === UNBOUND) return new TextEncoder().encode(header);
  if ('checkOf' in binding) return lengthPrefixed([CHECK_LABEL, header, binding.checkOf]);
  const { vault, path, version } = binding;
  return lengthPrefixed([LABEL, header, vault, path, version === undefined ? '' : String(version)]);
}

/** Each field is preceded by its length, so that no character can shift from one field into the next. */
function lengthPrefixed(fields: readonly string[]): Uint8Array<ArrayBuffer> {
  const encoded = fields.map((field) => new TextEncoder().encode(field));
  const bytes = new Uint8Array(encoded.reduce((sum, field) => sum + LENGTH_BYTES + field.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const field of encoded) {
    view.setUint32(at, field.length);
    bytes.set(field, at + LENGTH_BYTES);
    at += LENGTH_BYTES + field.length;
  }
  return bytes;
}
