import { RECOVERY_CODES, TOTP } from '../../server/src/features/mfa/factors/index.ts';
import { PASSKEYS } from '../../server/src/features/mfa/passkeys/index.ts';
import { insertTimedAccess, type TimedAccessRow } from '../../server/src/features/vaults/timed-access/index.ts';
import { HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import type { World } from './endpoint-inputs.ts';
import { addToken, ok, uniqueName } from './people.ts';
import { asTheService, recorded } from './rows.ts';
import type { Answer, Service } from './service.ts';

/** What inputs of endpoints are about: each made afresh, in the tenant of the owner. */

export const POLICY_REQUEST = { action: 'audit:read', resource: 'audit' };

export async function underPrefix(world: World) {
  const { vault, path } = (await someSecret(world)).params;
  return { params: { vault }, query: { prefix: path } };
}

/** Onto what is there: it is refused, and only to who may know that. */
export async function toAnotherVault(world: World) {
  const { vault: to_vault, path: to_path } = (await someSecret(world)).params;
  return { ...(await someSecret(world)), body: { to_vault, to_path } };
}

/** Its form is right, and nothing is sealed in it. */
export const EMPTY_ENVELOPE = `zk:v1:aes-256-gcm:argon2id:${'A'.repeat(22)}:${'A'.repeat(16)}:AAAA:${'A'.repeat(22)}`;

export async function zeroKnowledgeVault({ service }: World) {
  const body = { name: uniqueName('sealed'), environment: 'staging', is_zero_knowledge: true };
  await ok(service.call('POST', '/v1/vaults', { body }), 201);
  return { params: { vault: body.name } };
}

/** Where it does not fit: that too only who may know is told. */
export async function toUnlikeVault(world: World) {
  const body = { name: uniqueName('vault'), environment: 'production', is_zero_knowledge: true };
  await ok(world.service.call('POST', '/v1/vaults', { body }), 201);
  return { ...(await someSecret(world)), body: { to_vault: body.name, to_path: uniqueName('moved/to') } };
}

export async function someVaultDeletion({ service }: World) {
  const body = { name: uniqueName('vault'), environment: 'production' };
  await ok(service.call('POST', '/v1/vaults', { body }), 201);
  const { approval_id } = await ok(service.call('DELETE', `/v1/vaults/${body.name}`), 202);
  return { params: { approval_id: String(approval_id) } };
}

export async function namedGroup({ service }: World): Promise<{ id: string; name: string }> {
  return ok(service.call('POST', '/v1/groups', { body: { name: uniqueName('group') } }), 201);
}

export const DOCUMENT = {
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }],
};

export async function somePolicy({ service }: World) {
  const name = uniqueName('policy');
  await ok(service.call('POST', '/v1/policies', { body: { name, document: DOCUMENT } }), 201);
  return { params: { name } };
}

/** It has two versions. */
export async function changedPolicy(world: World) {
  const policy = await somePolicy(world);
  const [statement] = DOCUMENT.statement;
  const document = { ...DOCUMENT, statement: [{ ...statement, sid: 'Changed' }] };
  await ok(world.service.call('PUT', `/v1/policies/${policy.params.name}`, { body: { document } }));
  return policy;
}

export async function someVault({ service }: World) {
  const vault = uniqueName('vault');
  await ok(service.call('POST', '/v1/vaults', { body: { name: vault, environment: 'staging' } }), 201);
  return { params: { vault } };
}

export async function someMember(world: World) {
  const { params } = await someVault(world);
  const body = { user: world.owner.id, role: 'reader' };
  const { id } = await ok(world.service.call('POST', `/v1/vaults/${params.vault}/members`, { body }), 201);
  return { params: { ...params, member_id: String(id) } };
}

export const SHARED_ENVELOPE = `share:v1:key:${'A'.repeat(16)}:${'A'.repeat(40)}`;

/** A link of the owner's that can be opened often. */
export async function someShare({ service, owner }: World) {
  const body = { envelope: SHARED_ENVELOPE, expires_in_seconds: 3600, views: 100 };
  const { id } = await ok(service.call('POST', '/v1/shares', { token: owner.token, body }), 201);
  return { params: { share_id: String(id) } };
}

/** Access for a time that was given to the owner. */
export async function someAccess({ service, owner }: World) {
  const name = uniqueName('vault');
  const vault = await ok(service.call('POST', '/v1/vaults', { body: { name, environment: 'staging' } }), 201);
  const { kernel } = service.app;
  const query = kernel.database.read.selectFrom('users').select('tenant_id').where('user_id', '=', owner.id);
  const { tenant_id } = await query.executeTakeFirstOrThrow();
  const now = service.clock.now();
  const row: TimedAccessRow = {
    tenant_id,
    access_id: newId('access', now),
    vault_id: String(vault.id),
    user_id: owner.id,
    role: 'reader',
    path: null,
    reason: 'an incident',
    approval_id: newId('approval', now),
    granted_at: now,
    expires_at: now + HOUR_MS,
    ended_at: null,
    ended_by: null,
  };
  await recorded(kernel, tenant_id, (tx) => insertTimedAccess(tx, row));
  return { params: { access_id: row.access_id } };
}

