import { timestamp, timestampOrNull } from '../../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../../kernel/base/errors.ts';
import { newId } from '../../../kernel/base/ids.ts';
import type { Body, Output } from '../../../kernel/endpoint/declaration.ts';
import type { Context } from '../../../kernel/request/context.ts';
import { UniqueViolation } from '../../../kernel/storage/database.ts';
import { raiseEpoch } from '../../../kernel/storage/epochs.ts';
import { SYSTEM_TENANT } from '../../../kernel/storage/tables.ts';
import { DELETED, type Deleted } from '../../../kernel/wire/wire.ts';
import { lockUser } from '../../users/storage/index.ts';
import { CHALLENGE_TTL_MS, issueChallenge, type Occasion, spendChallenge } from '../challenges.ts';
import type * as contract from '../contract.ts';
import { factorsOf, hasAny, passkeyTrustedFrom } from '../factors/factors.ts';
import { continuation, shownByAdding } from '../first-factor.ts';
import { approveRemoval, lockFactors, type MfaPorts, requireFresh, requireWayIn } from '../removal.ts';
import type { Passkey, PasskeyRequestOptions } from '../schemas.ts';
import * as store from './passkey-store.ts';
import { ALGORITHMS, refusedPasskey, relyingParty, verifyRegistration } from './webauthn.ts';

/** Enough for every device somebody has. A browser gets the list of them. */
export const PASSKEYS_MAX = 20;
const SERVICE_NAME = 'Coffer';

export async function enrolmentOptions(ctx: Context): Promise<Output<typeof contract.passkeyEnrolmentOptions>> {
  const { tenantId, principal, kernel } = ctx;
  const rp = relyingParty(kernel);
  const factors = await factorsOf(ctx.database.read, tenantId, principal.id);
  // Checked here too, so that nobody is prompted for a fingerprint in vain.
  requireFresh(ctx, hasAny(factors), 'Adding a passkey');
  const challenge = await issueChallenge(kernel, enrolmentOf(ctx));
  return {
    options: {
      rp: { id: rp.id, name: SERVICE_NAME },
      user: { id: toBase64url(Buffer.from(principal.id, 'utf8')), name: principal.name, displayName: nameOf(ctx) },
      challenge: toBase64url(challenge),
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_TTL_MS,
      attestation: 'none',
      excludeCredentials: factors.passkeys.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    },
    expires_at: timestamp(kernel.clock.now() + CHALLENGE_TTL_MS),
  };
}

function nameOf({ principal }: Context): string {
  return principal.displayName === '' ? principal.name : principal.displayName;
}

/** Bound to the session, so that a response cannot be carried into another one. */
function enrolmentOf({ tenantId, principal }: Context): Occasion {
  return { tenantId, ceremony: 'enrol', userId: principal.id, sessionId: principal.credentialId };
}

export async function enrol(
  ctx: Context,
  body: Body<typeof contract.enrolPasskey>,
  ports: MfaPorts,
): Promise<Output<typeof contract.enrolPasskey>> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal, now } = ctx;
  const made = await verifyRegistration(ctx.kernel, enrolmentOf(ctx), body.response);
  const row: store.PasskeyRow = {
    tenant_id: tenantId,
    passkey_id: newId('passkey', now),
    user_id: principal.id,
    name: body.name,
    credential_hash: store.credentialHash(made.credentialId),
    credential_id: made.credentialId,
    public_key: made.publicKey,
    rp_id: made.rp.id,
    sign_count: made.signCount,
    transports: JSON.stringify(body.response.response.transports ?? []),
    is_synced: Number(made.isSynced),
    created_at: now,
    last_used_at: null,
    trusted_at: null,
  };
  ctx.record.describe({ passkey: row.passkey_id, name: row.name, synced: made.isSynced });
  const proceed = await continuation(ctx, body.step_up, ports);
  return ctx.change(async (tx) => {
    // The person's row is locked, so that concurrent enrolments are counted one after the other.
    const user = await lockUser(tx, tenantId, principal.id);
    const factors = await lockFactors(tx, tenantId, principal.id);
    requireFresh(ctx, hasAny(factors), 'Adding a passkey');
    if (factors.passkeys.length >= PASSKEYS_MAX) {
      throw new CofferError('QUOTA_EXCEEDED', `You can have at most ${PASSKEYS_MAX} passkeys: remove one first.`);
    }
    if (!(await spendChallenge(tx, tenantId, made.challenge)))
      throw refusedPasskey('the challenge was answered before');
    await unlessTaken(store.insertPasskey(tx, row));
    // The rights of their tokens can depend on it.
    await raiseEpoch(tx, tenantId);
    const session = await shownByAdding(tx, proceed, { user, before: factors, factor: row.passkey_id });
    return { ...toWire(row), session };
  });
}

