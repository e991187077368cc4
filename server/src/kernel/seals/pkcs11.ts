import { createHash } from 'node:crypto';
import { EnvelopeProvider, type KeyWrapping, notSealedHere } from './envelope.ts';
import type { Pkcs11Request, Pkcs11Setup } from './pkcs11-messages.ts';
import { Pkcs11Process } from './pkcs11-process.ts';
import { type SealContext, SealError, type SealProblem } from './provider.ts';
import { misconfigured, optionsOf, type SealOption, type SealReference } from './reference.ts';
import { credentialFile, type SealSurroundings, type SealVariable, variable } from './surroundings.ts';

export const PKCS11_OPTIONS: readonly SealOption[] = [
  {
    name: 'module-path',
    value: /^\/(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2}){1,512}$/,
    doc: 'Absolute path of the library of the token. It is needed.',
  },
  {
    name: 'pin-source',
    value: /^file:\/(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2}){1,512}$/,
    doc: '`file:/path` of the PIN, in place of the variables.',
  },
];

export const PKCS11_VARIABLES: readonly SealVariable[] = [
  { name: 'PKCS11_PIN_FILE', doc: 'File with the PIN of the user of the token.', secret: false },
  { name: 'PKCS11_PIN', doc: 'The PIN itself.', secret: true },
  {
    name: 'PKCS11JS_FOLDER',
    doc: 'Folder of a built `pkcs11js`, if it is not built where the service is installed.',
    secret: false,
  },
];

/** RFC 7512, 2.3. These may stand in a reference, in this order. */
const ATTRIBUTES = ['token', 'serial', 'slot-id', 'object', 'id'] as const;
const ATTEMPTS_MAX = 2;
/** By token: the digest of the PIN that it refused, for as long as this process runs, since each attempt to open has a provider of its own. A few more would lock it. */
const REFUSED_PINS = new Map<string, string>();

type KeyName = Pick<Pkcs11Setup, 'token' | 'serial' | 'slotId' | 'object' | 'id' | 'modulePath'>;

/** An AES key (CKM_AES_GCM), or an RSA key pair (CKM_RSA_PKCS_OAEP), in a token. */
class Pkcs11 implements KeyWrapping {
  readonly kind = 'pkcs11';
  readonly #name: KeyName;
  readonly #pinFile: string | null;
  readonly #surroundings: SealSurroundings;
  readonly #process: Pkcs11Process;

  constructor(name: KeyName, pinFile: string | null, surroundings: SealSurroundings) {
    this.#name = name;
    this.#pinFile = pinFile;
    this.#surroundings = surroundings;
    this.#process = new Pkcs11Process(surroundings);
  }

  wrap(key: Buffer, context: SealContext): Promise<Buffer> {
    return this.#call('wrap', key, context);
  }

  unwrap(wrapped: Buffer, context: SealContext): Promise<Buffer> {
    return this.#call('unwrap', wrapped, context);
  }

  async close(): Promise<void> {
    this.#process.end();
  }

