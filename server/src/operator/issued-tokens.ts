import { CONNECTION_TOKENS } from '../features/app-connections/login/index.ts';
import { connectionNumbers } from '../features/app-connections/storage/index.ts';
import { TOKENS } from '../features/tokens/storage/index.ts';
import type { Reader, Tx } from '../kernel/storage/database.ts';

/** A token that is usable now, with what the operator may see of it. */
export interface GoodToken {
  tenantId: string;
  tokenId: string;
  kind: string;
  holder: string;
  name: string;
  expiresAt: number;
}

interface Ending {
  expires_at: number;
  revoked_at: number | null;
}

/** Revokes the tokens of users and machines: personal access tokens, sessions, and tokens exchanged for an external identity. Returns how many. */
export async function revokeTokens(tx: Tx, tenantId: string, now: number): Promise<number> {
  const ended = (row: Ending) => (isGood(row, now) ? { revoked_at: now } : null);
  return (await TOKENS.changeEach(tx, tenantId, ended)) + (await CONNECTION_TOKENS.changeEach(tx, tenantId, ended));
}

/** Forged rows are left out, because those tokens are refused anyway. */
export async function goodTokens(db: Reader, tenantId: string, now: number): Promise<GoodToken[]> {
  const found: GoodToken[] = [];
  for await (const rows of TOKENS.walk(db, tenantId)) {
    for (const row of rows) {
      if (!isGood(row, now) || !(await TOKENS.isAuthentic(db, row))) continue;
      const { token_id: tokenId, kind, name, expires_at: expiresAt } = row;
      found.push({ tenantId, tokenId, kind, holder: row.user_id, name, expiresAt });
    }
  }
  for await (const rows of CONNECTION_TOKENS.walk(db, tenantId)) {
    const numbers = await connectionNumbers(
      db,
      tenantId,
      rows.map((row) => row.connection_no),
    );
    for (const row of rows) {
      if (!isGood(row, now) || !(await CONNECTION_TOKENS.isAuthentic(db, row))) continue;
      const { token_id: tokenId, kind, expires_at: expiresAt } = row;
      const holder = `connection ${numbers.get(row.connection_no) ?? row.connection_no}`;
      found.push({ tenantId, tokenId, kind, holder, name: row.source, expiresAt });
    }
  }
  return found;
}

function isGood({ expires_at, revoked_at }: Ending, now: number): boolean {
  return expires_at > now && (revoked_at === null || revoked_at > now);
}
