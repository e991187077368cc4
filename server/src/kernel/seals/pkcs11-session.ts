import { randomBytes } from 'node:crypto';
import type { OwnCode, Pkcs11Setup } from './pkcs11-messages.ts';

type Handle = Buffer;
interface Mechanism {
  readonly mechanism: number;
  readonly parameter: object;
}

/** The part of `pkcs11js` that is used. */
export interface Pkcs11Binding {
  readonly PKCS11: new () => Pkcs11Module;
  readonly CK_PARAMS_AES_GCM: number;
  readonly CK_PARAMS_AES_GCM_v240: number;
  readonly CK_PARAMS_RSA_OAEP: number;
}

interface Pkcs11Module {
  load(path: string): void;
  C_Initialize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { label: string; serialNumber: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_Login(session: Handle, user: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: { type: number; value: number | string | Buffer | boolean }[]): void;
  C_FindObjects(session: Handle, count: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_EncryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Encrypt(session: Handle, input: Buffer, output: Buffer): Buffer;
  C_DecryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Decrypt(session: Handle, input: Buffer, output: Buffer): Buffer;
}

/** Ends what was begun, with a code for the parent. */
export class Pkcs11Stop extends Error {
  override readonly name = 'Pkcs11Stop';
  readonly code: OwnCode;

  constructor(code: OwnCode) {
    super(code);
    this.code = code;
  }
}

/** PKCS #11 2.40, pkcs11t.h. */
const CKO_PUBLIC_KEY = 2;
const CKO_PRIVATE_KEY = 3;
const CKO_SECRET_KEY = 4;
const CKA_CLASS = 0;
const CKA_LABEL = 3;
const CKA_KEY_TYPE = 0x100;
const CKA_ID = 0x102;
const CKK_RSA = 0;
const CKK_AES = 0x1f;
const CKF_SERIAL_SESSION = 4;
const CKU_USER = 1;
const CKM_RSA_PKCS_OAEP = 9;
const CKM_AES_GCM = 0x1087;
const CKM_SHA_1 = 0x220;
const CKM_SHA256 = 0x250;
const CKG_MGF1_SHA1 = 1;
const CKG_MGF1_SHA256 = 2;
const CKZ_DATA_SPECIFIED = 1;

/** The first byte of a wrapped key. */
const AES_GCM = 1;
const RSA_OAEP_SHA256 = 2;
const RSA_OAEP_SHA1 = 3;

const IV_BYTES = 12;
const TAG_BITS = 128;
const OUTPUT_BYTES = 2048;
/** What modules answer where a form of the parameters, or a hash, is not theirs. */
const OTHER_PARAMETERS = /CKR_(?:MECHANISM_PARAM_INVALID|ARGUMENTS_BAD|MECHANISM_INVALID)\b/;
/** What modules answer to a damaged ciphertext. */
const DAMAGED =
  /CKR_(?:ENCRYPTED_DATA_INVALID|ENCRYPTED_DATA_LEN_RANGE|DATA_INVALID|DATA_LEN_RANGE|AEAD_DECRYPT_FAILED)\b/;
/** What some of them answer to it, and to a fault of their own. */
const DAMAGED_OR_FAULT = /CKR_(?:GENERAL_ERROR|FUNCTION_FAILED|DEVICE_ERROR|ARGUMENTS_BAD)\b/;

interface Keys {
  readonly encrypting: Handle;
  readonly decrypting: Handle;
  readonly isAes: boolean;
}

/** One session of a module, logged in, with the key that the reference names. */
export class Pkcs11Session {
  readonly #binding: Pkcs11Binding;
  readonly #module: Pkcs11Module;
  readonly #session: Handle;
  readonly #keys: Keys;

  private constructor(binding: Pkcs11Binding, module: Pkcs11Module, session: Handle, keys: Keys) {
    this.#binding = binding;
    this.#module = module;
    this.#session = session;
    this.#keys = keys;
  }

  static open(binding: Pkcs11Binding, setup: Pkcs11Setup): Pkcs11Session {
    const module = new binding.PKCS11();
    try {
      module.load(setup.modulePath);
    } catch {
      throw new Pkcs11Stop('NO_MODULE');
    }
    module.C_Initialize();
    const session = module.C_OpenSession(slotOf(module, setup), CKF_SERIAL_SESSION);
    module.C_Login(session, CKU_USER, setup.pin);
    return new Pkcs11Session(binding, module, session, keysOf(module, session, setup));
  }

  wrap(key: Buffer, associatedData: Buffer): Buffer {
    if (this.#keys.isAes) {
      const iv = randomBytes(IV_BYTES);
      const body = firstOf(this.#aesGcm(iv, associatedData), (mechanism) => this.#encrypt(mechanism, key));
      return Buffer.concat([Buffer.of(AES_GCM), iv, body]);
    }
    return firstOf([RSA_OAEP_SHA256, RSA_OAEP_SHA1], (form) =>
      Buffer.concat([Buffer.of(form), this.#encrypt(this.#rsaOaep(form), key)]),
    );
  }

  unwrap(wrapped: Buffer, associatedData: Buffer): Buffer {
    const form = wrapped[0];
    const forms = this.#keys.isAes ? [AES_GCM] : [RSA_OAEP_SHA256, RSA_OAEP_SHA1];
    if (form === undefined || !forms.includes(form)) throw new Pkcs11Stop('WRONG');
    const [iv, body] = [wrapped.subarray(1, 1 + IV_BYTES), wrapped.subarray(form === AES_GCM ? 1 + IV_BYTES : 1)];
    if (body.length <= TAG_BITS / 8) throw new Pkcs11Stop('WRONG');
    try {
      return this.#keys.isAes
        ? firstOf(this.#aesGcm(iv, associatedData), (mechanism) => this.#decrypt(mechanism, body))
        : this.#decrypt(this.#rsaOaep(form), body);
    } catch (error) {
      const { message } = error as Error;
      if (DAMAGED.test(message) || (DAMAGED_OR_FAULT.test(message) && this.#works())) throw new Pkcs11Stop('WRONG');
      throw error;
    }
  }

  /** Whether the key opens what it seals now, so that only what was given can be at fault. */
  #works(): boolean {
    try {
      const probe = randomBytes(32);
      const data = Buffer.from('probe');
      const wrapped = this.wrap(probe, data);
      const body = wrapped.subarray(this.#keys.isAes ? 1 + IV_BYTES : 1);
      const opened = this.#keys.isAes
        ? firstOf(this.#aesGcm(wrapped.subarray(1, 1 + IV_BYTES), data), (mechanism) => this.#decrypt(mechanism, body))
        : this.#decrypt(this.#rsaOaep(Number(wrapped[0])), body);
      return opened.equals(probe);
    } catch {
      return false;
    }
  }

  #encrypt(mechanism: Mechanism, input: Buffer): Buffer {
    this.#module.C_EncryptInit(this.#session, mechanism, this.#keys.encrypting);
    return Buffer.from(this.#module.C_Encrypt(this.#session, input, Buffer.alloc(OUTPUT_BYTES)));
  }

  #decrypt(mechanism: Mechanism, input: Buffer): Buffer {
    this.#module.C_DecryptInit(this.#session, mechanism, this.#keys.decrypting);
    return Buffer.from(this.#module.C_Decrypt(this.#session, input, Buffer.alloc(OUTPUT_BYTES)));
  }

  /** The parameters of PKCS #11 2.40, and those of modules that follow its first draft. */
  #aesGcm(iv: Buffer, aad: Buffer): Mechanism[] {
    const { CK_PARAMS_AES_GCM_v240, CK_PARAMS_AES_GCM } = this.#binding;
    return [CK_PARAMS_AES_GCM_v240, CK_PARAMS_AES_GCM].map((type) => ({
      mechanism: CKM_AES_GCM,
      parameter: { type, iv, ivBits: IV_BYTES * 8, aad, tagBits: TAG_BITS },
    }));
  }

  #rsaOaep(form: number): Mechanism {
    const [hashAlg, mgf] = form === RSA_OAEP_SHA256 ? [CKM_SHA256, CKG_MGF1_SHA256] : [CKM_SHA_1, CKG_MGF1_SHA1];
    const parameter = { type: this.#binding.CK_PARAMS_RSA_OAEP, hashAlg, mgf, source: CKZ_DATA_SPECIFIED };
    return { mechanism: CKM_RSA_PKCS_OAEP, parameter };
  }
}

/** The result for the first choice that the module knows. */
function firstOf<T, R>(choices: readonly T[], work: (choice: T) => R): R {
  let last: unknown;
  for (const choice of choices) {
    try {
      return work(choice);
    } catch (error) {
      if (last === undefined || !OTHER_PARAMETERS.test((error as Error).message)) last = error;
      if (!OTHER_PARAMETERS.test((error as Error).message)) throw error;
    }
  }
  throw last;
}

function slotOf(module: Pkcs11Module, { token, serial, slotId }: Pkcs11Setup): Handle {
  const found = module.C_GetSlotList(true).filter((slot) => {
    const { label, serialNumber } = module.C_GetTokenInfo(slot);
    return (
      (slotId === null || slot.readUInt32LE(0) === slotId) &&
      (token === null || label.trimEnd() === token) &&
      (serial === null || serialNumber.trimEnd() === serial)
    );
  });
  return only(found, 'NO_TOKEN');
}

function keysOf(module: Pkcs11Module, session: Handle, { object, id }: Pkcs11Setup): Keys {
  const find = (keyClass: number, keyType: number) => {
    module.C_FindObjectsInit(session, [
      { type: CKA_CLASS, value: keyClass },
      { type: CKA_KEY_TYPE, value: keyType },
      ...(object === null ? [] : [{ type: CKA_LABEL, value: object }]),
      ...(id === null ? [] : [{ type: CKA_ID, value: id }]),
    ]);
    try {
      return module.C_FindObjects(session, 2);
    } finally {
      module.C_FindObjectsFinal(session);
    }
  };
  const [aes, rsa] = [find(CKO_SECRET_KEY, CKK_AES), find(CKO_PRIVATE_KEY, CKK_RSA)];
  const decrypting = only([...aes, ...rsa], 'NO_KEY');
  const isAes = aes.length > 0;
  return { decrypting, encrypting: isAes ? decrypting : only(find(CKO_PUBLIC_KEY, CKK_RSA), 'NO_KEY'), isAes };
}

function only(found: readonly Handle[], missing: OwnCode): Handle {
  const [first, second] = found;
  if (first === undefined) throw new Pkcs11Stop(missing);
  if (second !== undefined) throw new Pkcs11Stop('AMBIGUOUS');
  return first;
}
