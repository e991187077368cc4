import { useEffect, useState } from 'preact/hooks';
import { call, callForFile } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { place, setQuery } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Checkbox } from '../ui/field.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty, ErrorNote, Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { saveFile } from '../ui/save-file.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { wordsOf } from './actions.ts';
import { actorName, DecisionBadge, type Entry, EntryDetails } from './entry.tsx';
import { FIELDS, type Filter, filterOf } from './filter.ts';
import { ActiveFilters, Filters } from './filters.tsx';
import { QuickFilters } from './quick-filters.tsx';
import { auditTexts as texts } from './texts.ts';

const Histogram = lazyPart<{ filter: Filter; hasLookUps: boolean; onApply: (filter: Filter) => void }>(
  () => import('./histogram.tsx'),
);
const PAGE = 50;
const SHOWN_MAX = 1000;
const LIVE_MS = 3000;
/** A page of the service searches a part of the log. So many are searched before somebody is asked whether to go on. */
const PAGES_SEARCHED = 5;

export default function AuditPage() {
  return (
    <WhenAllowed title={texts.title} check={['audit:read', 'audit']}>
      {() => <Audit />}
    </WhenAllowed>
  );
}

function Audit() {
  const may = useMay({ verify: ['audit:verify', 'audit'] });
  const [isVerifying, setVerifying] = useState(false);
  const [isRefused, setRefused] = useState(false);
  const filter = filterOf(place.value);
  const apply = (next: Filter) => setQuery(Object.fromEntries(FIELDS.map((name) => [name, next[name] ?? null])));
  const key = JSON.stringify(filter);
  const download = useAction();
  const save = async () => {
    const { file } = await callForFile('GET /v1/audit/export', {});
    const name = `audit-${new Date().toISOString().slice(0, 10)}.jsonl`;
    saveFile(name, file);
    toast(texts.downloaded(name));
  };
  return (
    <>
      <PageHead
        title={texts.title}
        intro={texts.intro}
        actions={
          <>
            <Button isBusy={download.isRunning} onClick={() => download.run(save)}>
              {texts.download}
            </Button>
            {may.verify ? <Button onClick={() => setVerifying(true)}>{texts.verify}</Button> : null}
          </>
        }
      />
      <ErrorNote error={download.error} />
      <Filters key={`filters ${key}`} filter={filter} onApply={apply} onRefused={setRefused} />
      {isRefused ? (
        <Empty title={texts.notSearched}>{texts.notSearchedText}</Empty>
      ) : (
        <>
          <QuickFilters filter={filter} onApply={apply} />
          {filter.request_id === undefined ? (
            <Histogram key={`histogram ${key}`} filter={filter} hasLookUps={showsLookUps(filter)} onApply={apply} />
          ) : null}
          <Entries key={`${key} ${showsLookUps(filter)}`} filter={filter} onApply={apply} />
        </>
      )}
      {isVerifying ? <Verification onClose={() => setVerifying(false)} /> : null}
    </>
  );
}

/** Whoever asks for an action or for a request gets all of it. */
const asksForLookUps = (filter: Filter) => filter.action !== undefined || filter.request_id !== undefined;
const showsLookUps = (filter: Filter) => asksForLookUps(filter) || place.value.query.get('look_ups') === 'shown';

function load(filter: Filter, cursor: string | null, signal?: AbortSignal) {
  const { from, to, decision, ...others } = filter;
  const query = {
    ...others,
    ...(from && { from: new Date(from).toISOString() }),
    ...(to && { to: new Date(to).toISOString() }),
    ...(decision && { decision: decision as 'allow' | 'deny' | 'error' }),
    ...(cursor && { cursor }),
    ...(!showsLookUps(filter) && { look_ups: 'exclude' as const }),
    limit: PAGE,
  };
  return call('GET /v1/audit', { query }, signal === undefined ? {} : { signal });
}

/** The next page that has something, unless many in a row have nothing. */
async function search(filter: Filter, cursor: string | null) {
  let page = await load(filter, cursor);
  for (let pages = 1; pages < PAGES_SEARCHED; pages++) {
    if (page.entries.length > 0 || page.next_cursor === null) break;
    page = await load(filter, page.next_cursor);
  }
  return page;
}