  async #call(action: Pkcs11Request['action'], bytes: Buffer, { installation, purpose }: SealContext): Promise<Buffer> {
    const text = [installation, purpose].map((part) => `${Buffer.byteLength(part)}:${part}`).join('');
    const request = { action, bytes, associatedData: Buffer.from(text) };
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#process.call(() => this.#setup(), request);
      if (answer !== null && 'bytes' in answer) return Buffer.from(answer.bytes);
      const error = this.#errorOf(answer?.code ?? 'ENDED');
      // A module that was told that its session or its token is gone needs to begin anew.
      if (error.problem !== 'wrong') this.#process.end();
      if (!error.isPassing || attempt >= ATTEMPTS_MAX) throw error;
    }
  }

  get #tokenName(): string {
    const { token, serial, slotId, modulePath } = this.#name;
    return JSON.stringify([token, serial, slotId, modulePath]);
  }

  #setup(): Pkcs11Setup {
    const pin = this.#pin();
    if (digestOf(pin) === REFUSED_PINS.get(this.#tokenName)) throw pinRefused();
    return { ...this.#name, bindingFolder: variable(this.#surroundings, 'PKCS11JS_FOLDER'), pin };
  }

  /** Exactly one source, because a second one would be a PIN that is tried by mistake. */
  #pin(): string {
    const [own, file] = [variable(this.#surroundings, 'PKCS11_PIN'), variable(this.#surroundings, 'PKCS11_PIN_FILE')];
    if ([own, file, this.#pinFile].filter((source) => source !== null).length !== 1)
      throw misconfigured(
        'A pkcs11 seal needs exactly one of pin-source in its reference, PKCS11_PIN_FILE and PKCS11_PIN.',
      );
    if (own !== null) return own;
    return this.#pinFile === null
      ? credentialFile(this.#surroundings, 'PKCS11_PIN_FILE', String(file))
      : credentialFile(this.#surroundings, 'pin-source', this.#pinFile);
  }

  #errorOf(code: string): SealError {
    if (code === 'WRONG') return notSealedHere();
    if (PIN_REFUSED.includes(code)) {
      REFUSED_PINS.set(this.#tokenName, digestOf(this.#pin()));
      return pinRefused();
    }
    const known = ERRORS.get(code);
    if (known !== undefined) return new SealError(...known);
    return new SealError(
      'unreachable',
      'The PKCS #11 module ended, did not answer in time or reported a fault. It is started again by the next attempt; check the token and the log of its vendor.',
    );
  }
}

const PIN_REFUSED = ['CKR_PIN_INCORRECT', 'CKR_PIN_INVALID', 'CKR_PIN_LEN_RANGE'];

function pinRefused(): SealError {
  return new SealError(
    'denied',
    'The token refused the PIN, which is not tried again, because a few more attempts would lock the token. Correct the PIN.',
  );
}

const UNUSABLE =
  'The key in the token cannot be used for this. Name an AES key, or an RSA key pair, that may encrypt and decrypt.';
const ERRORS: ReadonlyMap<string, readonly [SealProblem, string]> = new Map<string, readonly [SealProblem, string]>([
  [
    'NO_BINDING',
    [
      'misconfigured',
      'The package pkcs11js is not built for this machine, which takes a C++ compiler, make and Python. Run `npx node-gyp rebuild` in node_modules/pkcs11js where the service is installed, or build version 2.1.7 elsewhere and name its folder in PKCS11JS_FOLDER.',
    ],
  ],
  [
    'NO_MODULE',
    [
      'misconfigured',
      'The PKCS #11 module cannot be loaded. Check that module-path names a library for this machine that the service may read.',
    ],
  ],
  ['NO_TOKEN', ['unreachable', 'The token is not there. Connect it, and compare its label with the reference.']],
  [
    'NO_KEY',
    [
      'deleted',
      'The token has no such key: it was deleted, or the reference names it wrongly. An RSA key needs its public key in the token as well.',
    ],
  ],
  [
    'AMBIGUOUS',
    ['misconfigured', 'Several tokens or keys have these names. Add serial, slot-id or id to the reference.'],
  ],
  ['CKR_PIN_LOCKED', ['denied', 'The PIN of the token is locked. Let its security officer unlock it.']],
  ['CKR_PIN_EXPIRED', ['denied', 'The PIN of the token has expired. Set a new one.']],
  ['CKR_USER_PIN_NOT_INITIALIZED', ['misconfigured', 'The token has no PIN for its user yet. Initialize it.']],
  [
    'CKR_TOKEN_NOT_RECOGNIZED',
    ['misconfigured', 'The module does not know the token. Check that module-path is that of its vendor.'],
  ],
  ['CKR_KEY_FUNCTION_NOT_PERMITTED', ['misconfigured', UNUSABLE]],
  ['CKR_KEY_TYPE_INCONSISTENT', ['misconfigured', UNUSABLE]],
  ['CKR_KEY_SIZE_RANGE', ['misconfigured', UNUSABLE]],
  ['CKR_MECHANISM_INVALID', ['misconfigured', UNUSABLE]],
  ['CKR_MECHANISM_PARAM_INVALID', ['misconfigured', UNUSABLE]],
]);

function digestOf(pin: string): string {
  return createHash('sha256').update(pin).digest('hex');
}

/** Opens an RFC 7512 URI with `module-path`. */
export function openPkcs11(reference: SealReference, surroundings: SealSurroundings): EnvelopeProvider {
  // Its path is code, and its PIN the operator's.
  if (surroundings.machine === null)
    throw misconfigured('A token of this machine cannot hold a key that a tenant chose.');
  const options = optionsOf(reference, PKCS11_OPTIONS);
  const modulePath = options.get('module-path');
  if (modulePath === undefined) throw misconfigured('A reference of pkcs11 needs ?module-path=/absolute/path.');
  const pinSource = options.get('pin-source')?.slice('file:'.length);
  const name = { ...keyNameIn(reference.name), modulePath: decoded(modulePath, /[A-Za-z0-9._~/-]/) };
  const pinFile = pinSource === undefined ? null : decoded(pinSource, /[A-Za-z0-9._~/-]/);
  return new EnvelopeProvider(reference.text, new Pkcs11(name, pinFile, surroundings));
}

function keyNameIn(path: string): Omit<KeyName, 'modulePath'> {
  const found = new Map<string, string>();
  let last = -1;
  for (const part of path.split(';')) {
    const at = part.indexOf('=');
    const index = ATTRIBUTES.indexOf(part.slice(0, at) as (typeof ATTRIBUTES)[number]);
    if (at === -1 || index === -1 || index <= last || at === part.length - 1)
      throw misconfigured(
        `A reference of pkcs11 is pkcs11:token=<label>;object=<label>?module-path=<path>. Its attributes are ${ATTRIBUTES.join(', ')}, in this order, each at most once.`,
      );
    found.set(String(ATTRIBUTES[index]), part.slice(at + 1));
    last = index;
  }
  const text = (name: string) => {
    const value = found.get(name);
    return value === undefined ? null : decoded(value, /[A-Za-z0-9._~-]/);
  };
  const [token, serial, object] = [text('token'), text('serial'), text('object')];
  const slot = found.get('slot-id');
  if (slot !== undefined && !/^(?:0|[1-9]\d{0,9})$/.test(slot)) throw misconfigured('slot-id is a whole number.');
  const idText = found.get('id');
  if (idText !== undefined && !/^(?:%[0-9A-F]{2}){1,64}$/.test(idText))
    throw misconfigured('The id of a key is written with every byte as %XX, in upper case.');
  if (token === null && serial === null && slot === undefined)
    throw misconfigured('Name the token by token, serial or slot-id.');
  if (object === null && idText === undefined) throw misconfigured('Name the key by object or id.');
  const id = idText === undefined ? null : Buffer.from(idText.replaceAll('%', ''), 'hex');
  return { token, serial, slotId: slot === undefined ? null : Number(slot), object, id };
}

/** The text of percent-encoded UTF-8, in which just those characters are encoded that need it. */
function decoded(value: string, plain: RegExp): string {
  let text = '';
  try {
    text = decodeURIComponent(value);
  } catch {
    // Compared below.
  }
  const encode = (byte: number) => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  };
  const again = [...Buffer.from(text)].map(encode).join('');
  if (text === '' || again !== value || text.includes('\0'))
    throw misconfigured(
      'Encode everything in a pkcs11 reference but letters, digits and ._~- as %XX of its UTF-8, in upper case.',
    );
  return text;
}
