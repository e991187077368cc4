import Type from 'typebox';
import { ANY_CALLER, BODY_BYTES_DEFAULT, endpoint, NONE } from '../../kernel/endpoint.ts';
import { described, named } from '../../kernel/named-schemas.ts';
import { object, objectWithExamples, oneOf, timestampText } from '../../kernel/wire.ts';

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

const AttestationFormat = named('AttestationFormat', 'What kind of document it is.', oneOf(FORMAT_NAMES));

const Expected = named(
  'ExpectedEvidence',
  'What must be in an attestation document.',
  object({
    measurements: Type.Optional(
      measurementsOf('Digests that must be in `measurements` of the answer, by the same names, in hexadecimal.'),
    ),
    user_data: Type.Optional(
      base64(CARRIED_BYTES_MAX, 'Must be the user data; in SGX and SEV-SNP the report data, with zeros after it.'),
    ),
    claims: Type.Optional(
      Type.Record(
        Type.String({ pattern: MEASUREMENT_NAME }),
        Type.Union([Type.String({ maxLength: 4096 }), Type.Number(), Type.Boolean(), Type.Null()]),
        {
          additionalProperties: false,
          maxProperties: EXPECTED_CLAIMS_MAX,
          description: 'What must stand in `claims` of the answer, such as `module_id`.',
        },
      ),
    ),
  }),
);

const common = {
  noun: 'attestation',
  nounDescription: 'What a trusted execution environment says about itself, verified.',
  credentials: ANY_CALLER,
  tenant: 'own',
  resource: 'attestation',
  rate: 'write',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  effect: 'change',
  raw: NONE,
  bodyBytesMax: BODY_BYTES_DEFAULT,
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
    'The enclave puts it into its document, which is then known to be made for you and just now. It is good for one verification, ' +
    'whatever comes of that, on any node, and only in your tenant.',
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
  summary: 'Verify what a trusted execution environment says about itself',
  description:
    'Nitro documents are verified up to the root of AWS. SGX quotes and SEV-SNP reports are read whole, but their signatures are not ' +
    'checked: `signature_validated` and `verified` are then false. `verified` is true if the signature holds and all that you expect is ' +
    'there; otherwise `warnings` says why not. A document that cannot be read is a 422.',
  permission: 'attestation:verify',
  audit: 'attestation:verify',
  body: objectWithExamples([{ format: 'amd-sev-snp-report', document: 'AgAAAAAAAAAAAAMAAAAAAAAAAAAA' }], {
    format: Type.Optional(described(`What the document is; ${FORMAT_NAMES[0]} unless given.`, AttestationFormat)),
    document: base64(DOCUMENT_BYTES_MAX, 'The document.'),
    nonce: Type.Optional(
      base64(CARRIED_BYTES_MAX, 'Must be in the document: one you made, or one of ours, which is then used up.'),
    ),
    expected: Type.Optional(Expected),
  }),
  status: 200,
  output: object({
    format: AttestationFormat,
    signature_validated: Type.Boolean({
      description: 'The maker signed it, with certificates that are valid now. Always false for SGX and SEV-SNP.',
    }),
    verified: Type.Boolean({ description: 'The signature is validated and nothing in `warnings` speaks against it.' }),
    expired: Type.Boolean({
      description:
        'The maker signed it, with certificates that have ended since: old evidence, not forged evidence. It is not verified all the same.',
    }),
    signature_valid_at_document_time: Type.Boolean({
      description:
        'The maker signed it, with certificates that were valid when the document says it was made. Always false for SGX and SEV-SNP.',
    }),
    measurements: measurementsOf('Digests of what runs, in hexadecimal.'),
    claims: Type.Record(Type.String(), Type.Unknown(), { description: 'All else that the document says.' }),
    warnings: Type.Array(Type.String(), {
      description: 'Each a stable code, a colon, and what it means: first what keeps it from being verified.',
    }),
  }),
  errors: [],
});
