import { type Linked, port, removalOf, shared } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import type { SecretReader } from './reading/secret-reader.ts';
import type { RiskFactor } from './schemas.ts';

/** The factors of the last computed risk of each of these secrets; those without one are missing. */
export const riskFactorsOf =
  port<
    (db: Reader, tenantId: string, secretIds: readonly string[]) => Promise<ReadonlyMap<string, readonly RiskFactor[]>>
  >('riskFactorsOf');

export const secretsRemoved = removalOf<[tx: Tx, tenantId: string, secretIds: readonly string[]]>('secrets');

/** What it needs of other features. */
export const secretNeeds = { riskFactorsOf };
export type SecretParts = Linked<typeof secretNeeds>;

/** Features share it, because it reads secrets that are requested together in one statement. */
export const sharedSecretReader = shared<SecretReader>('secretReader');

/** The services of the kernel that it uses. */
export type SecretKernel = Pick<
  Kernel,
  | 'audit'
  | 'clock'
  | 'clockGuard'
  | 'config'
  | 'database'
  | 'keyring'
  | 'log'
  | 'metrics'
  | 'outbound'
  | 'plans'
  | 'regionGate'
>;
