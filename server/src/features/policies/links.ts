import type { CompiledPolicy } from '../../kernel/authz/policy.ts';
import { type Linked, port, removalOf } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { secondFactorSince } from '../users/index.ts';
import type { RightsOfSome } from './who-can.ts';

/** The client id of a connection, by its number or client id. */
export const clientIdOfConnection =
  port<(db: Reader, tenantId: string, text: string) => Promise<string | undefined>>('clientIdOfConnection');

/** All policies that apply to a connection, those of the connection itself too. */
export const allPoliciesOfConnection =
  port<(ctx: Context, clientId: string) => Promise<CompiledPolicy[]>>('allPoliciesOfConnection');

/** Everything that limits a connection, for approvers, and a digest of it. The connection stays locked. */
export const limitsOfConnection =
  port<(tx: Tx, tenantId: string, clientId: string) => Promise<{ limits: Record<string, unknown>; digest: string }>>(
    'limitsOfConnection',
  );

/** Every name of a connection as a resource. */
export const resourcesOfConnection =
  port<(db: Reader, tenantId: string, clientId: string) => Promise<readonly string[]>>('resourcesOfConnection');

/** The rights of every active user and connection of a tenant. */
export const rightsOfEverybody =
  port<(db: Reader, tenantId: string, now: number) => Promise<RightsOfSome[]>>('rightsOfEverybody');

/** A connection is deleted. The feature of connections announces it. */
export const connectionRemoved =
  removalOf<[tx: Tx, tenantId: string, connection: { client_id: string; connection_no: number }]>('connection');

/** What it needs of other features. */
export const policyNeeds = {
  allPoliciesOfConnection,
  clientIdOfConnection,
  limitsOfConnection,
  resourcesOfConnection,
  rightsOfEverybody,
  secondFactorSince,
};
export type PolicyParts = Linked<typeof policyNeeds>;
