import Type from 'typebox';
import { ANY_CALLER, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described, named } from '../../kernel/wire/named-schemas.ts';
import { object, objectWithExamples, oneOf, timestampText } from '../../kernel/wire/wire.ts';

export const FORMAT_NAMES = ['aws-nitro-cose-sign1', 'sgx-dcap-quote-v3', 'amd-sev-snp-report'] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** Real documents are up to some 6 KiB. */
export const DOCUMENT_BYTES_MAX = 32 * 1024;
/** The maximum that a Nitro document can carry. */
export const CARRIED_BYTES_MAX = 512;
const EXPECTED_CLAIMS_MAX = 32;
const BASE64 = '^[A-Za-z0-9+/]+={0,2}$';

const base64 = (bytesMax: number, description: string) =>
  Type.String({
    minLength: 4,
    maxLength: 4 * Math.ceil(bytesMax / 3),
    pattern: BASE64,
    description: `${description} Base64 with padding, at most ${bytesMax} bytes.`,
  });

const MEASUREMENT_NAME = '^[a-z][a-z0-9_]{0,31}$';
const measurementsOf = (description: string) =>
  Type.Record(
    Type.String({ pattern: MEASUREMENT_NAME }),
    Type.String({ pattern: '^(?:[0-9a-f]{2}){32,64}$', maxLength: 128 }),
    {
      additionalProperties: false,
      description,
    },
  );

const AttestationFormat = named('AttestationFormat', 'The format of the document.', oneOf(FORMAT_NAMES));

const Expected = named(
  'ExpectedEvidence',
  'What must be in an attestation document.',
  object({
    measurements: Type.Optional(
      measurementsOf('Digests that must be in `measurements` of the response, under the same names, in hexadecimal.'),
    ),
    user_data: Type.Optional(
      base64(CARRIED_BYTES_MAX, 'Must be the user data; in SGX and SEV-SNP the report data, followed by zeros.'),
    ),
    claims: Type.Optional(
      Type.Record(
        Type.String({ pattern: MEASUREMENT_NAME }),
        Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean(), Type.Null()]),
        {
          additionalProperties: false,
          maxProperties: EXPECTED_CLAIMS_MAX,
          description: 'Values that must be in `claims` of the response, such as `module_id`.',
        },
      ),
    ),
  }),
);

const common = {
  ...ORDINARY,
  noun: 'attestation',
  aboutNoun: {
    title: 'Attestation',
    group: 'Cryptography',
    guide: ['attestation'],
    description: 'Verification of attestation documents from trusted execution environments.',
  },
  credentials: ANY_CALLER,
  resource: 'attestation',
  rate: 'write',
  region: 'local',
  effect: 'change',
  params: NONE,
  query: NONE,
  body: NONE,
} as const;

export const createNonce = endpoint({
  ...common,
  name: 'createAttestationNonce',
  method: 'POST',
  path: '/attestation/nonce',
  summary: 'Get a nonce for one attestation',
  description:
    'The enclave includes it in its document, which proves that the document was created for you just now. It is valid for one verification, ' +
    'successful or not, on any node, and only in your tenant.',
  permission: 'attestation:verify',
  audit: 'attestation:create_nonce',
  status: 201,
  output: object({
    nonce: Type.String({ description: '32 bytes in base64 with padding.' }),
    expires_at: timestampText,
  }),
  errors: [],
});

export const verifyAttestation = endpoint({
  ...common,
  name: 'verifyAttestation',
  method: 'POST',
  path: '/attestation/verify',
  summary: 'Verify an attestation document of a trusted execution environment',
  description:
    'Nitro documents are verified up to the root of AWS. SGX quotes and SEV-SNP reports are fully parsed, but their signatures are not ' +
    'checked: `signature_validated` and `verified` are then false. `verified` is true if the signature is valid and everything you expect is ' +
    'present; otherwise `warnings` says why not. A document that cannot be parsed is rejected with 422.',
  permission: 'attestation:verify',
  audit: 'attestation:verify',
  body: objectWithExamples([{ format: 'amd-sev-snp-report', document: 'AgAAAAAAAAAAAAMAAAAAAAAAAAAA' }], {
    format: Type.Optional(described(`The format of the document. Default: ${FORMAT_NAMES[0]}.`, AttestationFormat)),
    document: base64(DOCUMENT_BYTES_MAX, 'The document.'),
    nonce: Type.Optional(
      base64(
        CARRIED_BYTES_MAX,
        'Must be in the document: a nonce of your own, or one from `POST /attestation/nonce`, which is used up by this request.',
      ),
    ),
    expected: Type.Optional(Expected),
  }),
  status: 200,
  output: object({
    format: AttestationFormat,
    signature_validated: Type.Boolean({
      description:
        'The manufacturer signed it, with certificates that are valid now. Always false for SGX and SEV-SNP.',
    }),
    verified: Type.Boolean({ description: 'The signature is valid and no warning prevents verification.' }),
    expired: Type.Boolean({
      description:
        'The manufacturer signed it, with certificates that have expired since: the evidence is old, not forged. It is still not verified.',
    }),
    signature_valid_at_document_time: Type.Boolean({
      description:
        'The manufacturer signed it, with certificates that were valid at the time stated in the document. Always false for SGX and SEV-SNP.',
    }),
    measurements: measurementsOf('Digests of the running code, in hexadecimal.'),
    claims: Type.Record(Type.String(), Type.Unknown(), { description: 'All other contents of the document.' }),
    warnings: Type.Array(Type.String(), {
      description: 'Each is a stable code, a colon, and an explanation. Those that prevent verification come first.',
    }),
  }),
  errors: [],
});
