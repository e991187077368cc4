import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import type { Body, Output } from '../../kernel/endpoint/declaration.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { DELETED, type Deleted } from '../../kernel/wire/wire.ts';
import { linkNotice, noticesOf, queueMail } from '../mail/index.ts';
import { factorsOf, hasFactor } from '../mfa/factors/index.ts';
import { requireFresh } from '../mfa/index.ts';
import {
  addLink,
  denied,
  endSessionsWith,
  type LinkOutcome,
  linksOf,
  PendingSignIn,
  removeLink,
} from '../sign-on/index.ts';
import { lockProvider } from '../sign-on/storage/index.ts';
import { isExemptFromSignOn, isMarked } from '../users/index.ts';
import { lockUser, type UserRow } from '../users/storage/index.ts';
import type * as contract from './contract.ts';
import type { SignOnLink } from './contract.ts';
import type { AccountLinkParts } from './links.ts';

export async function list(ctx: Context): Promise<Output<typeof contract.listLinks>> {
  const links = (await linksOf(ctx.database.read, ctx.tenantId, ctx.principal.id))
    .filter(({ provider }) => provider.enabled === 1)
    .map(
      ({ provider, identity }): SignOnLink => ({
        provider: provider.name,
        linked_at: timestampOrNull(identity?.created_at ?? null),
      }),
    );
  return { links };
}

/** The request is bound to this browser by a cookie, and to this person by what is sealed in it. */
export async function begin(ctx: Context, name: string): Promise<Output<typeof contract.beginLink>> {
  const { tenantId, principal, database } = ctx;
  ctx.record.describe({ provider: name });
  await requireOwnHand(ctx, database.read, 'Linking your account');
  const tenant = await findTenant(database.read, tenantId);
  const { url, flowKey, store } = await PendingSignIn.begin(ctx, tenant, name, { kind: 'link', userId: principal.id });
  return ctx.change(async (tx) => {
    refuseBreakGlass(await lockedSelf(ctx, tx));
    await store(tx);
    return { url: url.href, flow_key: flowKey };
  });
}

/** Who signed in at the provider is known by issuer and subject. That its identity belongs to nobody else is made sure of in the transaction. */
export async function confirm(ctx: Context, body: Body<typeof contract.confirmLink>): Promise<SignOnLink> {
  const { tenantId, principal, kernel, now } = ctx;
  const pending = await PendingSignIn.of(ctx, body.state);
  const { name } = pending.providerKey;
  ctx.record.describe({ provider: name });
  if (!pending.links(tenantId, principal.id)) throw denied('the sign-in at the provider was begun for something else');
  pending.requireFlowKey(body.flow_key);
  pending.requireRedirectUri(body.redirect_uri);
  await requireOwnHand(ctx, ctx.database.read, 'Linking your account');
  const signedIn = await pending.finish(body);
  const { provider } = signedIn;
  const identity = { ...signedIn.identity, user_id: principal.id, created_at: now };
  ctx.record.describe({ issuer: identity.issuer, subject: identity.subject });
  pending.dropCookie();
  const notices = await noticesOf(kernel, tenantId, 'security');
  return ctx.change(async (tx) => {
    await pending.lock(tx, signedIn);
    await pending.end(tx);
    const user = await lockedSelf(ctx, tx);
    refuseBreakGlass(user);
    refuseUnlessAdded(await addLink(tx, provider, identity));
    if (notices !== null) await queueMail(tx, ...notices([linkNotice(user.email, name, true)]));
    return { provider: name, linked_at: timestamp(now) };
  });
}

function refuseUnlessAdded(outcome: LinkOutcome): void {
  switch (outcome) {
    case 'added':
      return;
    case 'own':
      throw new CofferError('ALREADY_EXISTS', 'You can sign in with this identity already.');
    case 'second':
      throw new CofferError('IN_USE', 'You sign in with another identity of this provider: unlink that one first.');
    case 'of_another':
      throw new CofferError(
        'IN_USE',
        'This identity signs in to another account here: sign out at the provider, and use your own.',
        { auditReason: 'the identity belongs to another account' },
      );
  }
}

export async function remove(
  ctx: Context,
  name: string,
  { isProvisioned }: Pick<AccountLinkParts, 'isProvisioned'>,
): Promise<Deleted> {
  ctx.access.requireUnrestricted();
  const { tenantId, principal } = ctx;
  ctx.record.describe({ provider: name });
  const notices = await noticesOf(ctx.kernel, tenantId, 'security');
  return ctx.change(async (tx) => {
    const provider = await lockProvider(tx, { tenant_id: tenantId, name });
    const user = await lockedSelf(ctx, tx);
    const links = await linksOf(tx, tenantId, principal.id);
    const identity = links.find((link) => link.provider.name === provider?.name)?.identity ?? null;
    if (identity === null) throw notFound('link with this provider');
    await requireOwnHand(ctx, tx, 'Unlinking your account');
    if (await isProvisioned(tx, tenantId, principal.id)) {
      throw new CofferError(
        'IN_USE',
        'Your organization manages this account by SCIM: ask an admin to remove it there.',
      );
    }
    // Another provider of the same issuer knows the person by the same identity.
    const same = links.filter((link) => link.identity === identity).map((link) => link.provider);
    const isRequired = same.some(({ required }) => required === 1);
    if (isRequired && !(await isExemptFromSignOn(tx, user))) {
      throw new CofferError('IN_USE', 'Your organization requires this provider: you could not sign in without it.');
    }
    const { passkeys } = await factorsOf(tx, tenantId, principal.id);
    if (user.password_hash === '' && passkeys.length === 0) {
      throw new CofferError('IN_USE', 'You could not sign in without this provider: add a passkey first.');
    }
    await removeLink(tx, identity);
    const ending = { now: ctx.now, except: principal.credentialId };
    const sessions_ended = await endSessionsWith(tx, user, identity, ending);
    ctx.record.describe({ issuer: identity.issuer, subject: identity.subject, sessions_ended });
    await raiseEpoch(tx, tenantId);
    if (notices !== null) await queueMail(tx, ...notices([linkNotice(user.email, name, false)]));
    return DELETED;
  });
}

async function requireOwnHand(ctx: Context, db: Reader, what: string): Promise<void> {
  requireFresh(ctx, await hasFactor(db, ctx.tenantId, ctx.principal.id), what);
}

async function lockedSelf(ctx: Context, tx: Tx): Promise<UserRow> {
  const user = await lockUser(tx, ctx.tenantId, ctx.principal.id);
  if (user?.status !== 'active') throw denied('the user is disabled');
  return user;
}

/** They are the way in that no provider has a part in. */
function refuseBreakGlass(user: UserRow): void {
  if (!isMarked(user)) return;
  throw new CofferError('IN_USE', 'You are a break-glass owner, whom no provider lets in: link another account.');
}