async function unlessTaken(write: Promise<void>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    throw new CofferError('ALREADY_EXISTS', 'This passkey is already enrolled: use it to sign in.');
  }
}

export async function list(ctx: Context): Promise<Output<typeof contract.listPasskeys>> {
  const rows = await store.passkeysOf(ctx.database.read, ctx.tenantId, ctx.principal.id);
  return { passkeys: rows.map(toWire), next_cursor: null };
}

export async function rename(ctx: Context, passkeyId: string, name: string): Promise<Passkey> {
  ctx.access.requireUnrestricted();
  ctx.record.describe({ name });
  return ctx.change(async (tx) => {
    const row = await store.lockPasskey(tx, ctx.tenantId, passkeyId);
    if (row?.user_id !== ctx.principal.id) throw notFound('passkey');
    return toWire(await store.updatePasskey(tx, row, { name }));
  });
}

export async function remove(ctx: Context, passkeyId: string, ports: MfaPorts): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  return ctx.change(async (tx) => {
    const user = await lockUser(tx, tenantId, principal.id);
    const factors = await lockFactors(tx, tenantId, principal.id);
    const row = factors.passkeys.find(({ passkey_id }) => passkey_id === passkeyId);
    if (user === undefined || row === undefined) throw notFound('passkey');
    ctx.record.describe({ name: row.name });
    const left = { ...factors, passkeys: factors.passkeys.filter((other) => other !== row) };
    await requireWayIn(tx, user, left, ports);
    await store.deletePasskey(tx, row);
    await raiseEpoch(tx, tenantId);
    const removed = { what: `passkey ${row.name}`, since: row.created_at, key: row.passkey_id };
    await approveRemoval(ctx, tx, principal.id, { removed, left });
    return DELETED;
  });
}

/** Sign-ins begin without a person or a tenant, so their challenges belong to the installation. */
export const SIGN_IN: Occasion = { tenantId: SYSTEM_TENANT, ceremony: 'sign_in', userId: '', sessionId: '' };

export function stepUpOf({ tenantId, principal }: Context): Occasion {
  return { tenantId, ceremony: 'step_up', userId: principal.id, sessionId: principal.credentialId };
}

/** What a browser needs to sign with a passkey. Without `passkeys` it offers whichever the person has for this service. */
export async function requestOptions(
  { kernel }: Context,
  occasion: Occasion,
  passkeys: readonly store.PasskeyRow[] = [],
): Promise<{ options: PasskeyRequestOptions; expires_at: string }> {
  const rp = relyingParty(kernel);
  const challenge = await issueChallenge(kernel, occasion);
  return {
    options: {
      rpId: rp.id,
      challenge: toBase64url(challenge),
      timeout: CHALLENGE_TTL_MS,
      userVerification: 'required',
      allowCredentials: passkeys.map(descriptorOf),
    },
    expires_at: timestamp(kernel.clock.now() + CHALLENGE_TTL_MS),
  };
}

/** The passkey that a response says it is by, in any tenant; undefined if there is none. */
export async function passkeyNamed(ctx: Context, credentialId: string): Promise<store.PasskeyRow | undefined> {
  const bytes = Buffer.from(credentialId, 'base64url');
  return toBase64url(bytes) === credentialId ? store.findByCredential(ctx.kernel.database.read, bytes) : undefined;
}

function descriptorOf({ credential_id, transports }: store.PasskeyRow) {
  return {
    id: toBase64url(credential_id),
    type: 'public-key' as const,
    transports: JSON.parse(transports) as string[],
  };
}

function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function toWire(row: store.PasskeyRow): Passkey {
  return {
    id: row.passkey_id,
    name: row.name,
    is_synced: row.is_synced === 1,
    transports: JSON.parse(row.transports) as string[],
    created_at: timestamp(row.created_at),
    last_used_at: timestampOrNull(row.last_used_at),
    opens_fortress_from: timestamp(passkeyTrustedFrom(row)),
  };
}
