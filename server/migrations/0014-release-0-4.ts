import type { Columns, SchemaBuilder } from '../src/kernel/storage/migrate.ts';
import { createAppConnections } from './release-0-4/app-connections.ts';
import { createApprovals } from './release-0-4/approvals.ts';
import { createAttestation } from './release-0-4/attestation.ts';
import { createAuditJournal } from './release-0-4/audit-journal.ts';
import { createCertificates } from './release-0-4/certificates.ts';
import { createEncryptionKeys } from './release-0-4/encryption-keys.ts';
import { createEnvironments } from './release-0-4/environments.ts';
import { createExternalIdentities } from './release-0-4/external-identities.ts';
import { createKernelTables } from './release-0-4/kernel.ts';
import { createPeople } from './release-0-4/people.ts';
import { createPolicies } from './release-0-4/policies.ts';
import { createPostQuantumKeys } from './release-0-4/post-quantum-keys.ts';
import { createVaultsAndSecrets } from './release-0-4/vaults-and-secrets.ts';

/** The tables of release 0.4.0, whose schema had this version. Databases of earlier releases are brought there by 0.4.0 itself. */
export async function up(schema: SchemaBuilder, columns: Columns): Promise<void> {
  await createKernelTables(schema, columns);
  await createPeople(schema, columns);
  await createPolicies(schema, columns);
  await createVaultsAndSecrets(schema, columns);
  await createApprovals(schema, columns);
  await createEnvironments(schema, columns);
  await createAuditJournal(schema, columns);
  await createAppConnections(schema, columns);
  await createCertificates(schema, columns);
  await createExternalIdentities(schema, columns);
  await createEncryptionKeys(schema, columns);
  await createAttestation(schema, columns);
  await createPostQuantumKeys(schema, columns);
}
