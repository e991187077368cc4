import assert from 'node:assert/strict';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import { INPUTS, type Input, type MakeInput, MORE_INPUTS, nameOf, pathOf, type World } from './endpoint-inputs.ts';
import { MORE_FLEET_INPUTS } from './fleet-inputs.ts';
import { MACHINE_CALLERS_ENV } from './machine-callers.ts';
import { MORE_MACHINE_INPUTS } from './machine-inputs.ts';
import {
  addColleague,
  addPerson,
  addTenant,
  approve,
  type Colleague,
  ok,
  type Person,
  type Tenant,
  uniqueName,
} from './people.ts';
import { type Answer, type DatabaseKind, type Service, startService } from './service.ts';
import { Identifiers, rowsOf } from './tenant-state.ts';
import { addVault, POLICY_VERSION, type Statement } from './vaults.ts';

/** A tenant, and how inputs are made in it. */
export interface Side {
  tenantId: string;
  /** An admin's. */
  token: string;
  world: World;
}

/** Two tenants with people of every kind, none of whom may know of the other's things. */
export interface Neighbours {
  service: Service;
  /** The tenant that runs the installation. */
  ours: Side;
  theirs: Side;
  otherTenant: Tenant;
  owner: Person;
  /** In our tenant, without any grant. */
  member: Colleague;
  /** In our tenant, manager of this one vault and no other. */
  elsewhere: Colleague;
  grantedVault: string;
  /** Replaces what else `elsewhere` may do. */
  grant(statements: readonly Statement[]): Promise<void>;
}

export async function startNeighbours(database: DatabaseKind): Promise<Neighbours> {
  const service = await startService(database, { env: MACHINE_CALLERS_ENV });
  const owner = await addPerson(service, { role: 'owner' });
  const { tenant } = await ok(service.call('GET', '/auth/me'));
  const otherTenant = await addTenant(service);
  const otherOwner = await addPerson(service, { role: 'owner', tenant: otherTenant });
  const { token } = await addColleague(service, otherTenant.id, 'admin');
  const ours = { tenantId: tenant.id, token: service.adminToken, world: { service, owner, tenant: otherTenant } };
  const otherWorld = { service: callingAs(service, token), owner: otherOwner, tenant: otherTenant };
  const theirs = { tenantId: otherTenant.id, token, world: otherWorld };

  const member = await addColleague(service, tenant.id, 'member');
  const elsewhere = await addColleague(service, tenant.id, 'member');
  const grantedVault = await addVault(service);
  const body = { user: elsewhere.id, role: 'manager' };
  await ok(service.call('POST', `/v1/vaults/${grantedVault}/members`, { body }), 201);
  const grant = await granter(service, elsewhere.id, owner);
  await countApart(service, [ours, theirs]);
  return { service, ours, theirs, otherTenant, owner, member, elsewhere, grantedVault, grant };
}

/** Acts as somebody else unless told. */
function callingAs(service: Service, token: string): Service {
  return { ...service, call: (method, path, options = {}) => service.call(method, path, { token, ...options }) };
}

/** Somebody's own policy, which the owner approves each time. */
export async function granter(service: Service, userId: string, { token }: Person) {
  const name = uniqueName('grants');
  const settled = async (answer: Promise<Answer>) => {
    const { status, body, text } = await answer;
    assert.ok(status < 300, text);
    if (status === 202) await ok(approve(service, body.approval_id, token));
  };
  const documentOf = (statements: readonly Statement[]) => {
    return { version: POLICY_VERSION, statement: statements.map((one) => ({ effect: 'allow', ...one })) };
  };
  await ok(service.call('POST', '/v1/policies', { body: { name, document: documentOf([]) } }), 201);
  await settled(service.call('POST', `/v1/policies/${name}/attach`, { body: { principal: { user: userId } } }));
  return (statements: readonly Statement[]) =>
    settled(service.call('PUT', `/v1/policies/${name}`, { body: { document: documentOf(statements) } }));
}

/** Ids of environments and federations are counted in each tenant from 1: far apart, one tenant's are not another's. */
async function countApart(service: Service, sides: readonly Side[]): Promise<void> {
  await service.app.kernel.database.transaction(async (tx) => {
    const names = ['environments', 'federations'] as const;
    for (const [i, { tenantId }] of sides.entries()) {
      for (const [n, name] of names.entries()) {
        const value = 1_000_000 * (i + 1) + 10_000_000 * (n + 1);
        await tx
          .insertInto('counters')
          .values({ tenant_id: tenantId, name, value })
          .onConflict((c) => c.columns(['tenant_id', 'name']).doUpdateSet({ value }))
          .execute();
      }
    }
  });
}

export const senderOf = ({ world }: Side) => ({ isKnown: true, person: world.owner });

/** Of a tenant; of who runs the installation, for what is about tenants, also those of all tenants. */
export async function identifiersOf(service: Service, { tenantId }: Side, isOperators = false): Promise<Identifiers> {
  const rows = await rowsOf(service, tenantId);
  if (!isOperators) return new Identifiers(rows);
  const tenants = await service.app.kernel.database.read.selectFrom('tenants').select(['tenant_id', 'name']).execute();
  return new Identifiers(new Map([...rows, ['tenants', tenants]]));
}

/** Every input there is for an endpoint, the usual one first. */
export function makersOf(declaration: EndpointDeclaration): MakeInput[] {
  const name = nameOf(declaration);
  return [
    INPUTS[name] ?? (async () => ({})),
    ...(MORE_INPUTS[name] ?? []),
    ...(MORE_MACHINE_INPUTS[name] ?? []),
    ...(MORE_FLEET_INPUTS[name] ?? []),
  ];
}

export function send(
  service: Service,
  declaration: EndpointDeclaration,
  input: Input,
  token: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { body } = input;
  const options = { token, headers, ...(body !== undefined && { body }) };
  return service.call(declaration.method, pathOf(declaration, input), options);
}
