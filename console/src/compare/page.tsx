import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { mayOne, useMayInSight } from '../app/capabilities.ts';
import { type Action, useAction, useLoaded } from '../app/loading.ts';
import { href, place, setQuery } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { copyForAWhile } from '../ui/clipboard.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, TextArea } from '../ui/field.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty, ErrorNote, Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { type Column, type ComparedRow, comparedRow, type Listed, type VaultSummary } from './data.ts';
import { compareTexts as texts } from './texts.ts';

const AddKeys = lazyPart(() => import('./add.tsx'));

/** Rows that are shown at first, and with each press of the button below them. */
const ROWS = 200;
type Adding = { readonly target: Column; readonly paths: readonly string[] };

/**
 * Which number a value has among the different ones of its path, by vault and path; outdated if it was written after the comparison. The values
 * themselves are not kept.
 */
type Kinds = ReadonlyMap<string, ReadonlyMap<string, number | 'outdated'>>;

export default function ComparePage() {
  const chosen = place.value.query.getAll('vault');
  const vaults = useCall('GET /v1/vaults', { query: { limit: 200 } });
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} />
      <WhenLoaded of={vaults}>
        {({ vaults: list }) => {
          if (list.length < 2) return <Empty title={texts.tooFew}>{texts.tooFewText}</Empty>;
          const selected = list.filter(({ name }) => chosen.includes(name));
          return (
            <>
              <Choice vaults={list} chosen={chosen} />
              {selected.length < 2 ? null : <Comparison key={chosen.join(' ')} vaults={selected} />}
            </>
          );
        }}
      </WhenLoaded>
    </>
  );
}

function Choice({ vaults, chosen }: { vaults: readonly VaultSummary[]; chosen: readonly string[] }) {
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name];
    setQuery(
      { vault: null },
      next.map((each) => ['vault', each]),
    );
  };
  return (
    <fieldset class="card">
      <legend class="visually-hidden">{texts.choose}</legend>
      <p class="soft">{texts.chooseHint}</p>
      <div class="row">
        {vaults.map(({ name, environment }) => (
          <span key={name} class="row">
            <Checkbox label={name} isChecked={chosen.includes(name)} onChange={() => toggle(name)} />
            <EnvironmentBadge environment={environment} />
          </span>
        ))}
      </div>
    </fieldset>
  );
}

function Comparison({ vaults }: { vaults: readonly VaultSummary[] }) {
  const columns = useLoaded((signal) => Promise.all(vaults.map((vault) => loadColumn(vault, signal))), []);
  const [kinds, setKinds] = useState<Kinds | null>(null);
  const [isFiltered, setFiltered] = useState(false);
  const [writing, setWriting] = useState<{ column: Column; path: string } | null>(null);
  const [adding, setAdding] = useState<Adding | null>(null);
  const [rows, setRows] = useState(ROWS);
  const action = useAction();
  const copying = useAction();
  const written = (vault: string, paths: readonly string[]) => {
    setWriting(null);
    setAdding(null);
    setKinds(kinds === null ? null : notCompared(kinds, vault, paths));
    columns.reload();
  };
  const compare = async () => {
    setKinds(await compareValues(vaults.filter(({ is_zero_knowledge }) => !is_zero_knowledge)));
    toast(texts.compared);
  };
  return (
    <WhenLoaded of={columns}>
      {(list) => {
        const paths = [...new Set(list.flatMap(({ secrets }) => [...secrets.keys()]))].toSorted();
        const isMissing = (path: string) => list.some(({ secrets }) => !secrets.has(path));
        const rowOf = (path: string) =>
          comparedRow(
            list.map(({ name, secrets }) =>
              secrets.has(path) ? (kinds?.get(name)?.get(path) ?? 'not read') : 'missing',
            ),
          );
        const isOutdated = (path: string) => rowOf(path).state === 'outdated';
        const shown = isFiltered
          ? paths.filter((path) => isMissing(path) || ['differs', 'outdated'].includes(rowOf(path).state))
          : paths;
        return (
          <>
            {paths.some(isOutdated) ? <Notice>{texts.outdated}</Notice> : null}
            <Controls action={action} compare={compare} isFiltered={isFiltered} setFiltered={setFiltered} />
            {shown.length === 0 ? (
              <Empty title={texts.nothing} />
            ) : (
              <>
                <p class="soft" role="status">
                  {texts.count(shown.length)}
                </p>
                {shown.some((path) => rowOf(path).letters.size > 0) ? <p class="soft">{texts.letters}</p> : null}
                <MissingKeys columns={list} paths={paths} onAdd={setAdding} />
                <ErrorNote error={copying.error} />
                <div class="middle">
                  <Table
                    caption={texts.table}
                    rows={shown.slice(0, rows)}
                    keyOf={(path) => path}
                    columns={[
                      { title: texts.path, cell: (path) => <code>{path}</code> },
                      ...list.map((column) => ({
                        title: column.name,
                        head: (
                          <span class="row">
                            {column.name} <EnvironmentBadge environment={column.environment} />
                          </span>
                        ),
                        cell: (path: string) => (
                          <Cell
                            column={column}
                            path={path}
                            mark={
                              kinds === null ? null : (
                                <Mark row={rowOf(path)} kind={kinds.get(column.name)?.get(path)} />
                              )
                            }
                            action={copying}
                            onAdd={() => setAdding({ target: column, paths: [path] })}
                            onWrite={() => setWriting({ column, path })}
                          />
                        ),
                      })),
                    ]}
                  />
                </div>
                {shown.length <= rows ? null : (
                  <div>
                    <Button onClick={() => setRows(rows + ROWS)}>{shared.more}</Button>
                  </div>
                )}
              </>
            )}
            {writing === null ? null : (
              <Write
                {...writing}
                onClose={() => setWriting(null)}
                onDone={() => written(writing.column.name, [writing.path])}
              />
            )}
            {adding === null ? null : (
              <AddKeys
                {...adding}
                columns={list}
                onClose={() => setAdding(null)}
                onDone={() => written(adding.target.name, adding.paths)}
              />
            )}
          </>
        );
      }}
    </WhenLoaded>
  );
}

