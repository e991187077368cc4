import { Coffer, CofferError, type Route, type RouteInput, type RouteOutput, type Transport } from '@coffer/client';
import { signal } from '@preact/signals';
import { noteNoResponse, noteResponse } from './reachable.ts';
import { disown, isSessionChanged, own, SESSION_OWNER_HEADER, sessionOwner } from './session-owner.ts';
import { cancelled, type Proof, takesTrustedFactor } from './step-up-prompt.ts';
import { sessionChangedText } from './texts.ts';

/** Sends with the cookie of the session, which only these requests may use. */
const transport: Transport = async ({ url, method, headers, body, signal }) => {
  if (isSessionChanged.value) throw new CofferError(sessionChangedText, { code: 'SESSION_CHANGED' });
  const owner = sessionOwner();
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(owner !== null && { [SESSION_OWNER_HEADER]: owner }) },
      signal,
      redirect: 'manual',
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body !== undefined && { body }),
    });
    noteResponse();
    return response;
  } catch (error) {
    // A request that the page itself gave up says nothing about the service.
    if (!signal.aborted) noteNoResponse();
    throw error;
  }
};

const API = `${location.origin}/console/api`;
let connected: Coffer | null = null;

/** The API below the prefix at which the service accepts the session from the cookie. Made when it is needed, because it refuses an insecure address. */
export function coffer(): Coffer {
  connected ??= new Coffer({ url: API, auth: { anonymous: true }, transport });
  return connected;
}

export type Me = RouteOutput<'GET /auth/me'>;

/** Undefined until it is known, and null if nobody is signed in. */
export const me = signal<Me | null | undefined>(undefined);
/** Why the sign-in page is shown to somebody who was signed in. */
export type SignedOutReason = 'idle' | 'ended' | 'left' | 'again' | 'changed';
const REASON = 'coffer-signed-out';
export const signedOutBecause = signal<SignedOutReason | null>(
  sessionStorage.getItem(REASON) as SignedOutReason | null,
);
sessionStorage.removeItem(REASON);

/** A provider at which the person who just signed out here can sign out too. */
export interface ProviderSignOut {
  provider: string;
  url: string;
}
const PROVIDER = 'coffer-signed-out-provider';
/** A sign-out here does not wait longer for the provider. */
const PROVIDER_WAIT_MS = 3000;
/** Nor for the browser. */
const TRACES_WAIT_MS = 1000;
const storedProvider = sessionStorage.getItem(PROVIDER);
export const providerSignOut: ProviderSignOut | null =
  storedProvider === null ? null : (JSON.parse(storedProvider) as ProviderSignOut);
sessionStorage.removeItem(PROVIDER);

interface Options {
  signal?: AbortSignal;
  /** The call changes nothing although it is a POST. */
  isRead?: boolean;
  /** The caller shows the sign-in itself. */
  isSignIn?: boolean;
}

/** Calls an endpoint. If the session has ended, the sign-in page is shown. */
export function call<R extends Route>(route: R, input: RouteInput<R>, options: Options = {}): Promise<RouteOutput<R>> {
  return callBy(coffer(), route, input, options);
}

/** Calls an endpoint that answers with a file. */
export async function callForFile<R extends Route>(
  route: R,
  input: RouteInput<R>,
): Promise<{ file: Blob; header: (name: string) => string | null }> {
  const answers: { file: Blob; headers: Headers }[] = [];
  const keep: Transport = async (request) => {
    const response = (await transport(request)) as Response;
    if (!response.ok) return response;
    answers.push({ file: await response.blob(), headers: response.headers });
    return { status: response.status, headers: response.headers, text: async () => '' };
  };
  const client = new Coffer({ url: API, auth: { anonymous: true }, transport: keep });
  await callBy(client, route, input, {});
  const [answer] = answers;
  if (answer === undefined) throw new CofferError('The answer has no file.', { code: 'UNEXPECTED_ANSWER' });
  return { file: answer.file, header: (name) => answer.headers.get(name) };
}

async function callBy<R extends Route>(
  client: Coffer,
  route: R,
  input: RouteInput<R>,
  { isSignIn, ...options }: Options,
): Promise<RouteOutput<R>> {
  const send = () => client.call(route, input, options);
  try {
    return await send();
  } catch (error) {
    if (error instanceof CofferError && error.code === 'SESSION_CHANGED') sessionChanged();
    if (isSignIn === true || !(error instanceof CofferError)) throw error;
    if (error.code === 'INVALID_TOKEN') sessionEnded('ended');
    if (error.code !== 'MFA_REQUIRED' || (takesTrustedFactor(error) && (await areFactorsTooNew()))) throw error;
    if (await secondFactor.ask(proofFor(error))) return send();
    cancelled.add(error);
    throw error;
  }
}

