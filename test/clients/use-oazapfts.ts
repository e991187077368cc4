import * as api from './generated/oazapfts.ts';
import { type HasMember, otherwise, refusal, type Service, type WhatWasDone } from './what-was-done.ts';

/** The same work by the functions that oazapfts makes, which tell answers apart by their status. */
export async function use({ baseUrl, token, vault: name }: Service): Promise<WhatWasDone> {
  Object.assign(api.defaults, { baseUrl, headers: { authorization: `Bearer ${token}` } });
  const made = await api.createVault({ name, environment: 'staging', tags: ['generated'] });
  const vault: api.Vault = made.status === 201 ? made.data : otherwise();

  const path = 'db/password';
  const input: api.CreateSecretInputWrite = { path, value: 'hunter2', metadata: { team: 'blue' } };
  await api.createSecret(name, input, { idempotencyKey: name });
  const read = await api.readSecret(name, path);
  const secret: api.SecretWithValue = read.status === 200 ? read.data : otherwise();
  const changed = await api.updateSecret(name, path, { metadata: { tags: ['new'] } }, { ifMatch: '"v1"' });
  const metadata: api.SecretMetadata = changed.status === 200 ? changed.data.metadata : otherwise();
  const list = await api.listSecrets(name, { tags: ['new'] });
  const listed: api.ListedSecret[] = list.status === 200 ? list.data.secrets : otherwise();
  const removed = await api.deleteSecret(name, path);

  const missing = await api.readSecret(name, path);
  const invalid = await api.createVault({ name: 'not a name' });
  const certificate = await api.readRootCertificate();

  const isLoose: HasMember<typeof secret, 'no_such_field'> = false;
  if (isLoose) otherwise();

  return {
    vault: { id: vault.id, name: vault.name, environment: vault.environment },
    secret: { path: secret.path, version: secret.version, value: secret.value },
    tags: metadata.tags,
    listed: listed.map((one) => one.path),
    deleted: removed.status === 200 ? removed.data.deleted : otherwise(),
    missing: missing.status === 404 ? refusal(missing.status, errorIn(missing.data)) : otherwise(),
    invalid: invalid.status === 422 ? refusal(invalid.status, errorIn(invalid.data)) : otherwise(),
    text: certificate.status === 200 ? String(certificate.data.split('\n')[0]) : otherwise(),
    // Its types say `Blob`; what it does is to read text wherever a refusal would be JSON.
    binary: null,
  };
}

function errorIn({ error }: api.Error): api.ErrorBody {
  return error;
}
