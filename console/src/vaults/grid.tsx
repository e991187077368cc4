import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { type Check, useMay } from '../app/capabilities.ts';
import { href } from '../app/router.ts';
import { secretTypes } from '../secrets/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import type { IconName } from '../ui/icon-names.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { useIsNarrow } from '../ui/wide.ts';
import type { ActName } from './grid-acts.tsx';
import {
  chosenAfter,
  filteredRows,
  type GridFilter,
  type GridSecret,
  NO_FILTER,
  RISK_MIN,
  type Sorting,
  type SortKey,
  sortedRows,
  tagsOf,
} from './grid-rows.ts';
import { gridTexts as texts } from './grid-texts.ts';

const GridAct = lazyPart(() => import('./grid-acts.tsx'));

const ROW_HEIGHT = 36;
/** More values than these are a file to import. */
const WRITTEN_MAX = 30;
const HIDDEN = 'coffer-grid-hidden';

interface Column {
  readonly name: keyof typeof texts.titles;
  /** Undefined where a column has no order. */
  readonly sortedBy?: SortKey;
  readonly cell: (secret: GridSecret) => ComponentChildren;
}

const COLUMNS: readonly Column[] = [
  { name: 'type', sortedBy: 'type', cell: ({ type }) => secretTypes[type] ?? type },
  { name: 'tags', cell: (secret) => tagsOf(secret).map((tag) => <Badge key={tag}>{tag}</Badge>) },
  { name: 'owner', sortedBy: 'owner', cell: ({ metadata }) => metadata?.owner ?? '' },
  { name: 'version', sortedBy: 'version', cell: ({ version }) => version },
  { name: 'updated', sortedBy: 'updated', cell: ({ updated_at }) => <Time at={updated_at} /> },
  { name: 'rotation', sortedBy: 'rotation', cell: ({ next_rotation }) => <Time at={next_rotation} none="" /> },
  { name: 'end', sortedBy: 'end', cell: ({ expires_at }) => <Time at={expires_at} none="" /> },
  { name: 'risk', sortedBy: 'risk', cell: ({ risk_score }) => <Risk score={risk_score} /> },
];

interface Props {
  readonly vault: { readonly name: string; readonly environment: string; readonly is_zero_knowledge: boolean };
  readonly secrets: readonly GridSecret[];
  readonly onChanged: () => void;
}

/** The secrets of a vault as rows to sort, filter and choose, for what is done to several of them. */
export default function SecretGrid({ vault, secrets, onChanged }: Props) {
  const [filter, setFilter] = useState(NO_FILTER);
  const [sorting, setSorting] = useState<Sorting>({ by: 'path', isDescending: false });
  const [hidden, setHidden] = useState<ReadonlySet<string>>(() => new Set(storedHidden()));
  const [act, setAct] = useState<ActName | null>(null);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const rows = useMemo(
    () => sortedRows(filteredRows(secrets, filter, Date.now()), sorting),
    [secrets, filter, sorting],
  );
  const columns = useMemo(() => COLUMNS.filter(({ name }) => !hidden.has(name)), [hidden]);
  const choose = (path: string, isRange: boolean) => {
    chosen.value = chosenAfter(chosen.value, rows, { from: isRange ? last.current : null, to: path });
    last.current = path;
  };
  const row = useMemo(
    () => (secret: GridSecret) => (
      <Row vault={vault.name} secret={secret} columns={columns} chosen={chosen} onChoose={choose} />
    ),
    [columns, rows],
  );
  const clear = () => {
    chosen.value = new Set();
  };
  const ofAct = secrets.filter(({ path }) => chosen.value.has(path));
  return (
    <>
      <Filters secrets={secrets} filter={filter} onChange={(changes) => setFilter({ ...filter, ...changes })} />
      <div class="row between">
        <p class="soft" role="status">
          {texts.count(rows.length, secrets.length)}
        </p>
        <ColumnChoice hidden={hidden} onChange={(next) => setHidden(storeHidden(next))} />
      </div>
      {rows.length === 0 ? (
        <Empty title={texts.none} action={<Button onClick={() => setFilter(NO_FILTER)}>{texts.clear}</Button>}>
          {texts.noneText(secrets.length)}
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: keys move between the checkboxes in it
        <div class="grid-box" onKeyDown={(event) => onGridKey(event, clear)}>
          {chosen.value.size === 0 ? null : (
            <Acts vault={vault} count={chosen.value.size} onAct={setAct} onClear={clear} />
          )}
          <Head rows={rows} columns={columns} sorting={sorting} chosen={chosen} onSort={setSorting} />
          <VirtualList
            key={`${sorting.by} ${sorting.isDescending} ${JSON.stringify(filter)}`}
            label={texts.list}
            items={rows}
            rowHeight={ROW_HEIGHT}
            keyOf={({ path }) => path}
            row={row}
          />
        </div>
      )}
      <p class="soft keys">{texts.keys}</p>
      {act === null ? null : (
        <GridAct
          act={act}
          vault={vault}
          secrets={ofAct}
          onClose={() => setAct(null)}
          onDone={() => {
            setAct(null);
            clear();
            onChanged();
          }}
        />
      )}
    </>
  );
}