/** By how much the clock of this computer may differ from that of the service. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

/** Whether no second factor of the person will do for a while, so that to show one would not help. */
async function areFactorsTooNew(): Promise<boolean> {
  const soon = Date.now() + CLOCKS_DIFFER_MS;
  return (await loadFactors()).every(({ opensFrom }) => Date.parse(opensFrom) > soon);
}

/** A second factor, and from when on it opens fortress secrets. A passkey has a name. */
export interface Factor {
  readonly passkey: string | null;
  readonly opensFrom: string;
}

/** The second factors of the signed-in person. */
export async function loadFactors(signal?: AbortSignal): Promise<Factor[]> {
  const options = signal === undefined ? {} : { signal };
  const [{ totp }, { passkeys }] = await Promise.all([
    call('GET /auth/mfa', {}, options),
    call('GET /auth/mfa/passkeys', {}, options),
  ]);
  return [
    ...(totp.opens_fortress_from === null ? [] : [{ passkey: null, opensFrom: totp.opens_fortress_from }]),
    ...passkeys.map(({ name, opens_fortress_from }) => ({ passkey: name, opensFrom: opens_fortress_from })),
  ];
}

function proofFor({ details }: CofferError): Proof {
  return details['sign_in'] === true ? 'sign_in' : 'factor';
}

/** How somebody is asked for the proof that a request needs; resolves to whether they gave it. */
export const secondFactor: { ask: (proof: Proof) => Promise<boolean> } = { ask: async () => false };

/** Every item of a list, up to a bound that no page shows more of. */
export async function all<T>(
  load: (cursor: string | undefined) => Promise<{ items: readonly T[]; next_cursor: string | null }>,
  max = 10_000,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await load(cursor);
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < max);
  return items;
}

/** When the page is loaded: nobody is asked who they are if nobody signed in here. */
export async function resume(): Promise<void> {
  if (sessionOwner() === null) me.value = null;
  else await loadMe();
}

/** For a page that is opened after nobody did anything for long: a session that is left is ended. */
export async function leaveStale(): Promise<void> {
  if (sessionOwner() === null) me.value = null;
  else await signOut('idle');
}

/** After a sign-in, whose session the service has put into the cookie. */
export async function enter(session: Parameters<typeof own>[0]): Promise<void> {
  own(session);
  await loadMe();
}

export async function loadMe(): Promise<void> {
  try {
    me.value = await call('GET /auth/me', {}, { isSignIn: true });
    signedOutBecause.value = null;
  } catch (error) {
    if (!(error instanceof CofferError) || error.status !== 401) throw error;
    me.value = null;
    disown();
    void clearTraces();
  }
}

const onSessionEnd = new Set<() => unknown>();

/** For what a person leaves behind: caches of what they may see or do, and what they copied. */
export function whenSessionEnds(clear: () => unknown): void {
  onSessionEnd.add(clear);
}

/** Resolves when everything is cleared, or could not be for a while. */
async function clearTraces(): Promise<void> {
  const cleared = Promise.all([...onSessionEnd].map((clear) => clear()));
  await Promise.race([cleared, new Promise((resolve) => setTimeout(resolve, TRACES_WAIT_MS))]);
}

export function sessionEnded(why: SignedOutReason): void {
  if (me.value) signedOutBecause.value = why;
  me.value = null;
  disown();
  void clearTraces();
}

/** The page that says so takes the place of everything that was shown. Other tabs are loaded again. */
function sessionChanged(): void {
  isSessionChanged.value = true;
  sessionEnded('changed');
  sessionStorage.setItem(REASON, 'changed');
}

/** Where the session can be ended at its provider as well. A provider that does not answer keeps nobody signed in. */
async function findProviderSignOut(): Promise<ProviderSignOut | null> {
  try {
    const options = { signal: AbortSignal.timeout(PROVIDER_WAIT_MS), isSignIn: true };
    const { provider, url } = await call('GET /auth/sso/sign-out', {}, options);
    return provider === null || url === null ? null : { provider, url };
  } catch {
    return null;
  }
}

/** The page is loaded again, so that nothing that it showed stays in memory. */
export async function signOut(why: SignedOutReason = 'left'): Promise<void> {
  // Begun at once, because some browsers let a page change the clipboard only just after a click.
  const cleared = clearTraces();
  const atProvider = why === 'again' ? null : await findProviderSignOut();
  try {
    await call('POST /auth/logout', {}, { isSignIn: true });
  } catch (error) {
    // If the session has ended already, that is what was wanted.
    if (!(error instanceof CofferError) || error.status !== 401) throw error;
  }
  await cleared;
  disown();
  sessionStorage.setItem(REASON, why);
  if (atProvider !== null) sessionStorage.setItem(PROVIDER, JSON.stringify(atProvider));
  if (why === 'left') history.replaceState(null, '', '#/');
  location.reload();
}
