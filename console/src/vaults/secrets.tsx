import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { useMayInSight } from '../app/capabilities.ts';
import { type Action, useAction } from '../app/loading.ts';
import { href, setQuery } from '../app/router.ts';
import { secretTypes } from '../secrets/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { Empty, ErrorNote } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { useIsNarrow } from '../ui/wide.ts';
import { isTyping } from './given-file.ts';
import { RowValue } from './row-value.tsx';
import { type TreeRow, treeRows } from './secret-tree.ts';
import { vaultTexts as texts } from './texts.ts';

const ROW_HEIGHT = 36;
/** The name has two lines, and the buttons stand below it. The style sheet has the same height. */
const NARROW_ROW_HEIGHT = 76;
const INDENT = 18;
const PAGE = 1000;
const SHOWN_MAX = 20_000;

type ListedSecret = Awaited<ReturnType<typeof loadSecrets>>[number];

export function loadSecrets(vault: string, isDeleted: boolean, signal: AbortSignal) {
  return all(async (cursor) => {
    const query = { limit: PAGE, ...(isDeleted && { deleted: true }), ...(cursor && { cursor }) };
    const page = await call('GET /v1/vaults/{vault}/secrets', { path: { vault }, query }, { signal });
    return { items: page.secrets, next_cursor: page.next_cursor };
  }, SHOWN_MAX);
}

/** The secrets of a vault as a tree with a search. With `current`, it stands beside the page of that secret. */
export function SecretTree({
  vault,
  secrets,
  isDeleted,
  hasValues,
  emptyText,
  mayRestore,
  current,
  onChanged,
}: {
  vault: string;
  secrets: readonly ListedSecret[];
  isDeleted: boolean;
  /** Whether the service can read the values. */
  hasValues: boolean;
  /** The first step, for a vault without secrets. */
  emptyText?: string | undefined;
  mayRestore: boolean;
  current?: string;
  onChanged: () => void;
}) {
  const action = useAction();
  const rowHeight = useIsNarrow() ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
  const [filter, setFilter] = useState('');
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(
    () => new Map(current === undefined ? [] : foldersOpen([{ path: current }])),
  );
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event.target)) return;
      event.preventDefault();
      box.current?.querySelector('input')?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const { found, rows } = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return { found: secrets, rows: treeRows(secrets, chosen) };
    const matching = secrets.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)));
    return {
      found: matching,
      rows: treeRows(matching, matching.length <= 500 ? new Map(foldersOpen(matching)) : chosen),
    };
  }, [secrets, filter, chosen]);
  const toggle = (row: TreeRow<ListedSecret>) => {
    if (row.kind === 'folder') setChosen(new Map(chosen).set(row.path, !row.isOpen));
  };
  return (
    <>
      <div class="row between" ref={box}>
        <TextField
          label={texts.filter}
          hint={
            <>
              <span class="keys">{texts.filterKey}</span> {texts.filterHint}
            </>
          }
          type="search"
          value={filter}
          onInput={setFilter}
        />
        {current === undefined ? (
          <Checkbox
            label={texts.showDeleted}
            isChecked={isDeleted}
            onChange={(isChecked) => setQuery({ deleted: isChecked ? '1' : null })}
          />
        ) : null}
      </div>
      {secrets.length === 0 ? (
        <Empty title={isDeleted ? texts.deletedEmpty : texts.empty}>{isDeleted ? null : emptyText}</Empty>
      ) : (
        <>
          <p class="soft" role="status">
            {texts.count(found.length, secrets.length, secrets.length < SHOWN_MAX)}
          </p>
          <ErrorNote error={action.error} />
          <VirtualList
            key={rowHeight}
            label={texts.list}
            items={rows}
            rowHeight={rowHeight}
            keyOf={({ kind, path }) => `${kind} ${path}`}
            shownFirst={current === undefined ? null : `secret ${current}`}
            row={(row) =>
              isDeleted && row.kind === 'secret' ? (
                <DeletedRow vault={vault} row={row} mayRestore={mayRestore} onRestored={onChanged} />
              ) : (
                <Row
                  vault={vault}
                  row={row}
                  isCurrent={row.path === current}
                  action={hasValues ? action : null}
                  onToggle={() => toggle(row)}
                />
              )
            }
          />
        </>
      )}
    </>
  );
}

function foldersOpen(secrets: readonly { readonly path: string }[]): [string, boolean][] {
  return secrets.flatMap(({ path }) => {
    const segments = path.split('/');
    return segments.slice(1).map((_, index): [string, boolean] => [segments.slice(0, index + 1).join('/'), true]);
  });
}

const indent = (depth: number) => ({ paddingLeft: `${12 + depth * INDENT}px` });

function Row({
  vault,
  row,
  isCurrent,
  action,
  onToggle,
}: {
  vault: string;
  row: TreeRow<ListedSecret>;
  isCurrent: boolean;
  /** Null if values cannot be read here. */
  action: Action | null;
  onToggle: () => void;
}) {
  if (row.kind === 'folder') {
    return (
      <div class="tree-row" style={indent(row.depth)}>
        <button type="button" class="tree-toggle" aria-expanded={row.isOpen} onClick={onToggle}>
          {row.isOpen ? '▾' : '▸'} {texts.folder(row.name, row.count)}
        </button>
      </div>
    );
  }
  const { secret } = row;
  return (
    <div class="tree-row" style={indent(row.depth)}>
      <a class="grow" href={href('vaults', vault, 'secret', row.path)} aria-current={isCurrent ? 'page' : undefined}>
        {row.name}
      </a>
      {secret.protection === 'fortress' ? <Badge tone="accent">{texts.fortress}</Badge> : null}
      {secret.risk_score !== null && secret.risk_score >= 50 ? (
        <Badge tone={secret.risk_score >= 75 ? 'danger' : 'warning'}>{texts.risk(secret.risk_score)}</Badge>
      ) : null}
      <span class="soft tree-type">{secretTypes[secret.type] ?? secret.type}</span>
      <span class="soft tree-version">{texts.version(secret.version)}</span>
      <span class="soft tree-time">
        <Time at={secret.updated_at} />
      </span>
      {action === null ? null : (
        <span class="tree-value">
          <Value vault={vault} path={row.path} action={action} />
        </span>
      )}
    </div>
  );
}

function Value({ vault, path, action }: { vault: string; path: string; action: Action }) {
  const mayRead = useMayInSight(['secrets:read', `vault/${vault}/${path}`]);
  const load = async () => (await call('GET /v1/vaults/{vault}/secrets/{path}', { path: { vault, path } })).value;
  return mayRead ? <RowValue name={path} load={load} action={action} /> : null;
}

function DeletedRow({
  vault,
  row,
  mayRestore,
  onRestored,
}: {
  vault: string;
  row: Extract<TreeRow<ListedSecret>, { kind: 'secret' }>;
  mayRestore: boolean;
  onRestored: () => void;
}) {
  const action = useAction();
  const { path, secret } = row;
  const restore = async () => {
    await call('POST /v1/vaults/{vault}/secrets/{path}/restore', {
      path: { vault, path },
      body: { secret_id: secret.id },
    });
    onRestored();
  };
  return (
    <div class="tree-row" style={indent(row.depth)}>
      <span class="grow">{row.name}</span>
      <Time at={secret.deleted_at ?? null} />
      <ErrorNote error={action.error} />
      {mayRestore ? (
        <Button isSmall isBusy={action.isRunning} onClick={() => action.run(restore)}>
          {texts.restore}
        </Button>
      ) : null}
    </div>
  );
}