function Controls({
  action,
  compare,
  isFiltered,
  setFiltered,
}: {
  action: Action;
  compare: () => Promise<void>;
  isFiltered: boolean;
  setFiltered: (isFiltered: boolean) => void;
}) {
  return (
    <div class="stack">
      <div>
        <Button isBusy={action.isRunning} onClick={() => action.run(compare)}>
          {texts.compareValues}
        </Button>
      </div>
      <p class="soft">{texts.compareText}</p>
      <ErrorNote error={action.error} />
      <Checkbox label={texts.onlyDifferences} isChecked={isFiltered} onChange={setFiltered} />
    </div>
  );
}

/** For each vault that lacks something: a button that adds all of it. */
function MissingKeys({
  columns,
  paths,
  onAdd,
}: {
  columns: readonly Column[];
  paths: readonly string[];
  onAdd: (adding: Adding) => void;
}) {
  const lacking = columns
    .filter(({ mayCreate, is_zero_knowledge }) => mayCreate && !is_zero_knowledge)
    .map((target) => ({ target, paths: paths.filter((path) => !target.secrets.has(path)) }))
    .filter((each) => each.paths.length > 0);
  return lacking.length === 0 ? null : (
    <div class="row">
      {lacking.map(({ target, paths: missing }) => (
        <Button key={target.name} onClick={() => onAdd({ target, paths: missing })}>
          {texts.addMissing(missing.length, target.name)}
        </Button>
      ))}
    </div>
  );
}

function Cell({
  column,
  path,
  mark,
  action,
  onAdd,
  onWrite,
}: {
  column: Column;
  path: string;
  /** How its value compares with the others of the row. */
  mark: ComponentChildren;
  action: Action;
  onAdd: () => void;
  onWrite: () => void;
}) {
  const secret = column.secrets.get(path);
  if (secret === undefined) {
    return (
      <span class="row">
        <Badge tone="warning">{texts.missing}</Badge>
        {column.mayCreate && !column.is_zero_knowledge ? (
          <Button isSmall kind="quiet" onClick={onAdd} label={texts.addTo(path, column.name)}>
            {texts.add}
          </Button>
        ) : null}
      </span>
    );
  }
  return (
    <span class="row">
      <a href={href('vaults', column.name, 'secret', path)}>{texts.version(secret.version)}</a>
      {mark}
      {column.is_zero_knowledge ? null : <CopyValue vault={column.name} path={path} action={action} />}
      {column.mayUpdate && !column.is_zero_knowledge ? (
        <Button isSmall kind="quiet" onClick={onWrite} label={texts.editIn(path, column.name)}>
          {texts.edit}
        </Button>
      ) : null}
    </span>
  );
}

