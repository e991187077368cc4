import { randomBytes, timingSafeEqual } from 'node:crypto';
import { MINUTE_MS, SECOND_MS } from '../../kernel/base/clock.ts';
import type { CofferError } from '../../kernel/base/errors.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import { cookieNamed } from '../../kernel/http/browser-session.ts';
import type { TenantRow } from '../../kernel/integrity/tenant-rows.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Tx } from '../../kernel/storage/database.ts';
import type { ProviderSession } from '../tokens/storage/index.ts';
import { denied, subjectOf } from './accounts.ts';
import { isWaiting, newDevice } from './devices.ts';
import {
  authorizationUrl,
  type Challenge,
  type Claims,
  newChallenge,
  ProviderFailure,
  verifiedClaims,
} from './openid.ts';
import { redirectUri } from './providers.ts';
import { providerSessionOf, wasEndedSince } from './sign-out.ts';
import {
  type DeviceKey,
  type DeviceRow,
  deleteDevice,
  findDevice,
  insertDevice,
  lockDevice,
  updateDevice,
} from './storage/device-store.ts';
import {
  findProvider,
  type IdentityRow,
  identityHash,
  isSameState,
  lockProvider,
  type ProviderKey,
  type ProviderRow,
  stateOf,
} from './storage/identity-store.ts';

const PURPOSE = 'sign-on';
const COOKIE = '__Host-coffer-sso';
const COOKIE_TTL_MS = 10 * MINUTE_MS;
const COOKIE_LENGTH_MAX = 4096;
const FLOW_KEY_BYTES = 32;
const COOKIE_FLAGS = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** What a sign-in is for: a session of a command line that waits, a session of this browser, or a link of an account with the identity. */
export type SignInGoal =
  | { kind: 'command_line'; device: DeviceRow; userCode: string }
  | { kind: 'browser' }
  | { kind: 'link'; userId: string };

/** What is sealed in the cookie of the browser that began the sign-in. */
interface Sealed extends Challenge {
  tenant_id: string;
  provider: string;
  /** What the provider was when the sign-in began: what it says counts only for that. */
  state_of_provider: ReturnType<typeof stateOf>;
  /** The row that is used once: of the command line that gets the session, or of the sign-in itself. */
  device: string;
  /** What the command line shows; null if no command line waits. */
  user_code: string | null;
  /** What the page of the console knows that began it; absent if a command line waits. */
  flow_key?: string;
  /** The user whose account is linked with the identity at the provider; absent if somebody signs in. */
  link?: string;
  expires_at: number;
}

/** A sign-in that has begun. */
interface Begun {
  url: URL;
  /** For the page that began it, which must show it to finish it. */
  flowKey: string;
  store(tx: Tx): Promise<void>;
}

/** What the provider sent with the browser. */
interface ProviderAnswer {
  code: string;
  state: string;
  iss?: string | undefined;
}

/** Who signed in at the provider. */
export interface SignedIn {
  provider: ProviderRow;
  claims: Claims;
  identity: Pick<IdentityRow, 'tenant_id' | 'identity_hash' | 'issuer' | 'subject'>;
  /** The session at the provider. */
  session: ProviderSession;
}

/** A sign-in at a provider, from when a browser is sent there until what it was for is done. Only the browser that began it can finish it, once. */
export class PendingSignIn {
  readonly #ctx: Context;
  readonly #sealed: Sealed;

  private constructor(ctx: Context, sealed: Sealed) {
    this.#ctx = ctx;
    this.#sealed = sealed;
  }

