import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isPinned, togglePin, useVisit, type Visit } from '../app/visits.ts';
import { Icon } from './icon.tsx';
import { shared } from './texts.ts';

/** The head of a page. Its title gets the focus when the page is opened, so that screen readers read on from there. */
export function PageHead({
  title,
  crumbs,
  actions,
  intro,
  visit = null,
}: {
  title: ComponentChildren;
  crumbs?: ComponentChildren;
  actions?: ComponentChildren;
  intro?: ComponentChildren;
  /** The page as it is listed among recent ones. It can be pinned then. */
  visit?: Visit | null;
}) {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => ref.current?.focus({ preventScroll: true }), []);
  useVisit(visit);
  return (
    <div class="stack">
      {crumbs ? <div class="crumbs">{crumbs}</div> : null}
      <div class="page-head">
        <div class="page-title">
          <h1 ref={ref} tabIndex={-1}>
            {title}
          </h1>
          {visit === null ? null : <Pin visit={visit} />}
        </div>
        {actions ? <div class="page-actions">{actions}</div> : null}
      </div>
      {intro ? <p class="soft">{intro}</p> : null}
    </div>
  );
}

function Pin({ visit }: { visit: Visit }) {
  const isOn = isPinned(visit.address);
  return (
    <button
      type="button"
      class="icon-button pin"
      aria-pressed={isOn}
      aria-label={shared.pin(visit.title)}
      title={isOn ? shared.unpinHint : shared.pinHint}
      onClick={() => togglePin(visit)}
    >
      <Icon name="star" />
    </button>
  );
}
