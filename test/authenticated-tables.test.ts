import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUTHENTICATED_TABLES } from '../server/src/assembly/authenticated-tables.ts';
import { openDatabase } from './support/database.ts';
import { onBothDatabases } from './support/service.ts';

/** Tables whose rows carry no MAC, each with the reason. A new table fails here until it is authenticated or has one. */
const UNAUTHENTICATED: Record<string, string> = {
  installation: 'names the root key; with another name or salt nothing opens, and the service does not start',
  schema_version: 'an older number makes a migration fail, a newer one the start',
  keys: 'each key is sealed, bound to its tenant, purpose and version, and to whether it may still seal',
  certificate_authorities:
    'the private key is sealed, bound to the certificate and to the end of the authority; lists of what is revoked are signed, and an old one is good until it ends',
  pqc_keys: 'the private key is sealed under the id of the public key',
  audit_segments: 'linked by hashes into a chain whose head has a MAC; on PostgreSQL each has one until it is linked',
  audit_heads: 'has a MAC of its own, and is anchored outside the database',
  audit_nodes: 'has a MAC of its own',
  audit_compaction: 'decides only which segments are looked at for merging',
  audit_journal: 'has a MAC of its own',
  audit_checkpoints: 'signed by two algorithms',
  idempotency_keys: 'the answer is sealed, bound to its tenant, caller and key',
  tokenized_values: 'sealed, bound to their vault, token and end',
  secret_tags: 'finds secrets by their tags; what is decided on are the tags of the secret’s own row',
  connection_sessions:
    'limits how many use a credential at once; a forged one keeps its own connection out, or lets in one more who has the credential',
  login_failures: 'slows down guessing; the password is still asked for',
  device_codes:
    'who confirmed a command line is sealed, bound to its code; a forged row or state confirms nothing, and an old one ends within minutes',
  sso_logouts:
    'remembers logout tokens that were used, within minutes; one that is sent again is still signed by the provider, and can only end sessions',
  answered_challenges:
    'remembers challenges that were answered; one that is answered again needs a response that somebody else saw, within five minutes',
  outgoing_mail: 'the message is sealed, bound to its row; a forged time delays or repeats it',
  signups: 'the sign-up and the digest of its token are sealed, bound to the address; a changed row verifies nothing',
  billing_events:
    'remembers events that were applied; one that is sent again is still signed, and older than what is stored',
  rate_windows: 'counts requests',
  nodes: 'informs the operator',
  copilot_usage: 'counts requests to the assistant; whoever writes here can allow more of them, or none',
  job_leases: 'says when a job runs, not what it does',
  operator_words:
    'allows a job to remove what is over, or trusts a clock: whoever writes here can delete by themselves',
  break_glass_uses: 'tells admins what the audit log tells as well',
  counters: 'gives out numbers; one that was given out before is refused by the key of its table',
  dpop_proofs: 'remembers proofs that were used; a proof that is sent again still needs the credential, within minutes',
  certificate_announcements:
    'says which certificates were announced as expiring; a forged row announces some again, or leaves some out',
  secret_expiry_announcements:
    'says which ends of secrets were announced; a forged row leaves one out, a removed one announces it again',
  exporter_progress:
    'how far an exporter has come; entries that are left out or sent again are seen by their numbers, and where they go is decided by the exporter',
  exporter_losses: 'tells what a receiver did not take; decides nothing',
  anomalies: 'what scans found, and what people said about it, which is in the audit log too; grants nothing',
  anomaly_scans:
    'when a tenant was scanned; a forged row delays a scan by a day at most, since later times are not believed',
  anomaly_training:
    'false alarms, which hide findings that are alike; a forged one hides a finding, and grants nothing',
  anomaly_model_votes: 'compares models of detection; decides nothing',
  connection_uses: 'when a connection was last used, to find unused ones; the connection itself is not in it',
  webhook_deliveries: 'says what is told to the receiver of a webhook, whose address and secret are in its own row',
  user_activity: 'when people were last seen, which is shown and decides nothing',
  hourly_counts: 'statistics of the audit log, which decide about nobody’s access',
  rollup_progress: 'how far the log is counted; a forged row makes the statistics wrong, not the log',
  secret_risks: 'says how risky secrets are; decides nothing, and the next run computes it anew',
  secret_risk_changes: 'how risks changed; decides nothing',
  secret_risk_days: 'the history of risks; decides nothing',
  secret_reads: 'says who read a secret last, for its risk; decides nothing',
  risk_runs: 'says when risks are computed, and how far that is',
  attack_paths: 'says what was found; decides nothing, and the next run finds it anew',
  cluster_states:
    'says which generation a cluster has and what it reported; a forged one makes its operator fetch again, or wait, and what it gets is decided by policies',
  cluster_apply_log: 'tells what was delivered and reported, as the audit log tells as well; decides nothing',
  endpoint_hosts: 'what agents reported of hosts, which whoever controls a host could have written; decides nothing',
  endpoint_accounts: 'what agents reported, and who owns an account; it is listed, and decides nothing',
  endpoint_keys: 'fingerprints of keys that agents reported; decides nothing',
  former_users: 'finds keys of people who left; a forged one lists a key that is nobody’s',
  drift_notices: 'says when drift was last announced; a forged one announces it earlier or later',
  attestation_nonces: 'given out for attestations; a forged one lets its maker use a nonce of their own',
};

onBothDatabases('every table', (kind) => {
  test('is authenticated, sealed, or listed with the reason why not; and so is every column', async () => {
    const database = await openDatabase(kind);
    const tables = await database.read.introspection.getTables();
    const columnsOf = new Map(tables.map(({ name, columns }) => [name, columns.map((column) => column.name).sort()]));
    const authenticated = AUTHENTICATED_TABLES.map(({ name }) => name);
    assert.deepEqual([...columnsOf.keys()].sort(), [...authenticated, ...Object.keys(UNAUTHENTICATED)].sort());
    for (const table of AUTHENTICATED_TABLES) {
      assert.deepEqual(columnsOf.get(table.name), [...table.columns, 'row_mac'].sort(), table.name);
      assert.equal(new Set(table.columns).size, table.columns.length, `${table.name} names a column twice`);
    }
  });
});
