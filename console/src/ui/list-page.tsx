import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Check, mayOne, useMay } from '../capabilities.ts';
import { useLoaded } from '../loading.ts';
import { place, setQuery } from '../router.ts';
import { Button, LinkButton } from './button.tsx';
import { TextField } from './field.tsx';
import { PageHead } from './layout.tsx';
import { Empty, WhenLoaded } from './notice.tsx';
import { NotAllowed, WhenAllowed } from './when-allowed.tsx';

/** A page with a list, and below its address a page for each item, for whoever may see that one. */
export function ListOrItem({
  rest,
  title,
  list,
  check,
  item,
}: {
  rest: readonly string[];
  title: string;
  list: ComponentChildren;
  check: (id: string) => Check;
  item: (id: string) => ComponentChildren;
}) {
  const [id] = rest;
  if (id === undefined) return <>{list}</>;
  return (
    <WhenAllowed key={id} title={title} check={check(id)}>
      {() => item(id)}
    </WhenAllowed>
  );
}

interface ListTexts {
  readonly title: string;
  readonly intro: string;
  readonly create: string;
  readonly empty: string;
  readonly emptyText: string;
}

interface Listed<T> {
  /** Everything that was loaded, also what the search hides. */
  readonly items: readonly T[];
  readonly reload: () => void;
}

interface ListPageProps<T> {
  texts: ListTexts;
  mayList: Check;
  mayCreate: Check;
  load: (signal: AbortSignal) => Promise<readonly T[]>;
  /** Shows only items whose text contains what is typed. */
  search?: { readonly label: string; readonly none: string; readonly textOf: (item: T) => string };
  /** The form that creates one. The address of the list with `?new=1` opens it. */
  form?: (list: Listed<T> & { readonly close: () => void }) => ComponentChildren;
  /** The address of the page that creates one, where it is not a dialog. */
  createAt?: string;
  children: (shown: readonly T[], list: Listed<T>) => ComponentChildren;
}

/** The head of a list, its create button, and the list itself for whoever may see it. An empty list teaches what it is for. */
export function ListPage<T>({ texts, mayList, mayCreate, load, search, form, createAt, children }: ListPageProps<T>) {
  const may = useMay({ create: mayCreate });
  const [word, setWord] = useState('');
  // Nothing is requested for somebody who may not see it, because refusals are audited.
  const loaded = useLoaded(async (signal) => ({ items: (await mayOne(mayList)) ? await load(signal) : null }), []);
  const list = { items: loaded.data?.items ?? [], reload: loaded.reload };
  const create = may.create ? <Create text={texts.create} at={createAt} /> : null;
  const isShown = (item: T) =>
    search === undefined || search.textOf(item).toLowerCase().includes(word.trim().toLowerCase());
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} actions={create} />
      <WhenLoaded of={loaded}>
        {({ items }) => {
          if (items === null) return <NotAllowed action={mayList[0]} />;
          if (items.length === 0) {
            return (
              <Empty title={texts.empty} action={create}>
                {texts.emptyText}
              </Empty>
            );
          }
          const shown = items.filter(isShown);
          return (
            <>
              {search === undefined ? null : (
                <div class="row">
                  <TextField label={search.label} type="search" value={word} onInput={setWord} />
                </div>
              )}
              {shown.length === 0 && search !== undefined ? <Empty title={search.none} /> : children(shown, list)}
            </>
          );
        }}
      </WhenLoaded>
      {form !== undefined && loaded.data !== null && place.value.query.has('new') && may.create
        ? form({ ...list, close: () => setQuery({ new: null }) })
        : null}
    </>
  );
}

function Create({ text, at }: { text: string; at: string | undefined }) {
  if (at !== undefined) {
    return (
      <LinkButton kind="primary" href={at}>
        {text}
      </LinkButton>
    );
  }
  return (
    <Button kind="primary" onClick={() => setQuery({ new: '1' })}>
      {text}
    </Button>
  );
}