function Filters({
  secrets,
  filter,
  onChange,
}: {
  secrets: readonly GridSecret[];
  filter: GridFilter;
  onChange: (changes: Partial<GridFilter>) => void;
}) {
  const types = [...new Set(secrets.map(({ type }) => type))].toSorted();
  const tags = [...new Set(secrets.flatMap(tagsOf))].toSorted();
  const any = ['', texts.any] as const;
  const isFolded = useIsNarrow();
  const fields = (
    <section class="filters" aria-label={texts.filters}>
      <TextField label={texts.path} type="search" value={filter.path} onInput={(path) => onChange({ path })} />
      <Select
        label={texts.type}
        value={filter.type}
        onChange={(type) => onChange({ type })}
        choices={[any, ...types.map((type) => [type, secretTypes[type] ?? type] as const)]}
      />
      <Select
        label={texts.tag}
        value={filter.tag}
        onChange={(tag) => onChange({ tag })}
        choices={[any, ...tags.map((tag) => [tag, tag] as const)]}
      />
      <Select
        label={texts.age}
        value={filter.age}
        onChange={(age) => onChange({ age })}
        choices={[any, ...Object.entries(texts.ages)]}
      />
      <Select
        label={texts.need}
        value={filter.need}
        onChange={(need) => onChange({ need })}
        choices={Object.entries(texts.needs) as [GridFilter['need'], string][]}
      />
    </section>
  );
  if (!isFolded) return fields;
  return (
    <details>
      <summary>{texts.filters}</summary>
      {fields}
    </details>
  );
}

function ColumnChoice({
  hidden,
  onChange,
}: {
  hidden: ReadonlySet<string>;
  onChange: (hidden: ReadonlySet<string>) => void;
}) {
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  return (
    <details class="column-choice">
      <summary>{texts.columns}</summary>
      <div class="row">
        {COLUMNS.map(({ name }) => (
          <Checkbox key={name} label={texts.titles[name]} isChecked={!hidden.has(name)} onChange={() => toggle(name)} />
        ))}
      </div>
    </details>
  );
}

function storedHidden(): string[] {
  return (localStorage.getItem(HIDDEN) ?? 'owner end').split(' ').filter(Boolean);
}

function storeHidden(hidden: ReadonlySet<string>): ReadonlySet<string> {
  localStorage.setItem(HIDDEN, [...hidden].join(' '));
  return hidden;
}