  /** Binds a new sign-in to this browser. It counts once `store` is committed. */
  static async begin(ctx: Context, tenant: TenantRow | undefined, name: string, goal: SignInGoal): Promise<Begun> {
    if (tenant?.status !== 'active') throw denied('no such tenant, or it is suspended');
    const device = goal.kind === 'command_line' ? goal.device : newDevice(ctx).row;
    const provider = await usableProvider(ctx, { tenant_id: tenant.tenant_id, name });
    const challenge = newChallenge();
    const url = await asDenied(authorizationUrl(ctx.kernel, provider, challenge));
    const flowKey = randomBytes(FLOW_KEY_BYTES).toString('base64url');
    const sealed: Sealed = {
      ...challenge,
      tenant_id: tenant.tenant_id,
      provider: name,
      state_of_provider: stateOf(provider),
      device: Buffer.from(device.device_hash).toString('base64url'),
      user_code: goal.kind === 'command_line' ? goal.userCode : null,
      ...(goal.kind !== 'command_line' && { flow_key: flowKey }),
      ...(goal.kind === 'link' && { link: goal.userId }),
      expires_at: ctx.now + COOKIE_TTL_MS,
    };
    setCookie(ctx, await seal(ctx, sealed), COOKIE_TTL_MS / SECOND_MS);
    const state_hash = sha256(challenge.state);
    const store = async (tx: Tx) => {
      if (goal.kind !== 'command_line') return insertDevice(tx, { ...device, state_hash });
      if (!isWaiting(await lockDevice(tx, device), ctx.now)) throw denied('the code was used concurrently');
      await updateDevice(tx, device, { state_hash });
    };
    return { url, flowKey, store };
  }

  /** The sign-in that this browser began, if it is the one that the state belongs to. */
  static async of(ctx: Context, state: string | undefined): Promise<PendingSignIn> {
    const sealed = await unseal(ctx, cookieOf(ctx));
    if (sealed.expires_at <= ctx.now) throw denied('the sign-in has expired');
    if (!isEqual(state, sealed.state)) throw denied('the state belongs to another sign-in');
    return new PendingSignIn(ctx, sealed);
  }

  get tenantId(): string {
    return this.#sealed.tenant_id;
  }

