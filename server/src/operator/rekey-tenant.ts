import { AUTHENTICATED_TABLES } from '../assembly/authenticated-tables.ts';
import { CERTIFICATES_PURPOSE, retireAuthorities } from '../features/certificates/index.ts';
import { rotateEncryptionKeys } from '../features/eaas/index.ts';
import { PQC_PURPOSE, retireKeys } from '../features/pqc/index.ts';
import { HEAD_PURPOSE, headRow, isHeadOf } from '../kernel/audit/chain/heads.ts';
import { isStateOf, JOURNAL_PURPOSE, stateOf, stateRow } from '../kernel/audit/journal/journal-state.ts';
import { isNodeOf, isOriginOf, nodeRow, originOf, PASSED_TOMBSTONE } from '../kernel/audit/postgres/node-segments.ts';
import { NONCE_PURPOSE } from '../kernel/auth/dpop-nonce.ts';
import { replaceSigningKeys, SIGNING_PURPOSE } from '../kernel/auth/signing-keys.ts';
import { renewMacs } from '../kernel/integrity/row-renewal.ts';
import type { RowFindings } from '../kernel/integrity/row-verification.ts';
import { RekeyedTenant, type RootChange } from '../kernel/keys/rekeying.ts';
import type { Tx } from '../kernel/storage/database.ts';
import { raiseEpoch } from '../kernel/storage/epochs.ts';
import { ROW_PURPOSE } from '../kernel/storage/row-keys.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import { revokeTokens } from './issued-tokens.ts';

/**
 * Purposes whose old keys nothing uses after a rekey. As long as an old version exists, anyone who has it could forge data. The old key of
 * fingerprints stays: until a job has recomputed them, values are compared with fingerprints that it made.
 */
const ENDED = [
  ROW_PURPOSE,
  HEAD_PURPOSE,
  JOURNAL_PURPOSE,
  NONCE_PURPOSE,
  SIGNING_PURPOSE,
  CERTIFICATES_PURPOSE,
  PQC_PURPOSE,
];

export interface RekeyOptions extends RootChange {
  isRevokingTokens: boolean;
  /** Called now and then with how many rows of the tenant have a new MAC. */
  onRows?(checked: number): void;
}

export interface RekeyedRows {
  keys: RekeyedTenant;
  /** Rows that were forged before, and stay refused. */
  findings: RowFindings;
  encryptionKeys: number;
  tokensEnded: number;
}

/** Renews everything of one tenant, or of the installation, that depends on the replaced keys. */
export async function rekeyTenant(tx: Tx, tenantId: string, options: RekeyOptions): Promise<RekeyedRows> {
  const { now, isRevokingTokens } = options;
  const keys = await RekeyedTenant.replace(tx, tenantId, { ...options, ended: ENDED });
  const findings = await renewRows(tx, keys, options.onRows);
  for (const row of await retireAuthorities(tx, keys, now)) addForged(findings, 'certificate_authorities', row);
  for (const row of await retireKeys(tx, keys, now)) addForged(findings, 'pqc_keys', row);
  if (tenantId === SYSTEM_TENANT) {
    await replaceSigningKeys(tx, keys, now);
    if (!(await renewJournalState(tx, keys))) addForged(findings, 'audit_journal', 'the only one');
  } else if (!(await renewHead(tx, keys))) addForged(findings, 'audit_heads', tenantId);
  await renewNodes(tx, keys);
  await renewTombstones(tx, keys);
  const encryptionKeys = await rotateEncryptionKeys(tx, keys, now);
  const tokensEnded = isRevokingTokens ? await revokeTokens(tx, tenantId, now) : 0;
  if (tenantId !== SYSTEM_TENANT) await raiseEpoch(tx, tenantId);
  return { keys, findings, encryptionKeys, tokensEnded };
}

