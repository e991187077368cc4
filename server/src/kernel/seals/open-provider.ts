import { AWS_CREDENTIAL_VARIABLES } from './aws-credentials.ts';
import { AWS_KMS_OPTIONS, AWS_KMS_VARIABLES, openAwsKms } from './aws-kms.ts';
import { AZURE_VARIABLES } from './azure-credentials.ts';
import { AZURE_OPTIONS, openAzureKeyVault } from './azure-keyvault.ts';
import { openGcpKms } from './gcp-kms.ts';
import { GOOGLE_CREDENTIAL_VARIABLES } from './google-credentials.ts';
import { openPkcs11, PKCS11_OPTIONS, PKCS11_VARIABLES } from './pkcs11.ts';
import type { SealProvider } from './provider.ts';
import { misconfigured, type SealOption, type SealReference, splitReference } from './reference.ts';
import type { SealSurroundings, SealVariable } from './surroundings.ts';
import { openTransit, TRANSIT_OPTIONS } from './transit.ts';
import { TRANSIT_VARIABLES } from './transit-token.ts';

/** A kind of provider: how it is named, what it reads, and how it is opened. */
export interface SealKind {
  readonly kind: string;
  readonly doc: string;
  readonly forms: readonly string[];
  readonly options: readonly SealOption[];
  readonly variables: readonly SealVariable[];
  open(reference: SealReference, surroundings: SealSurroundings): SealProvider;
}

export const SEAL_KINDS: readonly SealKind[] = [
  {
    kind: 'aws-kms',
    doc: 'A symmetric key of AWS KMS. Its policy allows the service kms:Encrypt and kms:Decrypt.',
    forms: [
      'aws-kms:arn:aws:kms:<region>:<account>:key/<id>',
      'aws-kms:arn:aws:kms:<region>:<account>:alias/<name>',
      'aws-kms://<region>/<id>',
      'aws-kms://<region>/alias/<name>',
    ],
    options: AWS_KMS_OPTIONS,
    variables: [...AWS_KMS_VARIABLES, ...AWS_CREDENTIAL_VARIABLES],
    open: openAwsKms,
  },
  {
    kind: 'gcp-kms',
    doc: 'A symmetric key of Google Cloud KMS, on which the service has roles/cloudkms.cryptoKeyEncrypterDecrypter.',
    forms: ['gcp-kms://projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>'],
    options: [],
    variables: GOOGLE_CREDENTIAL_VARIABLES,
    open: openGcpKms,
  },
  {
    kind: 'azure-keyvault',
    doc: 'An RSA key of Azure Key Vault that permits wrapKey and unwrapKey. Turn on soft delete and purge protection.',
    forms: ['azure-keyvault://<vault>/<key>', 'azure-keyvault://<vault>/<key>/<version>'],
    options: AZURE_OPTIONS,
    variables: AZURE_VARIABLES,
    open: openAzureKeyVault,
  },
  {
    kind: 'pkcs11',
    doc: 'An AES key, or an RSA key pair, in an HSM or another token with a PKCS #11 module. It needs the optional package pkcs11js, built.',
    forms: [
      'pkcs11:token=<label>;object=<label>?module-path=<path>',
      'pkcs11:serial=<serial>;id=%01?module-path=<path>&pin-source=file:<path>',
    ],
    options: PKCS11_OPTIONS,
    variables: PKCS11_VARIABLES,
    open: openPkcs11,
  },
  {
    kind: 'transit',
    doc: 'A key of the transit engine of Vault, OpenBao or another Coffer that is not derived. The token may update encrypt/<key> and decrypt/<key>; without "create", a missing key is not made by accident.',
    forms: ['transit:https://<host>:<port>/<mount>/<key>', 'transit://<host>:<port>/<mount>/<key>'],
    options: TRANSIT_OPTIONS,
    variables: TRANSIT_VARIABLES,
    open: openTransit,
  },
];

/** The provider that a reference names. It is not called yet. Throws SealError, for a reference that is wrong or lacks what it needs. */
export function openProvider(text: string, surroundings: SealSurroundings): SealProvider {
  const reference = splitReference(text);
  const found = SEAL_KINDS.find(({ kind }) => kind === reference.kind);
  if (found === undefined)
    throw misconfigured(`There is no such kind of seal. Choose of: ${SEAL_KINDS.map(({ kind }) => kind).join(', ')}.`);
  return found.open(reference, surroundings);
}
