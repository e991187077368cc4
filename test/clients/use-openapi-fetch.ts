import createClient from 'openapi-fetch';
import type { components, paths } from './generated/openapi-typescript.ts';
import { type HasMember, otherwise, refusal, type Service, type WhatWasDone } from './what-was-done.ts';

type Schemas = components['schemas'];

/** Vaults and secrets by the types of openapi-typescript and the client of openapi-fetch. */
export async function use({ baseUrl, token, tenantId, vault: name }: Service): Promise<WhatWasDone> {
  const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
  const made = await api.POST('/v1/vaults', { body: { name, environment: 'staging', tags: ['generated'] } });
  const vault: Schemas['Vault'] = vaultIn(present(made.data));

  const path = { vault: name, path: 'db/password' };
  await api.POST('/v1/vaults/{vault}/secrets', {
    params: { path: { vault: name }, header: { 'Idempotency-Key': name } },
    body: { path: path.path, value: 'hunter2', metadata: { team: 'blue' } },
  });
  const read = await api.GET('/v1/vaults/{vault}/secrets/{path}', { params: { path } });
  const secret: Schemas['SecretWithValue'] = present(read.data);
  const changed = await api.PUT('/v1/vaults/{vault}/secrets/{path}', {
    params: { path, header: { 'If-Match': '"v1"' } },
    body: { metadata: { tags: ['new'] } },
  });
  const change = present(changed.data);
  const metadata: Schemas['SecretMetadata'] = 'metadata' in change ? change.metadata : otherwise();
  const list = await api.GET('/v1/vaults/{vault}/secrets', {
    params: { path: { vault: name }, query: { tags: ['new'] } },
  });
  const removed = present((await api.DELETE('/v1/vaults/{vault}/secrets/{path}', { params: { path } })).data);

  const missing = await api.GET('/v1/vaults/{vault}/secrets/{path}', { params: { path } });
  const invalid = await api.POST('/v1/vaults', { body: { name: 'not a name' } });
  const certificate = await api.GET('/pki/root.pem', { parseAs: 'text' });
  const revoked = await api.GET('/pki/{tenant_id}/crl.der', {
    params: { path: { tenant_id: tenantId } },
    parseAs: 'arrayBuffer',
  });
  const bytes = new Uint8Array(present(revoked.data) as unknown as ArrayBuffer);

  const isLoose: HasMember<NonNullable<typeof read.data>, 'no_such_field'> = false;
  const isRefusalLoose: HasMember<NonNullable<typeof missing.error>['error'], 'no_such_field'> = false;
  if (isLoose || isRefusalLoose) otherwise();

  return {
    vault: { id: vault.id, name: vault.name, environment: vault.environment },
    secret: { path: secret.path, version: secret.version, value: secret.value },
    tags: metadata.tags,
    listed: present(list.data).secrets.map((one) => one.path),
    deleted: 'deleted' in removed ? removed.deleted : otherwise(),
    missing: refusal(missing.response.status, errorIn(missing.error)),
    invalid: refusal(invalid.response.status, errorIn(invalid.error)),
    text: String(present(certificate.data).split('\n')[0]),
    binary: { size: bytes.length, first: Number(bytes[0]) },
  };
}

function vaultIn(answer: Schemas['Vault'] | Schemas['PendingApproval']): Schemas['Vault'] {
  return 'id' in answer ? answer : otherwise();
}

function present<T>(value: T | undefined): T {
  return value ?? otherwise();
}

function errorIn(refused: Schemas['Error'] | undefined): Schemas['ErrorBody'] {
  return present(refused).error;
}
