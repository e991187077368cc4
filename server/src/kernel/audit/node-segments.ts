import { equalBytes } from '../crypto/digest.ts';
import type { Keyring, MacKey } from '../crypto/keyring.ts';
import { fieldText } from '../integrity/row-text.ts';
import type { AuditNodesTable, AuditSegmentsTable } from '../storage/tables.ts';
import { HEAD_PURPOSE } from './heads.ts';

/** The `first_seq` of a segment that the service did not write, which is therefore never linked. */
export const REFUSED = -1;

/** The columns that prove which node wrote a segment. */
export type Origin = Pick<AuditSegmentsTable, 'node_id' | 'node_no' | 'voids' | 'mac' | 'mac_key_version'>;
export type Unlinked = Pick<AuditSegmentsTable, 'tenant_id' | 'id' | 'entries'> & Origin;

interface Counted {
  last: number;
  /** Numbers of transactions that were rolled back, which must not be reported as missing. */
  voids: number[];
}

/**
 * Numbers the segments of this node, per tenant and from 1. A number that is missing later was deleted by somebody: numbers of transactions that
 * were rolled back are listed in the next segment.
 */
export class NodeSegments {
  readonly nodeId: string;
  readonly #counted = new Map<string, Counted>();

  constructor(nodeId: string) {
    this.nodeId = nodeId;
  }

  sign(tenantId: string, id: string, entries: string, key: MacKey): Origin & { markVoid(): void } {
    const counted = this.#of(tenantId);
    const node_no = ++counted.last;
    const voided = counted.voids.splice(0);
    const origin = { node_id: this.nodeId, node_no, voids: JSON.stringify(voided), mac_key_version: key.version };
    const mac = key.mac(segmentText({ tenant_id: tenantId, id, entries, ...origin }));
    return { ...origin, mac, markVoid: () => counted.voids.push(...voided, node_no) };
  }

  /** Tenants with void numbers that no segment has listed yet. */
  tenantsWithVoids(): string[] {
    return [...this.#counted].filter(([, { voids }]) => voids.length > 0).map(([tenantId]) => tenantId);
  }

  evict(tenantId: string): void {
    this.#counted.delete(tenantId);
  }

  #of(tenantId: string): Counted {
    let counted = this.#counted.get(tenantId);
    if (counted === undefined) {
      counted = { last: 0, voids: [] };
      this.#counted.set(tenantId, counted);
    }
    return counted;
  }
}

/** The prefix differs from that of a head, which is authenticated with the same key. */
function segmentText(row: Omit<Unlinked, 'mac'>): string {
  const { tenant_id, id, node_id, node_no, voids, entries } = row;
  return `segment;${[tenant_id, id, node_id, node_no, voids, entries].map((field) => fieldText(field)).join('')}`;
}

export async function isSignedByNode(keyring: Keyring, row: Unlinked): Promise<boolean> {
  const { tenant_id, mac, mac_key_version, node_id, node_no } = row;
  if (mac === null || mac_key_version === null || node_id === null || node_no === null) return false;
  const covered = Buffer.from(segmentText(row), 'utf8');
  return keyring.verifyMac(tenant_id, HEAD_PURPOSE, mac_key_version, covered, mac);
}

export function nodeRow(tenantId: string, nodeId: string, linkedNo: number, key: MacKey): AuditNodesTable {
  const row = { tenant_id: tenantId, node_id: nodeId, linked_no: linkedNo };
  return { ...row, mac: key.mac(nodeText(row)), mac_key_version: key.version };
}

export async function isNodeRow(keyring: Keyring, row: AuditNodesTable, key: MacKey): Promise<boolean> {
  if (row.mac_key_version === key.version) return isNodeOf(key, row);
  const covered = Buffer.from(nodeText(row), 'utf8');
  return keyring.verifyMac(row.tenant_id, HEAD_PURPOSE, row.mac_key_version, covered, row.mac);
}

export function isNodeOf(key: MacKey, row: AuditNodesTable): boolean {
  return equalBytes(key.mac(nodeText(row)), row.mac);
}

function nodeText({ tenant_id, node_id, linked_no }: Omit<AuditNodesTable, 'mac' | 'mac_key_version'>): string {
  return `node;${[tenant_id, node_id, linked_no].map((field) => fieldText(field)).join('')}`;
}
