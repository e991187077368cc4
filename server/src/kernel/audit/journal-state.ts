import { equalBytes } from '../crypto/digest.ts';
import type { Keyring, MacKey } from '../crypto/keyring.ts';
import { SYSTEM_TENANT, type Tables } from '../storage/tables.ts';
import type { Frame } from './journal-frame.ts';

/** The purpose whose key signs what waits in the journal, and the row that says how much of it does. */
export const JOURNAL_PURPOSE = 'audit-journal';

export interface JournalState {
  id: Uint8Array;
  /** The last batch that is in the database. */
  moved: number;
  isOpen: boolean;
}

/** The keys of the journal: it holds entries of every tenant, so they are the installation's. */
export class JournalKeys {
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /** Call it before a transaction: the key may have to be made. */
  newest(): Promise<MacKey> {
    return this.#keyring.macKey(SYSTEM_TENANT, JOURNAL_PURPOSE);
  }

  isGenuine({ keyVersion, covered, mac }: Frame): Promise<boolean> {
    return this.#keyring.verifyMac(SYSTEM_TENANT, JOURNAL_PURPOSE, keyVersion, covered, mac);
  }

  isAuthentic(row: Tables['audit_journal']): Promise<boolean> {
    const data = macInput(stateOf(row));
    return this.#keyring.verifyMac(SYSTEM_TENANT, JOURNAL_PURPOSE, row.mac_key_version, data, row.mac);
  }
}

export function isStateOf(key: MacKey, row: Tables['audit_journal']): boolean {
  return equalBytes(key.mac(macInput(stateOf(row))), row.mac);
}

export function stateOf(row: Tables['audit_journal']): JournalState {
  return { id: row.journal_id, moved: row.moved, isOpen: row.is_open === 1 };
}

export function stateRow(state: JournalState, key: MacKey): Tables['audit_journal'] {
  return {
    tenant_id: SYSTEM_TENANT,
    journal_id: state.id,
    moved: state.moved,
    is_open: Number(state.isOpen),
    mac: key.mac(macInput(state)),
    mac_key_version: key.version,
  };
}

/** Begins unlike any frame, whose key it shares. */
function macInput({ id, moved, isOpen }: JournalState): Buffer {
  return Buffer.concat([Buffer.from(`state:${moved}:${isOpen}:`, 'utf8'), id]);
}
