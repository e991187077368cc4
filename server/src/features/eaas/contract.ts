import Type, { type Static, type TSchema } from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import {
  Deleted,
  freeText,
  lineOfText,
  nextCursor,
  nullable,
  object,
  oneOf,
  pageQuery,
  resourceName,
  timestampText,
} from '../../kernel/wire.ts';

export const PLAINTEXT_BYTES_MAX = 1024 * 1024;
/** The size of the longest plaintext in an envelope, with room for the longest key name. */
const ENVELOPE_CHARS_MAX = Math.ceil(PLAINTEXT_BYTES_MAX / 3) * 4 + 256;
const BATCH_ITEMS_MAX = 1000;
export const DELETE_REASON_LENGTH_MIN = 10;
const AAD_CHARS_MAX = 16 * 1024;
/** In JSON one byte may take six characters (`\u0001`). */
const PLAINTEXT_BODY_MAX = 6 * PLAINTEXT_BYTES_MAX + 6 * AAD_CHARS_MAX + BODY_BYTES_DEFAULT;
/** Each item has its own header, and base64 takes a third more. */
const ENVELOPE_BODY_MAX = 2 * ENVELOPE_CHARS_MAX + BATCH_ITEMS_MAX * 256 + 6 * AAD_CHARS_MAX;

const version = named(
  'EncryptionKeyVersion',
  'A version of an encryption key.',
  object({ version: Type.Integer({ description: 'Its number.' }), created_at: timestampText }),
);

const EncryptionKeyStatus = named(
  'EncryptionKeyStatus',
  'pending_approval: its deletion waits for somebody else.',
  oneOf(['active', 'pending_approval']),
);

export const EncryptionKey = named(
  'EncryptionKey',
  'A key that encrypts for you and never leaves the service.',
  object({
    name: Type.String({ description: 'Its name, which never changes.' }),
    description: Type.String({ description: 'What it is for.' }),
    delete_protection: Type.Boolean({ description: 'While it is on, the key cannot be deleted.' }),
    status: EncryptionKeyStatus,
    approval_id: nullable(Type.String({ description: 'What its deletion waits for.' })),
    latest_version: Type.Integer({ description: 'The version that encrypts.' }),
    created_at: timestampText,
    rotated_at: nullable(timestampText),
  }),
);
export const EncryptionKeyDetail = named(
  'EncryptionKeyDetail',
  'An encryption key with its versions.',
  object({ ...EncryptionKey.properties, versions: Type.Array(version) }),
);
export type EncryptionKeyDetail = Static<typeof EncryptionKeyDetail>;

const plaintext = Type.String({
  description: 'Text; at most 1,048,576 bytes as UTF-8. Encode bytes as you like.',
});
const aad = Type.Optional(
  Type.String({
    maxLength: AAD_CHARS_MAX,
    description: 'Bound to the ciphertext and not part of it: to open it, the same must be given again.',
  }),
);
const envelope = Type.String({
  maxLength: ENVELOPE_CHARS_MAX,
  description: '`eaas:v1:<key>:<version>:<iv>:<ciphertext>:<tag>`.',
});
const PlainText = named('EaasPlaintext', 'A text to encrypt.', object({ plaintext, aad }));
const SealedText = named('EaasCiphertext', 'A text to decrypt.', object({ envelope, aad }));
const Envelope = named(
  'EaasEnvelope',
  'An encrypted text.',
  object({
    envelope: Type.String({ description: '`eaas:v1:<key>:<version>:<iv>:<ciphertext>:<tag>`.' }),
    version: Type.Integer({ description: 'The version of the key that it was encrypted with.' }),
  }),
);
const DecryptResult = named(
  'DecryptResult',
  'Of one envelope of a batch: its text, or that it does not open.',
  object({
    plaintext: Type.Optional(Type.String({ description: 'The text.' })),
    error: Type.Optional(oneOf(['DECRYPT_FAILED'], 'It does not open.')),
  }),
);
const items = <S extends TSchema>(item: S) => Type.Array(item, { minItems: 1, maxItems: BATCH_ITEMS_MAX });

