import type { ComponentChildren } from 'preact';
import { type Check, mayOne } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { Empty, WhenLoaded } from './notice.tsx';
import { PageHead } from './page-head.tsx';
import { shared } from './texts.ts';

/**
 * Shows a page to whom it would not be refused, and tells everybody else whom to ask. Nothing is requested for them. With `title` they see the head
 * of the page too, for pages that have their own only when they are loaded.
 */
export function WhenAllowed({
  check,
  title,
  children,
}: {
  check: Check;
  title?: string;
  children: () => ComponentChildren;
}) {
  const allowed = useLoaded(async () => ({ isAllowed: await mayOne(check) }), [check.join(' ')]);
  return (
    <WhenLoaded of={allowed}>
      {({ isAllowed }) =>
        isAllowed ? (
          children()
        ) : (
          <>
            {title === undefined ? null : <PageHead title={title} />}
            <NotAllowed action={check[0]} />
          </>
        )
      }
    </WhenLoaded>
  );
}

/** Says what somebody lacks, and whom to ask for it. */
export function NotAllowed({ action }: { action: string }) {
  return (
    <Empty title={shared.notAllowed} icon="refused">
      {shared.notAllowedText} <code>{action}</code>.
    </Empty>
  );
}