/** A vault whose value could not be read says so where the others are compared. */
function Mark({ row: { state, letters }, kind }: { row: ComparedRow; kind: number | string | undefined }) {
  if (state === 'alone') return null;
  if (state === 'outdated') return <Badge title={texts.outdated}>{texts.notCompared}</Badge>;
  if (state === 'unknown') return <Badge title={texts.unknown}>{texts.notCompared}</Badge>;
  if (typeof kind !== 'number') return <Badge title={texts.notReadText}>{texts.notRead}</Badge>;
  if (state === 'same') return <Badge tone="good">{texts.same}</Badge>;
  const letter = letters.get(kind);
  return (
    <Badge tone="warning" title={letter === undefined ? undefined : texts.letters}>
      {letter === undefined ? texts.differs : texts.differsAs(letter)}
    </Badge>
  );
}

function CopyValue({ vault, path, action }: { vault: string; path: string; action: Action }) {
  const mayRead = useMayInSight(['secrets:read', `vault/${vault}/${path}`]);
  const copy = async () => {
    const { value } = await call('GET /v1/vaults/{vault}/secrets/{path}', { path: { vault, path } });
    await copyForAWhile(value);
  };
  return mayRead ? (
    <Button isSmall kind="quiet" onClick={() => void action.run(copy)} label={texts.copyFrom(path, vault)}>
      {texts.copy}
    </Button>
  ) : null;
}

/** Writes a new version. */
function Write({
  column,
  path,
  onClose,
  onDone,
}: {
  column: Column;
  path: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const [value, setValue] = useState('');
  const submit = async () => {
    const vault = column.name;
    const version = column.secrets.get(path)?.version;
    const body = { value, ...(version !== undefined && { expected_version: version }) };
    await call('PUT /v1/vaults/{vault}/secrets/{path}', { path: { vault, path }, body });
    toast(texts.written(vault, path));
    onDone();
  };
  return (
    <FormDialog title={texts.writeTitle(column.name, path)} submitText={shared.save} onClose={onClose} submit={submit}>
      <TextArea field="value" label={texts.value} value={value} onInput={setValue} isSecret />
    </FormDialog>
  );
}

async function loadColumn(vault: VaultSummary, signal: AbortSignal): Promise<Column> {
  const secrets = await all(async (cursor) => {
    const query = { limit: 1000, ...(cursor && { cursor }) };
    const page = await call('GET /v1/vaults/{vault}/secrets', { path: { vault: vault.name }, query }, { signal });
    return { items: page.secrets, next_cursor: page.next_cursor };
  });
  const example = `vault/${vault.name}/example`;
  const [mayCreate, mayUpdate] = await Promise.all([
    mayOne(['secrets:create', example]),
    mayOne(['secrets:update', example]),
  ]);
  const listed = secrets.map(({ path, version, environment }): [string, Listed] => [path, { version, environment }]);
  return { ...vault, secrets: new Map(listed), mayCreate, mayUpdate };
}

/** The comparison after paths of a vault were written: those values are not known any more. */
function notCompared(kinds: Kinds, vault: string, paths: readonly string[]): Kinds {
  const own = new Map(kinds.get(vault));
  for (const path of paths) own.set(path, 'outdated');
  return new Map(kinds).set(vault, own);
}

/** Reads all values, numbers the different ones of each path, and forgets them. */
async function compareValues(vaults: readonly VaultSummary[]): Promise<Kinds> {
  const seen = new Map<string, string[]>();
  const kinds = new Map<string, Map<string, number>>();
  for (const { name: vault } of vaults) {
    const own = new Map<string, number>();
    const secrets = await all(async (cursor) => {
      const query = { prefix: '', ...(cursor && { cursor }) };
      const page = await call('GET /v1/vaults/{vault}/aggregate', { path: { vault }, query });
      return { items: page.secrets, next_cursor: page.next_cursor };
    });
    for (const { path, value } of secrets) {
      const values = seen.get(path) ?? [];
      if (!values.includes(value)) values.push(value);
      seen.set(path, values);
      own.set(path, values.indexOf(value));
    }
    kinds.set(vault, own);
  }
  return kinds;
}