const common = {
  noun: 'eaas',
  nounDescription: 'Encryption as a service: keys that encrypt and decrypt for programs and never leave the service.',
  credentials: ANY_CALLER,
  tenant: 'own',
  tier: NONE,
  region: 'forward',
  approval: NONE,
  plaintext: false,
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

const ofOne = { params: object({ name: resourceName }), resource: 'eaas/{name}' } as const;

const use = {
  ...common,
  ...ofOne,
  method: 'POST',
  rate: 'read',
  effect: 'read',
  plaintext: true,
  status: 200,
} as const;

export const createKey = endpoint({
  ...common,
  name: 'createEncryptionKey',
  method: 'POST',
  path: '/eaas/keys',
  summary: 'Make an encryption key that never leaves the service',
  description: 'For owners and admins, and for AppConnections that a policy allows it.',
  permission: 'eaas:create',
  resource: 'eaas',
  rate: 'write',
  audit: 'eaas:create',
  effect: 'change',
  body: object({
    name: resourceName,
    description: Type.Optional(freeText(1024, 'What it is for.')),
    delete_protection: Type.Optional(Type.Boolean({ description: 'True unless given.' })),
  }),
  status: 201,
  output: EncryptionKeyDetail,
  errors: ['ALREADY_EXISTS'],
});

export const listKeys = endpoint({
  ...common,
  name: 'listEncryptionKeys',
  method: 'GET',
  path: '/eaas/keys',
  summary: 'List encryption keys',
  description: 'Without their versions; reading one has them.',
  permission: 'eaas:list',
  resource: 'eaas',
  rate: 'read',
  audit: 'eaas:list',
  effect: 'read',
  query: object(pageQuery),
  status: 200,
  output: object({ keys: Type.Array(EncryptionKey), next_cursor: nextCursor }),
  errors: [],
});

export const readKey = endpoint({
  ...common,
  ...ofOne,
  name: 'readEncryptionKey',
  method: 'GET',
  path: '/eaas/keys/{name}',
  summary: 'Read an encryption key’s description and versions',
  description: 'Never the key itself, which does not leave the service.',
  permission: 'eaas:read',
  rate: 'read',
  audit: 'eaas:read',
  effect: 'read',
  status: 200,
  output: EncryptionKeyDetail,
  errors: ['NOT_FOUND'],
});

export const updateKey = endpoint({
  ...common,
  ...ofOne,
  name: 'updateEncryptionKey',
  method: 'PATCH',
  path: '/eaas/keys/{name}',
  summary: 'Change an encryption key’s description or protection',
  description: 'What is left out stays as it is.',
  permission: 'eaas:update',
  rate: 'write',
  audit: 'eaas:update',
  effect: 'change',
  body: object({
    description: Type.Optional(freeText(1024, 'What it is for.')),
    delete_protection: Type.Optional(Type.Boolean({ description: 'While it is on, the key cannot be deleted.' })),
  }),
  status: 200,
  output: EncryptionKeyDetail,
  errors: ['NOT_FOUND'],
});

export const rotateKey = endpoint({
  ...common,
  ...ofOne,
  name: 'rotateEncryptionKey',
  method: 'POST',
  path: '/eaas/keys/{name}/rotate',
  summary: 'Make a new version of an encryption key',
  description:
    'From the next request on, on every node, it encrypts; the versions before it go on opening what they sealed.',
  permission: 'eaas:rotate',
  rate: 'rotate',
  audit: 'eaas:rotate',
  effect: 'change',
  body: object({ reason: Type.Optional(lineOfText({ maxLength: 512 }, 'Why; kept in the audit log.')) }),
  status: 200,
  output: object({
    name: Type.String({ description: 'The key.' }),
    version: Type.Integer({ description: 'The newest version.' }),
    rotated_at: timestampText,
  }),
  errors: ['NOT_FOUND'],
});

export const deleteKey = endpoint({
  ...common,
  ...ofOne,
  name: 'deleteEncryptionKey',
  method: 'DELETE',
  path: '/eaas/keys/{name}',
  summary: 'Destroy an encryption key with all its versions',
  description:
    'Nothing it sealed can ever be opened again. Its delete protection must be taken off first; on the Enterprise plan another admin approves.',
  permission: 'eaas:delete',
  rate: 'write',
  approval: 'eaas_key_delete',
  audit: 'eaas:delete',
  effect: 'change',
  body: object({
    reason: lineOfText({ minLength: DELETE_REASON_LENGTH_MIN, maxLength: 512 }, 'Why; kept in the audit log.'),
  }),
  status: 200,
  output: Deleted,
  errors: ['NOT_FOUND', 'KEY_DELETE_PROTECTED', 'VERSION_CONFLICT'],
});

export const encrypt = endpoint({
  ...use,
  name: 'encrypt',
  path: '/eaas/keys/{name}/encrypt',
  summary: 'Encrypt a text with the newest version of a key',
  description: 'The envelope names the key and the version; it is not stored.',
  permission: 'eaas:encrypt',
  audit: 'eaas:encrypt',
  bodyBytesMax: PLAINTEXT_BODY_MAX,
  body: PlainText,
  output: Envelope,
  errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
});

export const decrypt = endpoint({
  ...use,
  name: 'decrypt',
  path: '/eaas/keys/{name}/decrypt',
  summary: 'Decrypt an envelope of this key',
  description: 'Of any version of the key. Whatever is wrong with the envelope, the answer is the same.',
  permission: 'eaas:decrypt',
  audit: 'eaas:decrypt',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: SealedText,
  output: object({ plaintext: Type.String({ description: 'The text.' }) }),
  errors: ['NOT_FOUND', 'DECRYPT_FAILED'],
});

export const encryptBatch = endpoint({
  ...use,
  name: 'encryptBatch',
  path: '/eaas/keys/{name}/encrypt-batch',
  summary: 'Encrypt up to 1,000 texts at once',
  description: 'Together they may be as large as one text may be alone.',
  permission: 'eaas:encrypt',
  audit: 'eaas:encrypt',
  bodyBytesMax: PLAINTEXT_BODY_MAX,
  body: object({ items: described('Together they may be as large as one text may be alone.', items(PlainText)) }),
  output: object({
    version: Type.Integer({ description: 'The newest version.' }),
    envelopes: Type.Array(Type.String(), { description: 'In the order given.' }),
  }),
  errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
});

export const decryptBatch = endpoint({
  ...use,
  name: 'decryptBatch',
  path: '/eaas/keys/{name}/decrypt-batch',
  summary: 'Decrypt up to 1,000 envelopes at once',
  description: 'In the order given; what does not open has `error` in place of `plaintext`.',
  permission: 'eaas:decrypt',
  audit: 'eaas:decrypt',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: object({ items: described('In the order in which results come.', items(SealedText)) }),
  output: object({
    results: Type.Array(DecryptResult),
  }),
  errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
});

export const rewrap = endpoint({
  ...use,
  name: 'rewrap',
  path: '/eaas/keys/{name}/rewrap',
  summary: 'Encrypt an envelope’s content anew with the newest version, without showing it',
  description: 'For envelopes of older versions, after the key was rotated.',
  permission: 'eaas:rewrap',
  audit: 'eaas:rewrap',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: SealedText,
  output: Envelope,
  errors: ['NOT_FOUND', 'DECRYPT_FAILED'],
});
