import { useEffect } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { href, replace } from '../app/router.ts';
import { takeProviderAnswer } from '../sign-in/index.ts';
import { LinkButton } from '../ui/button.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { toast } from '../ui/toasts.tsx';
import { linksTexts as texts } from './link-texts.ts';

/** The page to which the service sends a browser that comes back from a provider. What is in the address is used once, and taken out of it. */
export default function LinkedPage() {
  const action = useAction();
  useEffect(() => {
    const body = takeProviderAnswer(href('linked'));
    void action.run(async () => {
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
