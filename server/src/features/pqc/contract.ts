import Type, { type Static } from 'typebox';
import {
  ANY_CALLER,
  ANY_TOKEN,
  BODY_BYTES_DEFAULT,
  endpoint,
  NONE,
  ORDINARY,
} from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import {
  freeText,
  idParam,
  nextCursor,
  object,
  objectWithExamples,
  oneOf,
  pageQuery,
  timestampText,
} from '../../kernel/wire/wire.ts';

export const KEM_ALGORITHMS = ['ecdh-p256+ml-kem-768', 'rsa-oaep-2048+ml-kem-768'] as const;
export const SIGNATURE_ALGORITHM = 'rsa-pss-3072+ml-dsa-65';
const ALGORITHMS = [...KEM_ALGORITHMS, SIGNATURE_ALGORITHM] as const;

/** Slightly above the base64 length of the largest key, wrapped key and signature, so that longer input is refused before it is decoded. */
const PUBLIC_KEY_LENGTH_MAX = 3200;
const WRAPPED_LENGTH_MAX = 2048;
const SIGNATURE_LENGTH_MAX = 5120;
const KEY_LENGTH = 44;
const DIGEST_LENGTH = 88;
const KEY_ID_LENGTH_MAX = 64;
export const MESSAGE_BYTES_MAX = 1_048_576;
/** A character may be escaped as six (`\u0041`), and the body also holds a signature and a key. */
const MESSAGE_BODY_BYTES_MAX = 6 * MESSAGE_BYTES_MAX + BODY_BYTES_DEFAULT;

const kemAlgorithm = named('KemAlgorithm', 'The classical algorithm combined with ML-KEM-768.', oneOf(KEM_ALGORITHMS));
const keyIdIn = Type.String({ minLength: 1, maxLength: KEY_ID_LENGTH_MAX, description: 'The id of the key.' });
const publicKeyIn = Type.String({
  minLength: 1,
  maxLength: PUBLIC_KEY_LENGTH_MAX,
  description: "A public key in base64, used instead of the tenant's own key.",
});
const message = Type.String({
  maxLength: MESSAGE_BYTES_MAX,
  description: 'The text to sign or verify, at most 1,048,576 bytes in UTF-8.',
});
const digest = Type.String({
  minLength: DIGEST_LENGTH,
  maxLength: DIGEST_LENGTH,
  description:
    'Alternatively the SHA-512 digest of the signed bytes, in base64: for data that is not text, or too large to send.',
});

const PqcAlgorithm = named(
  'PqcAlgorithm',
  'The algorithm of the key: for wrapping keys, or for signing.',
  oneOf(ALGORITHMS),
);

export const PqcKey = named(
  'PqcKey',
  'A public key of the tenant.',
  object({
    key_id: Type.String({ description: 'The id of the key.' }),
    algorithm: PqcAlgorithm,
    version: Type.Integer({ description: 'Starts at 1 for each algorithm.' }),
    public_key: Type.String({ description: 'In base64: the ML-KEM or ML-DSA key, then the classical one.' }),
    created_at: timestampText,
  }),
);
export type PqcKey = Static<typeof PqcKey>;

const common = {
  ...ORDINARY,
  noun: 'pqc',
  aboutNoun: {
    title: 'Post-quantum',
    group: 'Cryptography',
    guide: ['post-quantum'],
    description: 'Hybrid post-quantum cryptography: keys are wrapped and messages signed with two algorithms at once.',
  },
  credentials: ANY_CALLER,
  rate: 'read',
  effect: 'read',
  params: NONE,
  query: NONE,
  status: 200,
} as const;

const wrapping = { ...common, method: 'POST', resource: 'pqc/hybrid-classical', plaintext: true } as const;

export const wrapKey = endpoint({
  ...wrapping,
  name: 'wrapKey',
  path: '/pqc/hybrid-classical/wrap',
  summary: 'Wrap an AES-256 key with a hybrid of ML-KEM-768 and a classical algorithm',
  description:
    "Uses the newest version of the tenant's own key, created on first use, or `public_key`. An attacker must break both algorithms to get the key.",
  permission: 'pqc:wrap',
  audit: 'pqc:wrap',
  body: object({
    algorithm: kemAlgorithm,
    key: Type.String({
      minLength: KEY_LENGTH,
      maxLength: KEY_LENGTH,
      description: 'The key to wrap: 32 bytes in base64.',
      examples: ['MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='],
    }),
    public_key: Type.Optional(publicKeyIn),
  }),
  output: object({
    algorithm: kemAlgorithm,
    key_id: Type.String({ description: 'The id of the wrapping key; required to unwrap.' }),
    wrapped: Type.String({ description: 'In base64.' }),
  }),
  errors: [],
});

