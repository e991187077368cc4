import { ARCHIVES } from '../audit/chain/archived-ranges.ts';
import { SIGNING_KEYS } from '../auth/signing-keys.ts';
import { TENANTS } from '../integrity/tenant-rows.ts';
import type { FeatureTables } from './declaration.ts';

/** The tables that belong to no feature. */
export const KERNEL_TABLES = {
  authenticated: [TENANTS, SIGNING_KEYS, ARCHIVES],
  plain: {
    installation: 'names the root key; with another name or salt nothing opens, and the service does not start',
    seals: 'each copy of the root key is sealed by the seal that it names, and another root key opens nothing',
    schema_version: 'an older number makes a migration fail, a newer one the start',
    keys: 'each key is sealed, bound to its tenant, purpose and version, and to whether it may still seal',
    audit_segments: 'linked by hashes into a chain whose head has a MAC; on PostgreSQL each has one until it is linked',
    audit_heads: 'has a MAC of its own, and is anchored outside the database',
    audit_nodes: 'has a MAC of its own',
    audit_journal: 'has a MAC of its own',
    idempotency_keys: 'the answer is sealed, bound to its tenant, caller and key',
    login_failures: 'slows down guessing; the password is still asked for',
    rate_windows: 'counts requests',
    nodes: 'informs the operator',
    job_leases: 'says when a job runs, not what it does',
    operator_words:
      'allows a job to remove what is over, or trusts a clock: whoever writes here can delete by themselves',
    counters: 'gives out numbers; one that was given out before is refused by the key of its table',
    dpop_proofs:
      'remembers proofs that were used; a proof that is sent again still needs the credential, within minutes',
  },
} satisfies FeatureTables;
