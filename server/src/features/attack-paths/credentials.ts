import { type Ceiling, compileCeiling } from '../../kernel/authz/ceiling.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { type ConnectionRow, numberOf } from '../app-connections/storage/index.ts';
import { enabledFederations } from '../federations/index.ts';
import { usersWithFactor } from '../mfa/factors/index.ts';
import type { SameRights } from '../risk/index.ts';
import { ceilingsOf } from '../tokens/index.ts';
import { usableTokens } from '../tokens/storage/index.ts';
import type { UserRow } from '../users/storage/index.ts';
import { methodsOfConnections } from '../workload-identity/index.ts';
import {
  connectionWeakness,
  federationWeakness,
  passwordWeakness,
  tokenWeakness,
  type Weakness,
  workloadWeakness,
} from './weakness.ts';

const USERS_AT_ONCE = 50;
const CONNECTIONS_AT_ONCE = 200;
/** A user may have a thousand tokens. Chains begin with the weakest of them that reach the secret. */
const TOKENS_PER_USER = 5;

export const CREDENTIAL_TYPES = [
  'password',
  'token',
  'client_secret',
  'certificate',
  'federation',
  'workload_method',
] as const;

/** Somebody who could act as a user or connection, by one credential. */
export interface Entry extends Weakness {
  principal: { type: 'user' | 'service' | 'federated_identity' | 'workload'; id: string; name: string };
  credential: {
    type: (typeof CREDENTIAL_TYPES)[number];
    id: string;
    name: string;
  };
  /** What the credential limits beyond the rights of its owner. */
  ceilings: readonly Ceiling[];
}

/** The entries into each set of rights, the weakest first. */
export async function loadEntries(
  db: Reader,
  tenantId: string,
  readers: readonly SameRights[],
  now: number,
): Promise<Map<SameRights, Entry[]>> {
  const byUser = await entriesOfUsers(
    db,
    tenantId,
    readers.flatMap(({ users }) => users),
    now,
  );
  const byConnection = await entriesOfConnections(
    db,
    tenantId,
    readers.flatMap(({ connections }) => connections),
    now,
  );
  return new Map(
    readers.map((rights) => {
      const users = rights.users.flatMap(({ user_id }) => byUser.get(user_id) ?? []);
      const connections = rights.connections.flatMap(({ client_id }) => byConnection.get(client_id) ?? []);
      return [rights, weakestFirst([...users, ...connections])];
    }),
  );
}

function weakestFirst(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((a, b) => b.weakness - a.weakness);
}

async function entriesOfUsers(db: Reader, tenantId: string, users: readonly UserRow[], now: number) {
  const found = new Map<string, Entry[]>();
  for (let from = 0; from < users.length; from += USERS_AT_ONCE) {
    const part = users.slice(from, from + USERS_AT_ONCE);
    const ids = part.map(({ user_id }) => user_id);
    const withFactor = await usersWithFactor(db, tenantId, ids);
    const tokens = Map.groupBy(await usableTokens(db, tenantId, part, now), ({ user_id }) => user_id);
    for (const user of part) {
      const { user_id, email } = user;
      const hasFactor = withFactor.has(user_id);
      const principal = { type: 'user', id: user_id, name: email } as const;
      const byToken = (tokens.get(user_id) ?? []).map((token): Entry => {
        const limits = ceilingsOf(token);
        // Anyone who stole it may also use it from one of its addresses.
        const ceilings = limits.map(({ scope }) => compileCeiling({ scope }));
        const credential = { type: 'token', id: token.token_id, name: token.name } as const;
        return { principal, credential, ceilings, ...tokenWeakness(token, limits, hasFactor) };
      });
      const password = passwordWeakness(user, hasFactor);
      const byPassword: Entry[] =
        password === null
          ? []
          : [{ principal, credential: { type: 'password', id: '', name: '' }, ceilings: [], ...password }];
      found.set(user_id, weakestFirst([...weakestFirst(byToken).slice(0, TOKENS_PER_USER), ...byPassword]));
    }
    await nextTurn(tenantId);
  }
  return found;
}

async function entriesOfConnections(db: Reader, tenantId: string, connections: readonly ConnectionRow[], now: number) {
  const found = new Map<string, Entry[]>();
  for (let from = 0; from < connections.length; from += CONNECTIONS_AT_ONCE) {
    const part = connections.slice(from, from + CONNECTIONS_AT_ONCE);
    const numbers = part.map(({ connection_no }) => connection_no);
    const federations = Map.groupBy(
      await enabledFederations(db, tenantId, numbers),
      ({ connection_no }) => connection_no,
    );
    const methods = Map.groupBy(
      await methodsOfConnections(db, tenantId, numbers),
      ({ connection_no }) => connection_no,
    );
    for (const row of part) {
      const { kind, ...own } = connectionWeakness(row, now);
      const service = { type: 'service', id: String(numberOf(row)), name: row.name } as const;
      const entries: Entry[] = [
        { principal: service, credential: { type: kind, id: row.client_id, name: '' }, ceilings: [], ...own },
      ];
      for (const federation of federations.get(row.connection_no) ?? []) {
        const id = String(federation.federation_no);
        entries.push({
          principal: { type: 'federated_identity', id, name: federation.subject_pattern },
          credential: { type: 'federation', id, name: federation.name },
          ceilings: [],
          ...federationWeakness(federation),
        });
      }
      for (const method of methods.get(row.connection_no) ?? []) {
        const id = String(method.method_no);
        entries.push({
          principal: { type: 'workload', id, name: method.type },
          credential: { type: 'workload_method', id, name: method.name },
          ceilings: [],
          ...workloadWeakness(method),
        });
      }
      found.set(row.client_id, weakestFirst(entries));
    }
    await nextTurn(tenantId);
  }
  return found;
}
