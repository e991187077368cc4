import { randomBytes } from 'node:crypto';
import { credentialHash, insertPasskey } from '../../server/src/features/mfa/passkeys/passkey-store.ts';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { SoftwarePasskey } from './authenticator.ts';
import type { MakeInput, World } from './endpoint-inputs.ts';
import { deleteSecondFactor } from './factories.ts';
import { ok, openSession, uniqueName } from './people.ts';
import { recorded } from './rows.ts';

const ELSEWHERE = 'https://coffer.example';
const CHALLENGE = 'A'.repeat(78);

/** Valid input for passkeys, sessions and one's own account. What a browser does with a challenge is tested beside the feature: here nobody was given one. */
export const PASSKEY_INPUTS: Record<string, MakeInput> = {
  'POST /auth/mfa/passkeys': async () => ({
    body: { name: 'laptop', response: new SoftwarePasskey(ELSEWHERE).create(OPTIONS) },
  }),
  'PATCH /auth/mfa/passkeys/{passkey_id}': async (world) => ({
    ...(await somePasskey(world)),
    body: { name: 'Changed' },
  }),
  'DELETE /auth/mfa/passkeys/{passkey_id}': somePasskey,
  'POST /auth/passkeys/login': async () => ({
    body: { response: new SoftwarePasskey(ELSEWHERE).get({ rpId: 'coffer.example', challenge: CHALLENGE }) },
  }),
  'PATCH /auth/me': async () => ({ body: { name: uniqueName('somebody') } }),
  'POST /auth/step-up': async () => ({ body: { otp: '123456' } }),
  'GET /auth/sessions': async ({ service }, { person }) => {
    const { user } = await ok(service.call('GET', '/auth/me'));
    for (const id of [user.id, user.id, person.id, person.id]) await openSession(service, id);
    return { query: { limit: '1' } };
  },
  'DELETE /auth/sessions/{session_id}': someSession,
};

const OPTIONS = { rp: { id: 'coffer.example' }, user: { id: 'AA' }, challenge: CHALLENGE };

/** A passkey of the owner, whose key nobody has. */
async function somePasskey({ service, owner }: World) {
  const { kernel } = service.app;
  const { id: tenant_id } = (await ok(service.call('GET', '/auth/me'))).tenant;
  const now = kernel.clock.now();
  const [passkey_id, credential_id] = [newId('passkey', now), randomBytes(16)];
  await deleteSecondFactor(service, owner.id);
  await recorded(kernel, tenant_id, (tx) =>
    insertPasskey(tx, {
      tenant_id,
      passkey_id,
      user_id: owner.id,
      name: uniqueName('passkey'),
      credential_hash: credentialHash(credential_id),
      credential_id,
      public_key: randomBytes(77),
      rp_id: 'coffer.example',
      sign_count: 0,
      transports: '[]',
      is_synced: 1,
      created_at: now,
      last_used_at: null,
      trusted_at: null,
    }),
  );
  return { params: { passkey_id } };
}

async function someSession({ service, owner }: World) {
  const token = await openSession(service, owner.id);
  const { credential } = await ok(service.call('GET', '/auth/me', { token }));
  return { params: { session_id: credential.id } };
}