function Head({
  rows,
  columns,
  sorting,
  chosen,
  onSort,
}: {
  rows: readonly GridSecret[];
  columns: readonly Column[];
  sorting: Sorting;
  chosen: Signal<ReadonlySet<string>>;
  onSort: (sorting: Sorting) => void;
}) {
  const isAll = rows.every(({ path }) => chosen.value.has(path));
  const sorted = (by: SortKey, title: string) => {
    const isOwn = sorting.by === by;
    return (
      <button
        type="button"
        aria-label={texts.sortBy(title, isOwn ? sorting.isDescending : null)}
        onClick={() => onSort({ by, isDescending: isOwn && !sorting.isDescending })}
      >
        {title}
        {isOwn ? <Icon name={sorting.isDescending ? 'chevronDown' : 'chevronUp'} /> : null}
      </button>
    );
  };
  return (
    <div class="grid-row grid-head">
      <input
        type="checkbox"
        class="tick"
        aria-label={texts.chooseAll}
        checked={isAll}
        onChange={() => {
          chosen.value = new Set(isAll ? [] : rows.map(({ path }) => path));
        }}
      />
      <span class="grid-path">{sorted('path', texts.titles.path)}</span>
      {columns.map(({ name, sortedBy }) => (
        <span key={name} class={`grid-cell ${name}`}>
          {sortedBy === undefined ? texts.titles[name] : sorted(sortedBy, texts.titles[name])}
        </span>
      ))}
    </div>
  );
}

function Row({
  vault,
  secret,
  columns,
  chosen,
  onChoose,
}: {
  vault: string;
  secret: GridSecret;
  columns: readonly Column[];
  chosen: Signal<ReadonlySet<string>>;
  onChoose: (path: string, isRange: boolean) => void;
}) {
  const { path } = secret;
  const isChosen = chosen.value.has(path);
  return (
    <div class={isChosen ? 'grid-row chosen' : 'grid-row'}>
      <input
        type="checkbox"
        class="tick"
        data-row
        aria-label={texts.choose(path)}
        checked={isChosen}
        onClick={(event) => onChoose(path, event.shiftKey)}
      />
      <a class="grid-path mono" href={href('vaults', vault, 'secret', path)} title={path}>
        {path}
      </a>
      {columns.map(({ name, cell }) => (
        <span key={name} class={`grid-cell ${name}`}>
          {cell(secret)}
        </span>
      ))}
    </div>
  );
}

function Risk({ score }: { score: number | null }) {
  if (score === null) return null;
  if (score < RISK_MIN) return <span>{score}</span>;
  return <Badge tone={score >= 75 ? 'danger' : 'warning'}>{score}</Badge>;
}

/** Arrow keys move from row to row, and Escape chooses none. */
function onGridKey(event: KeyboardEvent & { currentTarget: HTMLElement }, clear: () => void): void {
  if (event.key === 'Escape') clear();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const { activeElement } = document;
  if (step === undefined || !activeElement?.matches('[data-row]')) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-row]')];
  const next = rows[rows.indexOf(activeElement as HTMLElement) + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}

const ICONS: Readonly<Record<ActName, IconName>> = {
  write: 'edit',
  rotate: 'rotate',
  tag: 'tag',
  copy: 'copy',
  move: 'move',
  delete: 'delete',
};

/** What can be done to what is chosen; what destroys stands last. */
function Acts({
  vault: { name, is_zero_knowledge },
  count,
  onAct,
  onClear,
}: {
  vault: Props['vault'];
  count: number;
  onAct: (act: ActName) => void;
  onClear: () => void;
}) {
  const on = (action: string): Check => [`secrets:${action}`, `vault/${name}/example`];
  const may = useMay({
    write: ['secrets:import', `vault/${name}`],
    rotate: on('rotate'),
    tag: on('update'),
    copy: on('copy'),
    move: on('move'),
    delete: on('delete'),
  });
  // What would need a value sealed anew for each is done one by one.
  const isOffered = (act: ActName) =>
    may[act] && !(is_zero_knowledge && act !== 'delete') && !(act === 'write' && count > WRITTEN_MAX);
  return (
    <div class="grid-acts row">
      <strong role="status">{texts.chosen(count)}</strong>
      {(Object.keys(ICONS) as ActName[]).filter(isOffered).map((act) => (
        <Button
          key={act}
          isSmall
          {...(act === 'delete' && { kind: 'destructive' as const })}
          onClick={() => onAct(act)}
        >
          <Icon name={ICONS[act]} />
          {texts.acts[act]}
        </Button>
      ))}
      <Button kind="quiet" isSmall onClick={onClear}>
        {texts.clearChoice}
      </Button>
    </div>
  );
}