export async function someSecret(world: World) {
  const { params } = await someVault(world);
  const body = { path: uniqueName('some/secret'), value: 'something secret' };
  await ok(world.service.call('POST', `/v1/vaults/${params.vault}/secrets`, { body }), 201);
  return { params: { ...params, path: body.path } };
}

export async function someSecretsVault(world: World) {
  const { vault } = (await someSecret(world)).params;
  const body = { path: uniqueName('some/other'), value: 'something secret' };
  await ok(world.service.call('POST', `/v1/vaults/${vault}/secrets`, { body }), 201);
  return { params: { vault } };
}

/** Of one person only so many wait, and tests make many: those that were made before are not needed any more. */
async function withdrawAll({ service }: World): Promise<void> {
  const { user } = await ok(service.call('GET', '/auth/me'));
  const { approvals } = await ok(service.call('GET', '/approvals?status=pending&limit=1000'));
  for (const { id, requested_by } of approvals) {
    if (requested_by.id === user.id) await ok(service.call('POST', `/approvals/${id}/reject`, { body: {} }));
  }
}

/** Requested by the admin the world calls as, who is none of the senders. */
export async function someApproval(world: World) {
  const { params } = await somePolicy(world);
  const body = { principal: { user: world.owner.id } };
  const ask = () => world.service.call('POST', `/v1/policies/${params.name}/attach`, { body });
  let requested = await ask();
  if (requested.status === 409) {
    await withdrawAll(world);
    requested = await ask();
  }
  const { approval_id } = await ok(Promise.resolve(requested), 202);
  return { params: { approval_id: String(approval_id) } };
}

/** A change of a secret that waits for a reviewer, requested like `someApproval`. */
export async function someWaitingChange(world: World) {
  const { service } = world;
  const { vault, path } = (await someSecret(world)).params;
  await ok(service.call('PATCH', `/v1/vaults/${vault}`, { body: { change_control: 'review' } }));
  const ask = () => service.call('PUT', `/v1/vaults/${vault}/secrets/${path}`, { body: { value: 'after' } });
  let requested = await ask();
  if (requested.status === 409) {
    await withdrawAll(world);
    requested = await ask();
  }
  const { approval_id } = await ok(Promise.resolve(requested), 202);
  return { params: { approval_id: String(approval_id) } };
}

/** What the approver says they saw. */
export async function seenApproval({ service }: World, made: { params: { approval_id: string } }) {
  const { digest } = await ok(service.call('GET', `/approvals/${made.params.approval_id}`));
  return { ...made, body: { digest: String(digest) } };
}

export async function readSome(world: World): Promise<{ id: string; secret_id: number }> {
  const { vault, path } = (await someSecret(world)).params;
  return ok(world.service.call('GET', `/v1/vaults/${vault}/secrets/${path}`));
}

export async function bindSome(world: World, environment_id: string, key_name = 'SOME_KEY') {
  const { id, secret_id } = await readSome(world);
  const body = { secret_id, key_name };
  await ok(world.service.call('POST', `/environments/${environment_id}/secrets`, { body }), 201);
  return { id, secret_id };
}

export async function nameOfSomeEnvironment(world: World): Promise<string> {
  const { environment_id } = (await someEnvironment(world)).params;
  return (await ok(world.service.call('GET', `/environments/${environment_id}`))).name;
}

export async function someEnvironment({ service }: World) {
  const body = { name: uniqueName('environment') };
  return { params: { environment_id: String((await ok(service.call('POST', '/environments', { body }), 201)).id) } };
}

export async function ownersToken({ service, owner }: World) {
  return { params: { token_id: String((await addToken(service, owner.token)).id) } };
}

/** Somebody who was invited and has not accepted. */
export async function invitedPerson({ service }: World): Promise<Answer['body']> {
  const body = { email: `${uniqueName('invited')}@example.com`, invite: true };
  return ok(service.call('POST', '/v1/users', { body }), 201);
}

export async function someUser({ service }: World) {
  const body = { email: `${uniqueName('user')}@example.com` };
  return { params: { user_id: String((await ok(service.call('POST', '/v1/users', { body }), 201)).id) } };
}

/** Two vaults, so that the list has a second page. */
export async function memberOfVaults(world: World) {
  const vaults = [(await someVault(world)).params.vault, (await someVault(world)).params.vault];
  const body = {
    email: `${uniqueName('user')}@example.com`,
    vaults: vaults.map((vault) => ({ vault, role: 'reader' })),
  };
  return { params: { user_id: String((await ok(world.service.call('POST', '/v1/users', { body }), 201)).id) } };
}

export async function someGroup({ service }: World) {
  const body = { name: uniqueName('group') };
  return { params: { group_id: String((await ok(service.call('POST', '/v1/groups', { body }), 201)).id) } };
}

/** A person who has confirmed one cannot enrol again, and to give one up takes somebody else. */
export async function deleteSecondFactor(service: Service, userId: string): Promise<void> {
  await asTheService(service.app.kernel.database, async (tx) => {
    await TOTP.deleteWhere(tx, (eb) => eb('user_id', '=', userId));
    await RECOVERY_CODES.deleteWhere(tx, (eb) => eb('user_id', '=', userId));
    await PASSKEYS.deleteWhere(tx, (eb) => eb('user_id', '=', userId));
  });
}
