import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The head of a page. Its title gets the focus when the page is opened, so that screen readers read on from there. */
export function PageHead({
  title,
  crumbs,
  actions,
  intro,
}: {
  title: ComponentChildren;
  crumbs?: ComponentChildren;
  actions?: ComponentChildren;
  intro?: ComponentChildren;
}) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => ref.current?.focus({ preventScroll: true }), []);
  return (
    <div class="stack">
      {crumbs ? <div class="crumbs">{crumbs}</div> : null}
      <div class="page-head">
        <h1 ref={ref} tabIndex={-1}>
          {title}
        </h1>
        {actions ? <div class="page-actions">{actions}</div> : null}
      </div>
      {intro ? <p class="soft">{intro}</p> : null}
    </div>
  );
}
