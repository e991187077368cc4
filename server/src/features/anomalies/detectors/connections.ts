import { nextTurn } from '../../../kernel/fairness/event-loop-turns.ts';
import { type ConnectionRow, connectionsAfter, numberOf } from '../../app-connections/storage/index.ts';
import type { ScanContext } from './detector.ts';

const CONNECTIONS_AT_ONCE = 200;

/** Active connections, some at a time. */
export async function* activeConnections({ db, tenantId, signal }: ScanContext): AsyncGenerator<ConnectionRow[]> {
  for (let after = 0; !signal.aborted; ) {
    const rows = await connectionsAfter(db, tenantId, after, CONNECTIONS_AT_ONCE);
    yield rows.filter(({ status }) => status === 'active');
    const last = rows.at(-1);
    if (last === undefined || rows.length < CONNECTIONS_AT_ONCE) return;
    after = Number(last.connection_no);
    await nextTurn(tenantId);
  }
}

/** The parts of a finding that name a connection. */
export function aboutConnection(row: ConnectionRow) {
  return { resource: `app-connection/${numberOf(row)}`, connectionNo: Number(row.connection_no) };
}