function Entries({ filter, onApply }: { filter: Filter; onApply: (filter: Filter) => void }) {
  const action = useAction();
  const [entries, setEntries] = useState<readonly Entry[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [archivedUntil, setArchivedUntil] = useState<string | null>(null);
  const [isLive, setLive] = useState(false);
  const [opened, setOpened] = useState<Entry | null>(null);
  const older = async () => {
    const page = await search(filter, cursor);
    setEntries([...(entries ?? []), ...page.entries]);
    setCursor(page.next_cursor);
    setArchivedUntil(page.archived_until);
  };
  useEffect(() => {
    void action.run(older);
  }, []);
  useEffect(() => {
    if (!isLive) return;
    const controller = new AbortController();
    const timer = setInterval(() => {
      // A poll that fails is tried again with the next one.
      load(filter, null, controller.signal).then(
        (page) => setEntries((shown) => joined(page.entries, shown ?? [])),
        () => {},
      );
    }, LIVE_MS);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [isLive]);
  const isEmpty = entries?.length === 0;
  return (
    <>
      <div class="row switches">
        {asksForLookUps(filter) ? null : (
          <Checkbox
            label={texts.hideLookUps}
            hint={texts.hideLookUpsHint}
            isChecked={!showsLookUps(filter)}
            onChange={(isHidden) => setQuery({ look_ups: isHidden ? null : 'shown' })}
          />
        )}
        <Checkbox label={texts.live} hint={isLive ? texts.liveOn : undefined} isChecked={isLive} onChange={setLive} />
      </div>
      {isEmpty ? null : <ActiveFilters filter={filter} onApply={onApply} />}
      <ErrorNote error={action.error} />
      {entries === null && action.isRunning ? (
        <p class="loading" role="status">
          {shared.loading}
        </p>
      ) : null}
      {isEmpty ? <NoEntries filter={filter} isSearched={cursor === null} onApply={onApply} /> : null}
      {entries === null || isEmpty ? null : <EntryTable entries={entries} onOpen={setOpened} />}
      {cursor === null || (entries?.length ?? 0) >= SHOWN_MAX ? null : (
        <div>
          <Button isBusy={action.isRunning} onClick={() => action.run(older)}>
            {isEmpty ? texts.searchFurther : texts.older}
          </Button>
        </div>
      )}
      {archivedUntil === null ? null : (
        <p class="soft">{texts.archived(new Date(archivedUntil).toLocaleString('en'))}</p>
      )}
      {opened === null ? null : <EntryDetails entry={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

function NoEntries({
  filter,
  isSearched,
  onApply,
}: {
  filter: Filter;
  isSearched: boolean;
  onApply: (filter: Filter) => void;
}) {
  const isFiltered = Object.keys(filter).length > 0;
  const title = !isSearched ? texts.notFurther : isFiltered ? texts.empty : texts.emptyLog;
  return (
    <Empty title={title} action={<ActiveFilters filter={filter} onApply={onApply} />}>
      {!isSearched ? `${texts.notFurtherText} ` : ''}
      {isFiltered ? texts.emptyText : ''}
    </Empty>
  );
}

function EntryTable({ entries, onOpen }: { entries: readonly Entry[]; onOpen: (entry: Entry) => void }) {
  return (
    <Table
      caption={texts.list}
      rows={entries}
      keyOf={({ id }) => id}
      columns={[
        { title: texts.when, cell: ({ timestamp }) => <Time at={timestamp} /> },
        { title: texts.who, cell: (entry) => <div class="breakable">{actorName(entry)}</div> },
        {
          title: texts.what,
          cell: ({ action, resource }) => (
            <>
              <div>{wordsOf(action) ?? <code>{action}</code>}</div>
              <div class="soft resource">{resource}</div>
            </>
          ),
        },
        { title: texts.fields.decision, cell: ({ decision }) => <DecisionBadge decision={decision} /> },
        { title: texts.address, cell: ({ ip }) => <div class="breakable">{ip}</div> },
        {
          title: shared.actions,
          isActions: true,
          cell: (entry) => (
            <Button isSmall onClick={() => onOpen(entry)}>
              {texts.details}
            </Button>
          ),
        },
      ]}
    />
  );
}

function joined(newest: readonly Entry[], shown: readonly Entry[]): Entry[] {
  const known = new Set(shown.map(({ id }) => id));
  return [...newest.filter(({ id }) => !known.has(id)), ...shown].slice(0, SHOWN_MAX);
}

function Verification({ onClose }: { onClose: () => void }) {
  const action = useAction();
  const [result, setResult] = useState<Awaited<ReturnType<typeof verify>> | null>(null);
  const verify = () => call('GET /v1/audit/verify', {});
  return (
    <Dialog title={texts.verifyTitle} onClose={onClose}>
      <p>{texts.verifyText}</p>
      <ErrorNote error={action.error} />
      {result === null ? null : (
        <Notice kind={result.valid ? 'good' : 'danger'}>
          <strong>
            {result.first_broken === null
              ? texts.valid(result.entries)
              : texts.broken(result.first_broken.seq, result.first_broken.reason)}
          </strong>
          <div>{texts.checkpoints(result.checkpoints, result.signed_seq)}</div>
          <div>{texts.rows(result.rows.checked, result.rows.problems_count)}</div>
        </Notice>
      )}
      <div class="dialog-foot">
        <Button onClick={onClose} {...(result !== null && { kind: 'primary' as const })}>
          {shared.close}
        </Button>
        <Button
          {...(result === null && { kind: 'primary' as const })}
          isBusy={action.isRunning}
          onClick={() => action.run(async () => setResult(await verify()))}
        >
          {texts.verify}
        </Button>
      </div>
    </Dialog>
  );
}