export const unwrapKey = endpoint({
  ...wrapping,
  name: 'unwrapKey',
  path: '/pqc/hybrid-classical/unwrap',
  summary: 'Unwrap a wrapped key',
  description:
    'Takes the response of `wrap`, for any version of the key. Every failure to unwrap returns the same error.',
  permission: 'pqc:unwrap',
  audit: 'pqc:unwrap',
  body: object({
    algorithm: kemAlgorithm,
    key_id: keyIdIn,
    wrapped: Type.String({ maxLength: WRAPPED_LENGTH_MAX, description: 'In base64.' }),
  }),
  output: object({
    algorithm: kemAlgorithm,
    key_id: Type.String({ description: 'The id of the key.' }),
    key: Type.String({ description: 'The 32 bytes in base64.' }),
  }),
  errors: ['DECRYPT_FAILED'],
});

const signing = {
  ...common,
  method: 'POST',
  resource: 'pqc/dual-sign',
  bodyBytesMax: MESSAGE_BODY_BYTES_MAX,
} as const;

export const dualSign = endpoint({
  ...signing,
  name: 'dualSign',
  path: '/pqc/dual-sign/sign',
  summary: 'Sign with RSA-PSS-3072 and ML-DSA-65 at once',
  description: 'One signature of two halves (id-MLDSA65-RSA3072-PSS-SHA512). Send either `message` or `digest`.',
  permission: 'pqc:sign',
  audit: 'pqc:sign',
  body: object({ message: Type.Optional(message), digest: Type.Optional(digest) }),
  output: object({
    algorithm: oneOf([SIGNATURE_ALGORITHM], 'The signature algorithm.'),
    key_id: Type.String({ description: 'The id of the key.' }),
    signature: Type.String({ description: 'In base64: 3,309 bytes of ML-DSA, then 384 of RSA-PSS.' }),
    public_key: Type.String({ description: 'In base64; store it to verify without the service.' }),
  }),
  errors: [],
});

export const dualVerify = endpoint({
  ...signing,
  name: 'dualVerify',
  path: '/pqc/dual-sign/verify',
  summary: 'Verify a dual signature: both halves must be valid',
  description:
    'Send either `message` or `digest`, and `key_id` for any version of a key of the tenant, or `public_key` for any other key. If both are sent, they must be the same key.',
  permission: 'pqc:verify',
  audit: 'pqc:verify',
  body: objectWithExamples([{ message: 'Release 1.4.2', signature: 'qg7dbD9L0Wc0Xw==', key_id: 'Zm5mYzU4NzE2NGM1' }], {
    message: Type.Optional(message),
    digest: Type.Optional(digest),
    signature: Type.String({ maxLength: SIGNATURE_LENGTH_MAX, description: 'In base64.' }),
    key_id: Type.Optional(keyIdIn),
    public_key: Type.Optional(publicKeyIn),
  }),
  output: object({
    valid: Type.Boolean({ description: 'Whether both halves are valid.' }),
    rsa_pss_valid: Type.Boolean({ description: 'Whether the RSA-PSS half is valid.' }),
    ml_dsa_valid: Type.Boolean({ description: 'Whether the ML-DSA half is valid.' }),
    key_id: Type.String({ description: 'The id of the key.' }),
  }),
  errors: ['NOT_FOUND'],
});

export const listPqcKeys = endpoint({
  ...common,
  name: 'listPqcKeys',
  method: 'GET',
  path: '/pqc/keys',
  summary: 'List all versions of the public keys of the tenant',
  description: 'Anyone who has them can wrap keys for the tenant, and verify its signatures, without the service.',
  permission: 'pqc:list',
  resource: 'pqc/keys',
  audit: 'pqc:list',
  query: object({ ...pageQuery, algorithm: Type.Optional(described('Only keys of this algorithm.', PqcAlgorithm)) }),
  body: NONE,
  output: object({ keys: Type.Array(PqcKey), next_cursor: nextCursor }),
  errors: [],
});

export const readPqcKey = endpoint({
  ...common,
  name: 'readPqcKey',
  method: 'GET',
  path: '/pqc/keys/{key_id}',
  summary: 'Read one public key',
  description: 'By its id, for any version.',
  permission: 'pqc:read_metadata',
  resource: 'pqc/keys',
  audit: 'pqc:read',
  params: object({ key_id: described('The id of the key.', idParam) }),
  body: NONE,
  output: PqcKey,
  errors: ['NOT_FOUND'],
});

export const rotatePqcKey = endpoint({
  ...common,
  credentials: ANY_TOKEN,
  name: 'rotatePqcKey',
  method: 'POST',
  path: '/pqc/keys/rotate',
  summary: 'Rotate a key',
  description:
    'Creates a new version, which is used to wrap or sign from now on. Earlier versions still unwrap and verify. A version that is a year old is replaced automatically at its next use.',
  permission: 'pqc:rotate',
  resource: 'pqc/keys',
  rate: 'rotate',
  audit: 'pqc:rotate',
  effect: 'change',
  body: object({ algorithm: PqcAlgorithm, reason: Type.Optional(freeText(1024, 'Reason for the audit log.')) }),
  status: 201,
  output: PqcKey,
  errors: ['IN_USE'],
});
