import type { CofferError } from '@coffer/client';
import { useEffect, useState } from 'preact/hooks';
import { leaveStale, me, resume } from '../app/api.ts';
import { loadFrameFiles } from '../app/files.ts';
import { isIdle } from '../app/idle.ts';
import { asCofferError } from '../app/loading.ts';
import { isUnreachable, reconnections } from '../app/reachable.ts';
import { place } from '../app/router.ts';
import { isSessionChanged, sessionOwner } from '../app/session-owner.ts';
import { sessionChangedText } from '../app/texts.ts';
import SignInPage from '../sign-in/page.tsx';
import { Button } from '../ui/button.tsx';
import { Lazy } from '../ui/lazy-part.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { appTexts } from './app-texts.ts';
import { reloadOnce } from './reload.ts';
import { routeOf } from './routes.ts';

/** Exported here because pages need it too: what only the entry imports beside them becomes a file of its own. */
export { watchClipboard } from '../ui/clipboard.ts';

export function App() {
  const [error, setError] = useState<CofferError | null>(null);
  useEffect(() => {
    if (sessionOwner() !== null && !isIdle()) loadAhead();
    (isIdle() ? leaveStale() : resume()).catch((caught) => setError(asCofferError(caught)));
  }, []);
  const reconnected = reconnections.value;
  useEffect(() => {
    if (isUnreachable(error)) location.reload();
  }, [reconnected]);
  if (isSessionChanged.value) return <SessionChanged />;
  if (error !== null) {
    return (
      <div class="centered">
        <div class="sign-in stack">
          <h1>{appTexts.failed}</h1>
          <ErrorNote error={error} retry={() => location.reload()} />
        </div>
      </div>
    );
  }
  const person = me.value;
  if (person === undefined) return null;
  if (person === null) return <SignInPage rest={place.value.segments} />;
  return <Lazy load={loadFrame} props={{}} whenMissing={reloadOnce} />;
}

async function loadFrame() {
  const [, frame] = await Promise.all([loadFrameFiles(), import('./frame.tsx')]);
  return frame;
}

/** The page is loaded while the service is asked who is signed in. If that fails, it fails again when it is shown, and says so there. */
function loadAhead(): void {
  for (const load of [loadFrame, routeOf(place.value.segments[0] ?? '')]) load?.().catch(() => {});
}

function SessionChanged() {
  return (
    <main class="centered">
      <div class="sign-in card">
        <h1>{appTexts.sessionChanged}</h1>
        <Notice kind="danger">{sessionChangedText}</Notice>
        <Button kind="primary" onClick={() => location.reload()}>
          {appTexts.loadAgain}
        </Button>
      </div>
    </main>
  );
}

export function Insecure() {
  return (
    <div class="centered">
      <Notice kind="danger">{appTexts.insecure}</Notice>
    </div>
  );
}
