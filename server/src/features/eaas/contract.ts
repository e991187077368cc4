import Type, { type Static, type TSchema } from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
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
} from '../../kernel/wire/wire.ts';

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
  object({ version: Type.Integer({ description: 'The number of the version.' }), created_at: timestampText }),
);

const EncryptionKeyStatus = named(
  'EncryptionKeyStatus',
  'pending_approval: approval of its deletion is pending.',
  oneOf(['active', 'pending_approval']),
);

export const EncryptionKey = named(
  'EncryptionKey',
  'A key that encrypts and decrypts, and never leaves the service.',
  object({
    name: Type.String({ description: 'The name, which never changes.' }),
    description: Type.String({ description: 'The purpose of the key.' }),
    delete_protection: Type.Boolean({ description: 'While true, the key cannot be deleted.' }),
    status: EncryptionKeyStatus,
    approval_id: nullable(Type.String({ description: 'The pending approval of its deletion.' })),
    latest_version: Type.Integer({ description: 'The version that encrypts new data.' }),
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
  description: 'Text, at most 1,048,576 bytes in UTF-8. Encode binary data first, for example in base64.',
});
const aad = Type.Optional(
  Type.String({
    maxLength: AAD_CHARS_MAX,
    description: 'Additional authenticated data: not part of the ciphertext, but required again to decrypt it.',
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
    version: Type.Integer({ description: 'The version of the key that encrypted it.' }),
  }),
);
const DecryptResult = named(
  'DecryptResult',
  'The result for one envelope of a batch: its plaintext or an error.',
  object({
    plaintext: Type.Optional(Type.String({ description: 'The plaintext.' })),
    error: Type.Optional(oneOf(['DECRYPT_FAILED'], 'The envelope could not be decrypted.')),
  }),
);
const items = <S extends TSchema>(item: S) => Type.Array(item, { minItems: 1, maxItems: BATCH_ITEMS_MAX });

const common = {
  ...ORDINARY,
  noun: 'eaas',
  aboutNoun: {
    title: 'Encryption as a service',
    group: 'Cryptography',
    guide: ['encryption'],
    description: 'Encryption as a service: keys that encrypt and decrypt for programs and never leave the service.',
  },
  credentials: ANY_CALLER,
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
  summary: 'Create an encryption key that never leaves the service',
  description: 'For owners, admins, and AppConnections with a policy that allows it.',
  permission: 'eaas:create',
  resource: 'eaas',
  rate: 'write',
  audit: 'eaas:create',
  effect: 'change',
  body: object({
    name: resourceName,
    description: Type.Optional(freeText(1024, 'The purpose of the key.')),
    delete_protection: Type.Optional(
      Type.Boolean({ description: 'While true, the key cannot be deleted. Default: true.' }),
    ),
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
  description: 'Versions are not included; read a single key to see them.',
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
  description: 'The key itself is never returned.',
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
  description: 'Omitted fields are unchanged.',
  permission: 'eaas:update',
  rate: 'write',
  audit: 'eaas:update',
  effect: 'change',
  body: object({
    description: Type.Optional(freeText(1024, 'The purpose of the key.')),
    delete_protection: Type.Optional(Type.Boolean({ description: 'While true, the key cannot be deleted.' })),
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
  summary: 'Create a new version of an encryption key',
  description: 'It encrypts from the next request on, on every node; older versions still decrypt what they encrypted.',
  permission: 'eaas:rotate',
  rate: 'rotate',
  audit: 'eaas:rotate',
  effect: 'change',
  body: object({ reason: Type.Optional(lineOfText({ maxLength: 512 }, 'The reason, recorded in the audit log.')) }),
  status: 200,
  output: object({
    name: Type.String({ description: 'The name of the key.' }),
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
  summary: 'Delete an encryption key with all its versions',
  description:
    'Nothing it encrypted can ever be decrypted again. Set `delete_protection` to false first; on the Enterprise plan, approval by another admin is required.',
  permission: 'eaas:delete',
  rate: 'write',
  approval: 'eaas_key_delete',
  audit: 'eaas:delete',
  effect: 'change',
  body: object({
    reason: lineOfText(
      { minLength: DELETE_REASON_LENGTH_MIN, maxLength: 512 },
      'The reason, recorded in the audit log.',
    ),
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
  description: 'The envelope contains the name and version of the key; it is not stored.',
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
  description: 'Accepts every version of the key. Every invalid envelope gets the same error.',
  permission: 'eaas:decrypt',
  audit: 'eaas:decrypt',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: SealedText,
  output: object({ plaintext: Type.String({ description: 'The plaintext.' }) }),
  errors: ['NOT_FOUND', 'DECRYPT_FAILED'],
});

export const encryptBatch = endpoint({
  ...use,
  name: 'encryptBatch',
  path: '/eaas/keys/{name}/encrypt-batch',
  summary: 'Encrypt up to 1,000 texts at once',
  description: 'Their total size is limited to that of a single text.',
  permission: 'eaas:encrypt',
  audit: 'eaas:encrypt',
  bodyBytesMax: PLAINTEXT_BODY_MAX,
  body: object({ items: described('Their total size is limited to that of a single text.', items(PlainText)) }),
  output: object({
    version: Type.Integer({ description: 'The newest version.' }),
    envelopes: Type.Array(Type.String(), { description: 'In the order of the request.' }),
  }),
  errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
});

export const decryptBatch = endpoint({
  ...use,
  name: 'decryptBatch',
  path: '/eaas/keys/{name}/decrypt-batch',
  summary: 'Decrypt up to 1,000 envelopes at once',
  description:
    'Results are in the order of the request; an envelope that cannot be decrypted has `error` instead of `plaintext`.',
  permission: 'eaas:decrypt',
  audit: 'eaas:decrypt',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: object({ items: described('The envelopes; results are in the same order.', items(SealedText)) }),
  output: object({
    results: Type.Array(DecryptResult),
  }),
  errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE'],
});

export const rewrap = endpoint({
  ...use,
  name: 'rewrap',
  path: '/eaas/keys/{name}/rewrap',
  summary: 'Re-encrypt an envelope with the newest version, without showing its plaintext',
  description: 'For envelopes of older versions, after a rotation of the key.',
  permission: 'eaas:rewrap',
  audit: 'eaas:rewrap',
  bodyBytesMax: ENVELOPE_BODY_MAX,
  body: SealedText,
  output: Envelope,
  errors: ['NOT_FOUND', 'DECRYPT_FAILED'],
});
