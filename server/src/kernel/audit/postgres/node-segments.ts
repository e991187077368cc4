import { equalBytes } from '../../crypto/digest.ts';
import { fieldText } from '../../integrity/row-text.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import type { Outcome } from '../../storage/database.ts';
import type { AuditNodesTable, AuditSegmentsTable } from '../../storage/tables.ts';
import { HEAD_PURPOSE } from '../chain/heads.ts';

/** The `first_seq` of a segment that the service did not write, which is therefore never linked. */
export const REFUSED = -1;

/** The columns that prove which node wrote a segment. */
export type Origin = Pick<AuditSegmentsTable, 'node_id' | 'node_no' | 'voids' | 'mac' | 'mac_key_version'>;
export type Unlinked = Pick<AuditSegmentsTable, 'tenant_id' | 'id' | 'entries'> & Origin;

/** The `first_seq` of a tombstone that the chain has passed. It stays, so that the segment whose place it holds can never be inserted. */
export const PASSED_TOMBSTONE = -2;

/** The `entries` of a segment that has none. */
export const NO_ENTRIES = '[]';
/** The `voids` of a tombstone. */
const TOMBSTONE = '{"tombstone":true}';

interface Counted {
  last: number;
  /** Segments that were sent and of which this node does not know yet whether they are committed, by number, with their ids. */
  open: Map<number, string>;
  /** Open segments whose outcome this node will not learn. */
  unknown: Map<number, string>;
  /** Numbers of transactions that were rolled back and that no committed segment lists yet. */
  voids: Set<number>;
}

const NOTHING_COUNTED: Counted = { last: 0, open: new Map(), unknown: new Map(), voids: new Set() };

export interface KnownNumbers {
  /** The last one that it gave to a segment. It knows nothing of those after it. */
  last: number;
  /** Numbers that it does not expect to be committed by now. Any other one up to the last is committed. */
  unsettled: ReadonlySet<number>;
}

export type Signed = Origin & { end(outcome: Outcome): void };

/**
 * Numbers the segments of this node, per tenant and from 1. Each segment lists the earlier numbers that were rolled back and those that were still
 * open when it was signed. Any other number before it was committed, so if it is missing later, somebody deleted it.
 */
export class NodeSegments {
  readonly nodeId: string;
  readonly #counted = new Map<string, Counted>();

  constructor(nodeId: string) {
    this.nodeId = nodeId;
  }

  /** `end` must be called once with what became of the segment. */
  sign(tenantId: string, id: string, entries: string, key: MacKey): Signed {
    const counted = this.#of(tenantId);
    const node_no = ++counted.last;
    const listed = [...counted.voids];
    const voids = numbersText(listed, counted.open);
    counted.open.set(node_no, id);
    const row = { tenant_id: tenantId, id, entries, node_id: this.nodeId, node_no, voids };
    const end = (outcome: Outcome) => {
      if (outcome === 'unknown') {
        counted.unknown.set(node_no, id);
        return;
      }
      counted.open.delete(node_no);
      if (outcome === 'rolled back') counted.voids.add(node_no);
      else for (const no of listed) counted.voids.delete(no);
    };
    return { ...originOf(row, key), end };
  }