/** From here on, rows in this transaction are verified and written under the new key. */
async function renewRows(tx: Tx, keys: RekeyedTenant, onRows: RekeyOptions['onRows']): Promise<RowFindings> {
  const { tenantId } = keys;
  const to = keys.macKey(ROW_PURPOSE);
  const from = keys.newestOldMacKey(ROW_PURPOSE);
  const findings = await renewMacs(tx, AUTHENTICATED_TABLES, tenantId, { from, to, ...(onRows && { onRows }) });
  tx.changes.useKey(tenantId, to);
  return findings;
}

/** A forged head keeps its MAC, whose key is destroyed, so verification keeps reporting the tampering. */
async function renewHead(tx: Tx, keys: RekeyedTenant): Promise<boolean> {
  const { tenantId } = keys;
  const row = await tx
    .selectFrom('audit_heads')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .forUpdate()
    .executeTakeFirst();
  const old = row && keys.oldMacKey(HEAD_PURPOSE, row.key_version);
  if (row === undefined || old === undefined || !isHeadOf(old, row)) return false;
  const { tenant_id: _, ...change } = headRow(tenantId, row, keys.macKey(HEAD_PURPOSE));
  await tx.updateTable('audit_heads').set(change).where('tenant_id', '=', tenantId).execute();
  return true;
}

/**
 * Renews the record of how far each node's segments are linked: otherwise entries recorded by this command would be missed. A forged one is not
 * renewed.
 */
async function renewNodes(tx: Tx, keys: RekeyedTenant): Promise<void> {
  const { tenantId } = keys;
  const rows = await tx.selectFrom('audit_nodes').selectAll().where('tenant_id', '=', tenantId).execute();
  for (const row of rows) {
    const old = keys.oldMacKey(HEAD_PURPOSE, row.mac_key_version);
    if (old === undefined || !isNodeOf(old, row)) continue;
    const { mac, mac_key_version } = nodeRow(tenantId, row.node_id, row.linked_no, keys.macKey(HEAD_PURPOSE));
    await tx
      .updateTable('audit_nodes')
      .set({ mac, mac_key_version })
      .where('tenant_id', '=', tenantId)
      .where('node_id', '=', row.node_id)
      .execute();
  }
}

/** A tombstone holds the place of a segment that must never be inserted, also after a rekey. A forged one is not renewed. */
async function renewTombstones(tx: Tx, keys: RekeyedTenant): Promise<void> {
  const { tenantId } = keys;
  const rows = await tx
    .selectFrom('audit_segments')
    .select(['tenant_id', 'id', 'entries', 'node_id', 'node_no', 'voids', 'mac', 'mac_key_version'])
    .where('tenant_id', '=', tenantId)
    .where('first_seq', '=', PASSED_TOMBSTONE)
    .execute();
  for (const row of rows) {
    const old = keys.oldMacKey(HEAD_PURPOSE, row.mac_key_version ?? 0);
    if (old === undefined || !isOriginOf(old, row)) continue;
    const { mac, mac_key_version } = originOf(row, keys.macKey(HEAD_PURPOSE));
    await tx
      .updateTable('audit_segments')
      .set({ mac, mac_key_version })
      .where('tenant_id', '=', tenantId)
      .where('id', '=', row.id)
      .execute();
  }
}

/** The journal itself is empty, because its entries were moved when the database was opened. On PostgreSQL there is none. */
async function renewJournalState(tx: Tx, keys: RekeyedTenant): Promise<boolean> {
  const row = await tx.selectFrom('audit_journal').selectAll().executeTakeFirst();
  if (row === undefined) return true;
  const old = keys.oldMacKey(JOURNAL_PURPOSE, row.mac_key_version);
  if (old === undefined || !isStateOf(old, row)) return false;
  await tx
    .updateTable('audit_journal')
    .set(stateRow(stateOf(row), keys.macKey(JOURNAL_PURPOSE)))
    .execute();
  return true;
}

function addForged(findings: RowFindings, table: string, row: string): void {
  findings.add({ table, row, problem: 'forged' });
}
