import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { leaveStale, me, resume } from '../app/api.ts';
import { isIdle } from '../app/idle.ts';
import { openedInvitation } from '../app/invitation-link.ts';
import { asCofferError } from '../app/loading.ts';
import { isPage, type PageName, type PageProps } from '../app/page.ts';
import { place } from '../app/router.ts';
import { isSessionChanged, sessionOwner } from '../app/session-owner.ts';
import { stepUpAsked } from '../app/step-up-prompt.ts';
import { sessionChangedText } from '../app/texts.ts';
import SignInPage from '../sign-in/page.tsx';
import { Button, LinkButton } from '../ui/button.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty, ErrorNote, Notice, TrustedFactorHelp } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { shared } from '../ui/texts.ts';
import { Toasts } from '../ui/toasts.tsx';
import { Layout } from './layout.tsx';
import { Palette } from './palette.tsx';
import { ROUTES } from './routes.ts';
import { layoutTexts } from './texts.ts';

const FortressHelp = lazyPart(() => import('../fortress/help.tsx'));
const StepUp = lazyPart(() => import('./step-up.tsx'));

/** Exported here because pages need it too: what only the entry imports beside them becomes a file of its own. */
export { watchClipboard } from '../ui/clipboard.ts';

export function App() {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (sessionOwner() !== null && !isIdle()) loadAhead();
    (isIdle() ? leaveStale() : resume()).catch(setError);
  }, []);
  if (isSessionChanged.value) return <SessionChanged />;
  if (error !== null) {
    return (
      <div class="centered">
        <div class="sign-in stack">
          <h1>{layoutTexts.failed}</h1>
          <ErrorNote error={asCofferError(error)} retry={() => location.reload()} />
        </div>
      </div>
    );
  }
  const person = me.value;
  if (person === undefined) return null;
  if (person === null) return <SignInPage rest={place.value.segments} />;
  const [first = '', ...rest] = place.value.segments;
  const load = routeOf(first);
  return (
    <TrustedFactorHelp.Provider value={FortressHelp}>
      <Layout>
        {openedInvitation.value === null ? null : <Notice kind="warning">{layoutTexts.invitationOpened}</Notice>}
        {load === undefined ? <NotFound /> : <Lazy key={first} load={load} rest={rest} />}
      </Layout>
      {stepUpAsked.value === null ? null : <StepUp />}
      <Palette />
      <Toasts />
    </TrustedFactorHelp.Provider>
  );
}

function routeOf(first: string): (typeof ROUTES)[PageName] | undefined {
  return isPage(first) ? ROUTES[first] : undefined;
}

/** The page is loaded while the service is asked who is signed in. If that fails, it fails again when it is shown, and says so there. */
function loadAhead(): void {
  routeOf(place.value.segments[0] ?? '')?.().catch(() => {});
}

function Lazy({ load, rest }: { load: () => Promise<{ default: ComponentType<PageProps> }>; rest: readonly string[] }) {
  const [Page, setPage] = useState<ComponentType<PageProps> | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    load().then((module) => setPage(() => module.default), whenNotLoaded(setError));
  }, []);
  if (error !== null) return <ErrorNote error={asCofferError(error)} retry={() => location.reload()} />;
  return Page === null ? null : <Page rest={rest} />;
}

/** After an upgrade of the service the files of the old console are gone, so the page is loaded again, once. */
function whenNotLoaded(fail: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
    if (Date.now() - last < RELOAD_MS) return fail(error);
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  };
}

const RELOADED = 'coffer-reloaded';
const RELOAD_MS = 30_000;

function NotFound() {
  return (
    <>
      <PageHead title={shared.notFoundTitle} />
      <Empty title={shared.notFoundText} action={<LinkButton href="#/">{shared.goHome}</LinkButton>} />
    </>
  );
}

function SessionChanged() {
  return (
    <main class="centered">
      <div class="sign-in card">
        <h1>{layoutTexts.sessionChanged}</h1>
        <Notice kind="danger">{sessionChangedText}</Notice>
        <Button kind="primary" onClick={() => location.reload()}>
          {layoutTexts.loadAgain}
        </Button>
      </div>
    </main>
  );
}

export function Insecure() {
  return (
    <div class="centered">
      <Notice kind="danger">{layoutTexts.insecure}</Notice>
    </div>
  );
}
