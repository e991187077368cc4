import type { ComponentChildren } from 'preact';
import { type Inputs, useState } from 'preact/hooks';
import { type Check, mayOne, useMay } from '../app/capabilities.ts';
import { type Loaded, useLoaded } from '../app/loading.ts';
import { place, setQuery } from '../app/router.ts';
import { Button, LinkButton } from './button.tsx';
import { TextField } from './field.tsx';
import { Empty, WhenLoaded } from './notice.tsx';
import { PageHead } from './page-head.tsx';
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
  readonly create?: string;
  readonly empty: string;
  readonly emptyText?: string | undefined;
}

interface Listed<T> {
  /** Everything that was loaded, also what the search hides. */
  readonly items: readonly T[];
  readonly reload: () => void;
}

interface ListPageProps<T> {
  texts: ListTexts;
  /** Left out where everybody may see it, or create one by other means. */
  mayList?: Check;
  mayCreate?: Check;
  load: (signal: AbortSignal) => Promise<readonly T[]>;
  /** The list is loaded again when one of them changes. */
  inputs?: Inputs;
  /** Buttons of the page beside the one that creates. */
  actions?: ComponentChildren;
  /** What narrows the list, above it, also while it is empty. It gets the search field. */
  filters?: (search: ComponentChildren) => ComponentChildren;
  /** Shows only items whose text contains what is typed. */
  search?: { readonly label: string; readonly none: string; readonly textOf: (item: T) => string };
  /** The form that creates one. The address of the list with `?new=1` opens it. */
  form?: (list: Listed<T> & { readonly close: () => void }) => ComponentChildren;
  /** The address of the page that creates one, where it is not a dialog. */
  createAt?: string;
  children: (shown: readonly T[], list: Listed<T>) => ComponentChildren;
}

/** The head of a list, its create button, and the list itself for whoever may see it. An empty list teaches what it is for. */
export function ListPage<T>(props: ListPageProps<T>) {
  const { texts, mayList, mayCreate, load, inputs = [], actions, filters, search, form, createAt, children } = props;
  const may = useMay<string>(mayCreate === undefined ? {} : { create: mayCreate });
  const [word, setWord] = useState('');
  // Nothing is requested for somebody who may not see it, because refusals are audited.
  const loaded = useLoaded(
    async (signal) => ({ items: mayList === undefined || (await mayOne(mayList)) ? await load(signal) : null }),
    inputs,
  );
  const list = { items: loaded.data?.items ?? [], reload: loaded.reload };
  const create = may['create'] && texts.create !== undefined ? <Create text={texts.create} at={createAt} /> : null;
  const field =
    search === undefined ? null : <TextField label={search.label} type="search" value={word} onInput={setWord} />;
  const isShown = (item: T) =>
    search === undefined || search.textOf(item).toLowerCase().includes(word.trim().toLowerCase());
  const show = (items: readonly T[]) => {
    const shown = items.filter(isShown);
    return (
      <>
        {field === null || filters !== undefined ? null : <div class="row">{field}</div>}
        {shown.length === 0 && search !== undefined ? <Empty title={search.none} /> : children(shown, list)}
      </>
    );
  };
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} actions={create ?? actions} />
      {filters?.(field)}
      <WhenLoaded of={loaded}>
        {({ items }) => {
          if (items === null) return <NotAllowed action={mayList?.[0] ?? ''} />;
          return items.length > 0 ? show(items) : <Nothing texts={texts} create={create} />;
        }}
      </WhenLoaded>
      {form !== undefined && !isFirstLoad(loaded) && place.value.query.has('new') && may['create']
        ? form({ ...list, close: () => setQuery({ new: null }) })
        : null}
    </>
  );
}

/** The form waits for the list, whose names it may offer, but not for one that cannot be loaded. */
const isFirstLoad = ({ data, error }: Loaded<unknown>) => data === null && error === null;

/** Where nothing is said about creating one, none is offered. */
function Nothing({ texts, create }: { texts: ListTexts; create: ComponentChildren }) {
  return (
    <Empty title={texts.empty} icon="add" action={texts.emptyText === undefined ? null : create}>
      {texts.emptyText}
    </Empty>
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
