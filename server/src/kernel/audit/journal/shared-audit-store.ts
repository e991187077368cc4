import { createSecretKey } from 'node:crypto';
import { type MacKey, macKeyOf } from '../../crypto/mac-key.ts';
import type { Tx } from '../../storage/database.ts';
import type { SharedSqlite } from '../../storage/shared-sqlite/shared-sqlite.ts';
import type { WriterCalls } from '../../storage/shared-sqlite/write-server.ts';
import { tenantOf } from '../chain/segment.ts';
import type { AuditEntry } from '../entry/entry.ts';
import type { AuditLog } from '../log/audit-log.ts';
import type { AuditStore } from '../log/audit-store.ts';
import { GroupCommit } from '../log/group-commit.ts';
import type { SqliteAuditStore } from './sqlite-audit-store.ts';
import { type Group, groupEntries } from './waiting-batches.ts';

/** The entries of a change of another process. The key may be one of a new tenant, which only that process knows until the commit. */
interface SentChange {
  tenantId: string;
  groups: Group[];
  headKey: { version: number; bytes: Uint8Array };
}

const GROUPS_MAX = 1000;
const WAITING_MAX = 50_000;

/** The audit log of a process whose entries are written by another one (shared-sqlite/). */
export class SharedAuditStore implements AuditStore {
  readonly #database: SharedSqlite;
  readonly isIdle = true;

  constructor(database: SharedSqlite) {
    this.#database = database;
  }

  async append(entries: AuditEntry[]): Promise<void> {
    const groups = Map.groupBy(entries, (entry) => entry.tenant_id)
      .entries()
      .flatMap(([tenantId, own]) => groupEntries(tenantId, own));
    await this.#database.writer.call('appendToAudit', [...groups]);
  }

  async appendIn(tx: Tx, entries: AuditEntry[], headKey: MacKey): Promise<void> {
    const tenantId = tenantOf(entries);
    const groups = groupEntries(tenantId, entries);
    const sent: SentChange = { tenantId, groups, headKey: { version: headKey.version, bytes: headKey.key.export() } };
    await this.#database.callInside(tx, 'recordChange', sent);
  }

  async settle(): Promise<void> {
    await this.#database.writer.call('settleAudit');
  }

  async probeWrite(): Promise<void> {
    await this.#database.writer.call('probeAudit');
  }

  async link(): Promise<boolean> {
    return false;
  }

  async linkAll(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  /** The process that writes reports it. */
  async linkLagMs(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}
}

/** What the process that writes does for the others. */
export function auditCalls(store: SqliteAuditStore, audit: AuditLog): WriterCalls {
  const commits = new GroupCommit<Group>((groups) => audit.write(() => store.appendGroups(groups)), {
    batchMax: GROUPS_MAX,
    waitingMax: WAITING_MAX,
  });
  return {
    calls: {
      appendToAudit: (groups: Group[]) => Promise.all(groups.map((group) => commits.add(group))),
      settleAudit: () => store.settle(),
      probeAudit: () => audit.write(() => store.probeWrite()),
    },
    callsInside: {
      recordChange: async (tx: Tx, { tenantId, groups, headKey }: SentChange) => {
        const key = createSecretKey(headKey.bytes);
        store.appendGroupsIn(tx, { tenantId, groups, headKey: macKeyOf(key, headKey.version) });
      },
    },
  };
}