  /** Tenants with void numbers that no committed segment lists yet. */
  tenantsWithVoids(): string[] {
    return [...this.#counted].filter(([, { voids }]) => voids.size > 0).map(([tenantId]) => tenantId);
  }

  /** Segments whose outcome this node will not learn, by tenant. */
  unknown(): [tenantId: string, segments: [no: number, id: string][]][] {
    return [...this.#counted].flatMap(([tenantId, { unknown }]) =>
      unknown.size === 0 ? [] : [[tenantId, [...unknown]] as [string, [number, string][]]],
    );
  }

  /** Called once a row in the database says what became of these numbers. */
  settle(tenantId: string, numbers: readonly number[]): void {
    const counted = this.#of(tenantId);
    for (const no of numbers) {
      counted.open.delete(no);
      counted.unknown.delete(no);
    }
  }

  /** What this node knows by now of its own numbers. */
  known(tenantId: string): KnownNumbers {
    const { last, open, voids } = this.#counted.get(tenantId) ?? NOTHING_COUNTED;
    return { last, unsettled: new Set([...open.keys(), ...voids]) };
  }

  /** A tenant with open numbers stays, because they must not be used again. */
  evict(tenantId: string): void {
    if (this.#of(tenantId).open.size === 0) this.#counted.delete(tenantId);
  }

  #of(tenantId: string): Counted {
    let counted = this.#counted.get(tenantId);
    if (counted === undefined) {
      counted = { last: 0, open: new Map(), unknown: new Map(), voids: new Set() };
      this.#counted.set(tenantId, counted);
    }
    return counted;
  }
}

/** What a segment says about the numbers before its own. */
export interface ListedNumbers {
  voids: readonly number[];
  /** With the ids of their segments. */
  open: readonly (readonly [no: number, id: string])[];
}

function numbersText(voids: readonly number[], open: ReadonlyMap<number, string>): string {
  return JSON.stringify(open.size === 0 ? voids : { voids, open: [...open] });
}

export function listedNumbers({ voids }: Pick<Unlinked, 'voids'>): ListedNumbers {
  const listed = JSON.parse(voids ?? '[]') as readonly number[] | Partial<ListedNumbers>;
  if (Array.isArray(listed)) return { voids: listed, open: [] };
  const { voids: rolledBack = [], open = [] } = listed as Partial<ListedNumbers>;
  return { voids: rolledBack, open };
}

/**
 * A row under the key of a segment whose outcome is unknown. Only one of the two can be committed, so the database decides which. Any node can make it.
 */
export function tombstone(
  tenantId: string,
  nodeId: string,
  [no, id]: readonly [number, string],
  key: MacKey,
): Unlinked {
  const row = { tenant_id: tenantId, id, entries: NO_ENTRIES, node_id: nodeId, node_no: no, voids: TOMBSTONE };
  return { ...row, ...originOf(row, key) };
}

export function isTombstone({ voids }: Pick<Unlinked, 'voids'>): boolean {
  return voids === TOMBSTONE;
}

/** Proves that a node wrote this row. */
export function originOf(row: Omit<Unlinked, 'mac' | 'mac_key_version'>, key: MacKey): Origin {
  const { node_id, node_no, voids } = row;
  return { node_id, node_no, voids, mac: key.mac(segmentText(row)), mac_key_version: key.version };
}

/** The prefix differs from that of a head, which is authenticated with the same key. */
function segmentText(row: Omit<Unlinked, 'mac' | 'mac_key_version'>): string {
  const { tenant_id, id, node_id, node_no, voids, entries } = row;
  return `segment;${[tenant_id, id, node_id, node_no, voids, entries].map((field) => fieldText(field)).join('')}`;
}

export function isOriginOf(key: MacKey, row: Unlinked): boolean {
  return row.mac !== null && equalBytes(key.mac(segmentText(row)), row.mac);
}

export async function isSignedByNode(keyring: Keyring, row: Unlinked): Promise<boolean> {
  const { tenant_id, mac, mac_key_version, node_id, node_no } = row;
  if (mac === null || mac_key_version === null || node_id === null || node_no === null) return false;
  const covered = Buffer.from(segmentText(row), 'utf8');
  return keyring.verifyMac(tenant_id, { purpose: HEAD_PURPOSE, version: mac_key_version }, covered, mac);
}

export function nodeRow(tenantId: string, nodeId: string, linkedNo: number, key: MacKey): AuditNodesTable {
  const row = { tenant_id: tenantId, node_id: nodeId, linked_no: linkedNo };
  return { ...row, mac: key.mac(nodeText(row)), mac_key_version: key.version };
}

export async function isNodeRow(keyring: Keyring, row: AuditNodesTable, key: MacKey): Promise<boolean> {
  if (row.mac_key_version === key.version) return isNodeOf(key, row);
  const covered = Buffer.from(nodeText(row), 'utf8');
  return keyring.verifyMac(row.tenant_id, { purpose: HEAD_PURPOSE, version: row.mac_key_version }, covered, row.mac);
}

export function isNodeOf(key: MacKey, row: AuditNodesTable): boolean {
  return equalBytes(key.mac(nodeText(row)), row.mac);
}

function nodeText({ tenant_id, node_id, linked_no }: Omit<AuditNodesTable, 'mac' | 'mac_key_version'>): string {
  return `node;${[tenant_id, node_id, linked_no].map((field) => fieldText(field)).join('')}`;
}
