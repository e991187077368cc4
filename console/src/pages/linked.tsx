import { useEffect } from 'preact/hooks';
import { call } from '../api.ts';
import { useAction } from '../loading.ts';
import { href, place, replace } from '../router.ts';
import { linksTexts as texts } from '../texts/my-links.ts';
import { LinkButton } from '../ui/button.tsx';
import { PageHead } from '../ui/layout.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';

/** The page to which the service sends a browser that comes back from a provider. What is in the address is used once, and taken out of it. */
export default function LinkedPage() {
  const action = useAction();
  useEffect(() => {
    const { query } = place.value;
    const { code = '', state = '', redirect_uri = '', iss } = Object.fromEntries(query);
    history.replaceState(null, '', href('linked'));
    void action.run(async () => {
      const body = { code, state, redirect_uri, ...(iss && { iss }) };
      const { provider } = await call('POST /auth/links/confirm', { body });
      toast(texts.linked(provider));
      replace(href('me'));
    });
  }, []);
  return (
    <>
      <PageHead title={action.error === null ? texts.linking : texts.failed} />
      <ErrorNote error={action.error} />
      {action.error === null ? null : (
        <div>
          <LinkButton href={href('me')}>{texts.back}</LinkButton>
        </div>
      )}
    </>
  );
}
