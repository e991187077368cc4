import { equalBytes } from '../../crypto/digest.ts';
import type { Keyring, MacKey } from '../../keys/keyring.ts';
import { SYSTEM_TENANT, type Tables } from '../../storage/tables.ts';
import type { Frame } from './journal-frame.ts';

/** The purpose of the key that authenticates the frames of the journal and the row with its state. */
export const JOURNAL_PURPOSE = 'audit-journal';

export interface JournalState {
  id: Uint8Array;
  /** The number of the last batch that is in the database. */
  moved: number;
  isOpen: boolean;
}

/** The keys of the journal. They belong to the installation, because the journal holds entries of every tenant. */
export class JournalKeys {
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /** Call it before a transaction, because the key may have to be created. */
  newest(): Promise<MacKey> {
    return this.#keyring.macKey(SYSTEM_TENANT, JOURNAL_PURPOSE);
  }

  isGenuine({ keyVersion, covered, mac }: Frame): Promise<boolean> {
    return this.#keyring.verifyMac(SYSTEM_TENANT, { purpose: JOURNAL_PURPOSE, version: keyVersion }, covered, mac);
  }

  isAuthentic(row: Tables['audit_journal']): Promise<boolean> {
    const data = macInput(stateOf(row));
    return this.#keyring.verifyMac(
      SYSTEM_TENANT,
      { purpose: JOURNAL_PURPOSE, version: row.mac_key_version },
      data,
      row.mac,
    );
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

/** The prefix differs from that of every frame, which is authenticated with the same key. */
function macInput({ id, moved, isOpen }: JournalState): Buffer {
  return Buffer.concat([Buffer.from(`state:${moved}:${isOpen}:`, 'utf8'), id]);
}
