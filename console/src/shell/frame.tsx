import { openedInvitation } from '../app/invitation-link.ts';
import { place } from '../app/router.ts';
import { stepUpRequest } from '../app/step-up-prompt.ts';
import { LinkButton } from '../ui/button.tsx';
import { Lazy, lazyPart } from '../ui/lazy-part.tsx';
import { Empty, Notice, TrustedFactorHelp } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { shared } from '../ui/texts.ts';
import { Toasts } from '../ui/toasts.tsx';
import { Keys } from './keys.tsx';
import { Layout } from './layout.tsx';
import { Palette } from './palette.tsx';
import { reloadOnce } from './reload.ts';
import { routeOf } from './routes.ts';
import { layoutTexts } from './texts.ts';

const FortressHelp = lazyPart(() => import('../fortress/help.tsx'));
const StepUp = lazyPart(() => import('./step-up.tsx'));

/** What a signed-in user sees: the frame, the page of the address inside it, and the dialogs above both. */
export default function Frame() {
  const [first = '', ...rest] = place.value.segments;
  const load = routeOf(first);
  return (
    <TrustedFactorHelp.Provider value={FortressHelp}>
      <Layout>
        {openedInvitation.value === null ? null : <Notice kind="warning">{layoutTexts.invitationOpened}</Notice>}
        {load === undefined ? <NotFound /> : <Lazy key={first} load={load} props={{ rest }} whenMissing={reloadOnce} />}
      </Layout>
      {stepUpRequest.value === null ? null : <StepUp />}
      <Palette />
      <Keys />
      <Toasts />
    </TrustedFactorHelp.Provider>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title={shared.notFoundTitle} />
      <Empty title={shared.notFoundText} action={<LinkButton href="#/">{shared.goHome}</LinkButton>} />
    </>
  );
}
