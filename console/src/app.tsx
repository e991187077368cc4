import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { hasSignedIn, leaveStale, me, resume } from './api.ts';
import { stepUpAsked } from './asked.ts';
import { isIdle } from './idle.ts';
import { openedInvitation } from './invitation-link.ts';
import { lazyPart } from './lazy-part.tsx';
import { asCofferError } from './loading.ts';
import SignInPage from './pages/sign-in.tsx';
import { place } from './router.ts';
import { type PageProps, ROUTES } from './routes.ts';
import { layoutTexts } from './texts/layout.ts';
import { shared } from './texts/shared.ts';
import { LinkButton } from './ui/button.tsx';
import { Layout, PageHead } from './ui/layout.tsx';
import { Empty, ErrorNote, Notice } from './ui/notice.tsx';
import { Palette } from './ui/palette.tsx';
import { Toasts } from './ui/toasts.tsx';

const StepUp = lazyPart(() => import('./step-up.tsx'));

export function App() {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (hasSignedIn() && !isIdle()) loadAhead();
    (isIdle() ? leaveStale() : resume()).catch(setError);
  }, []);
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
    <>
      <Layout>
        {openedInvitation.value === null ? null : <Notice kind="warning">{layoutTexts.invitationOpened}</Notice>}
        {load === undefined ? <NotFound /> : <Lazy key={first} load={load} rest={rest} />}
      </Layout>
      {stepUpAsked.value === null ? null : <StepUp />}
      <Palette />
      <Toasts />
    </>
  );
}

function routeOf(first: string): (typeof ROUTES)[string] | undefined {
  return Object.hasOwn(ROUTES, first) ? ROUTES[first] : undefined;
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

export function Insecure() {
  return (
    <div class="centered">
      <Notice kind="danger">{layoutTexts.insecure}</Notice>
    </div>
  );
}