  get providerKey(): ProviderKey {
    return { tenant_id: this.#sealed.tenant_id, name: this.#sealed.provider };
  }

  get goal(): SignInGoal['kind'] {
    if (this.#sealed.link !== undefined) return 'link';
    return this.#sealed.user_code === null ? 'browser' : 'command_line';
  }

  /** What the command line shows; null if none waits. */
  get userCode(): string | null {
    return this.#sealed.user_code;
  }

  /** Whether it was begun to link the account of this user. */
  links(tenantId: string, userId: string): boolean {
    return this.#sealed.link === userId && this.tenantId === tenantId;
  }

  /**
   * A program on another port of the host can put the cookie of its own sign-in into this browser. What the page that began one stores, it can neither
   * read nor write.
   */
  requireFlowKey(key: string): void {
    if (!isEqual(key, this.#sealed.flow_key)) throw denied('the page did not begin this sign-in');
  }

  /** Pages for a command line have no script that could store a key. There the person types the code again. */
  requireUserCode(typed: string): void {
    if (!isEqual(typed.toUpperCase(), this.#sealed.user_code)) throw denied('the code is of another command line');
  }

  /** An answer counts only at the redirect address of the provider for which the sign-in was begun. */
  requireRedirectUri(address: string): void {
    if (address === redirectUri(this.#ctx.kernel, this.providerKey)) return;
    throw denied('the answer came in at the redirect address of another provider');
  }

  async requireDevice(): Promise<DeviceRow> {
    const device = await findDevice(this.#ctx.database.read, this.#deviceKey);
    if (!isWaiting(device, this.#ctx.now)) throw denied('the command line does not wait any more');
    return device;
  }

  get #deviceKey(): DeviceKey {
    return {
      tenant_id: this.#ctx.kernel.operatorTenantId,
      device_hash: Buffer.from(this.#sealed.device, 'base64url'),
    };
  }

  /** Uses up the state, and lets the provider say who signed in. Nothing is changed by it yet. */
  async finish(answer: ProviderAnswer): Promise<SignedIn> {
    await this.#claimState();
    const provider = await usableProvider(this.#ctx, this.providerKey);
    if (!isSameState(stateOf(provider), this.#sealed.state_of_provider)) throw changedMeanwhile();
    const claims = await asDenied(verifiedClaims(this.#ctx.kernel, provider, this.#sealed, answer));
    const subject = subjectOf(provider, claims);
    const { tenant_id, issuer } = provider;
    const identity = { tenant_id, identity_hash: identityHash(provider, subject), issuer, subject };
    return { provider, claims, identity, session: providerSessionOf(provider, claims) };
  }

  /** A state is used once: anyone who replays it, or comes second, is refused before the provider is queried. */
  async #claimState(): Promise<void> {
    const { database, now } = this.#ctx;
    const isClaimed = await database.transaction(async (tx) => {
      const device = await lockDevice(tx, this.#deviceKey);
      if (!isWaiting(device, now) || device.state_hash === null) return false;
      if (!sha256(this.#sealed.state).equals(device.state_hash)) return false;
      await updateDevice(tx, this.#deviceKey, { state_hash: null });
      return true;
    });
    if (!isClaimed) throw denied('the state was used, or replaced by a later sign-in');
  }

  /**
   * Checks everything again under locks, in the transaction that does what the sign-in was for: a provider that was changed or ended the session
   * while it was queried lets nobody in.
   */
  async lock(tx: Tx, { provider, session }: SignedIn): Promise<void> {
    const { now } = this.#ctx;
    const current = await lockProvider(tx, provider);
    if (current === undefined || !isSameState(stateOf(current), stateOf(provider))) throw changedMeanwhile();
    if (await wasEndedSince(tx, this.tenantId, session, now)) throw denied('the provider ended the sign-in');
    if (!isWaiting(await lockDevice(tx, this.#deviceKey), now)) throw denied('the sign-in was used concurrently');
  }

  /** Deletes the row that is used once. */
  async end(tx: Tx): Promise<void> {
    await deleteDevice(tx, this.#deviceKey);
  }

  dropCookie(): void {
    setCookie(this.#ctx, '', 0);
  }
}

function isEqual(given: string | undefined, expected: string | null | undefined): boolean {
  return given !== undefined && expected != null && timingSafeEqual(sha256(given), sha256(expected));
}

async function usableProvider(ctx: Context, key: ProviderKey): Promise<ProviderRow> {
  const provider = await findProvider(ctx.database.read, key);
  if (provider?.enabled !== 1) throw denied('no such provider, or it is disabled');
  return provider;
}

function changedMeanwhile(): CofferError {
  return denied('the provider was changed meanwhile');
}

async function asDenied<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ProviderFailure ? denied(`provider: ${error.message}`) : error;
  }
}

function place({ kernel }: Context) {
  return { tenantId: kernel.operatorTenantId, table: 'sso_sign_in', row: 'cookie' };
}

async function seal(ctx: Context, sealed: Sealed): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(sealed), 'utf8');
  return (await ctx.kernel.keyring.seal(PURPOSE, place(ctx), bytes)).toString('base64url');
}

async function unseal(ctx: Context, text: string): Promise<Sealed> {
  try {
    const bytes = await ctx.kernel.keyring.unseal(PURPOSE, place(ctx), Buffer.from(text, 'base64url'));
    return JSON.parse(bytes.toString('utf8')) as Sealed;
  } catch (error) {
    throw error instanceof UnsealError ? noSignIn() : error;
  }
}

function noSignIn(): CofferError {
  return denied('this browser began no sign-in');
}

function cookieOf({ call }: Context): string {
  const text = cookieNamed(call.headers.cookie, COOKIE, COOKIE_LENGTH_MAX);
  if (text === null) throw noSignIn();
  return text;
}

function setCookie(ctx: Context, value: string, maxAgeSeconds: number): void {
  ctx.setHeader('Set-Cookie', `${COOKIE}=${value}; ${COOKIE_FLAGS}; Max-Age=${maxAgeSeconds}`);
}
