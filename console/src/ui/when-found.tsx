import type { ComponentChildren } from 'preact';
import type { Loaded } from '../app/loading.ts';
import { Empty, WhenLoaded } from './notice.tsx';
import { PageHead } from './page-head.tsx';

interface Missing {
  /** The heading while the thing itself is not there to be named. */
  readonly title: string;
  readonly crumbs: ComponentChildren;
  readonly texts: { readonly gone: string; readonly goneText: string };
}

interface Props<T> extends Missing {
  readonly of: Loaded<T>;
  /** The errors that say so, if it is not the usual one. */
  readonly codes?: readonly string[];
  readonly children: (found: T) => ComponentChildren;
}

export function isMissing({ error }: Loaded<unknown>, codes: readonly string[] = ['NOT_FOUND']): boolean {
  return error !== null && codes.includes(error.code);
}

/** A page about something that is not there, or that the person cannot see. */
export function MissingPage({ title, crumbs, texts }: Missing) {
  return (
    <>
      <PageHead title={title} crumbs={crumbs} />
      <Empty title={texts.gone}>{texts.goneText}</Empty>
    </>
  );
}

/** A page about one thing: itself once it is loaded, or that there is no such thing, or why it cannot be shown. */
export function WhenFound<T>({ of, codes, children, ...missing }: Props<T>) {
  if (isMissing(of, codes)) return <MissingPage {...missing} />;
  return (
    <>
      {of.data === null ? <PageHead title={missing.title} crumbs={missing.crumbs} /> : null}
      <WhenLoaded of={of}>{children}</WhenLoaded>
    </>
  );
}
