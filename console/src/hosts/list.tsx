import { useState } from 'preact/hooks';
import { mayOne, useMay } from '../app/capabilities.ts';
import { loadList } from '../app/load-list.ts';
import { useLoaded } from '../app/loading.ts';
import { href, place, setQuery } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { loadUsers } from '../people/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button, LinkButton } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { AccountKeys, LinkAccount } from './account.tsx';
import type { AccountItem, People } from './data.ts';
import { hostsTexts as texts } from './texts.ts';

const SHOWN_MAX = 1000;

export default function HostsPage() {
  return (
    <WhenAllowed title={texts.title} check={['endpoint_accounts:list', 'endpoint-account/*']}>
      {() => <Hosts />}
    </WhenAllowed>
  );
}

type Part = 'accounts' | 'drift';

function Hosts() {
  const may = useMay({
    drift: ['endpoint_drift:list', 'endpoint-account/*'],
    clusters: ['clusters:create', 'cluster/*'],
  });
  const stats = useCall('GET /endpoint-discovery/stats');
  const part: Part = place.value.query.get('part') === 'drift' && may.drift ? 'drift' : 'accounts';
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} />
      <WhenLoaded of={stats}>
        {({ hosts_scanned, accounts, ssh_keys, drift }) =>
          hosts_scanned === 0 ? (
            <Empty
              title={texts.empty}
              action={
                may.clusters ? (
                  <LinkButton kind="primary" href={`${href('clusters')}?new=1`}>
                    {texts.toClusters}
                  </LinkButton>
                ) : null
              }
            >
              {texts.emptyText}
            </Empty>
          ) : (
            <>
              <dl class="numbers">
                <Figure title={texts.hosts} value={hosts_scanned} />
                <Figure title={texts.accounts} value={accounts} />
                <Figure title={texts.keys} value={ssh_keys} />
                <Figure title={texts.drift} value={drift} />
              </dl>
              {may.drift ? (
                <Tabs
                  label={texts.parts}
                  tabs={[
                    ['accounts', texts.accounts],
                    ['drift', texts.drift],
                  ]}
                  current={part}
                  onChange={(chosen) => setQuery({ part: chosen === 'accounts' ? null : chosen })}
                />
              ) : null}
              {part === 'accounts' ? <Accounts onChanged={stats.reload} /> : <Drift />}
            </>
          )
        }
      </WhenLoaded>
    </>
  );
}

function Figure({ title, value }: { title: string; value: number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{value}</dd>
    </div>
  );
}

async function loadPeople(signal: AbortSignal): Promise<People> {
  if (!(await mayOne(['users:list', 'user']))) return new Map();
  const people = await loadUsers(signal, SHOWN_MAX);
  return new Map(people.map(({ id, email }) => [id, email]));
}

function Accounts({ onChanged }: { onChanged: () => void }) {
  const { query } = place.value;
  const [host, setHost] = useState(query.get('host') ?? '');
  const [username, setUsername] = useState(query.get('username') ?? '');
  const [wanted, setWanted] = useState({ host, username });
  const [opened, setOpened] = useState<{ kind: 'link' | 'keys'; account: AccountItem } | null>(null);
  const may = useMay({ link: ['endpoint_accounts:link', 'endpoint-account/example'] });
  const people = useLoaded(loadPeople, []);
  const accounts = useLoaded(
    (signal) => {
      const query = {
        ...(wanted.host && { host: wanted.host }),
        ...(wanted.username && { username: wanted.username }),
      };
      return loadList('GET /endpoint-discovery/accounts', 'accounts', signal, { query, max: SHOWN_MAX });
    },
    [wanted.host, wanted.username],
  );
  const close = () => setOpened(null);
  const personOf = ({ user_id }: AccountItem) =>
    user_id === null ? <span class="soft">{texts.nobody}</span> : (people.data?.get(user_id) ?? user_id);
  return (
    <>
      <form
        class="row end"
        onSubmit={(event) => {
          event.preventDefault();
          setWanted({ host: host.trim(), username: username.trim() });
        }}
      >
        <TextField label={texts.filterHost} type="search" value={host} onInput={setHost} />
        <TextField label={texts.filterUser} type="search" value={username} onInput={setUsername} />
        <Button type="submit">{texts.filter}</Button>
      </form>
      <WhenLoaded of={accounts}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={texts.none} />
          ) : (
            <Table
              caption={texts.accounts}
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                { title: texts.user, cell: ({ username: name }) => <code>{name}</code> },
                { title: texts.host, cell: ({ hostname, host_id }) => hostname ?? host_id },
                { title: texts.person, cell: personOf },
                { title: texts.flags, cell: ({ flags }) => flags.map((flag) => <Badge key={flag}>{flag}</Badge>) },
                { title: texts.sshKeys, cell: ({ ssh_keys_count }) => ssh_keys_count },
                {
                  title: texts.seen,
                  cell: ({ is_present, last_seen_at }) => (
                    <>
                      <Time at={last_seen_at} /> {is_present ? null : <Badge tone="warning">{texts.gone}</Badge>}
                    </>
                  ),
                },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (account) => (
                    <span class="row">
                      {account.ssh_keys_count > 0 ? (
                        <Button isSmall onClick={() => setOpened({ kind: 'keys', account })}>
                          {texts.details}
                        </Button>
                      ) : null}
                      {may.link ? (
                        <Button isSmall onClick={() => setOpened({ kind: 'link', account })}>
                          {texts.link}
                        </Button>
                      ) : null}
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      {opened?.kind === 'keys' ? <AccountKeys account={opened.account} onClose={close} /> : null}
      {opened?.kind === 'link' ? (
        <LinkAccount
          account={opened.account}
          people={people.data ?? new Map()}
          onClose={close}
          onDone={() => {
            close();
            accounts.reload();
            onChanged();
          }}
        />
      ) : null}
    </>
  );
}

function Drift() {
  const drift = useLoaded(
    (signal) => loadList('GET /endpoint-discovery/drift', 'drift', signal, { max: SHOWN_MAX }),
    [],
  );
  return (
    <WhenLoaded of={drift}>
      {(list) =>
        list.length === 0 ? (
          <Empty title={texts.noDrift}>{texts.noDriftText}</Empty>
        ) : (
          <Table
            caption={texts.drift}
            rows={list.map((each, index) => ({ ...each, index }))}
            keyOf={({ index }) => index}
            columns={[
              { title: texts.driftKind, cell: ({ kind }) => <Badge tone="warning">{texts.driftKinds[kind]}</Badge> },
              { title: texts.host, cell: ({ hostname, host_id }) => hostname ?? host_id ?? '–' },
              { title: texts.user, cell: ({ username }) => (username === null ? '–' : <code>{username}</code>) },
              { title: texts.person, cell: ({ email, user_id }) => email ?? user_id ?? '–' },
              {
                title: texts.key,
                cell: ({ fingerprint_sha256: fingerprint, comment }) => (
                  <>
                    {fingerprint === null ? '–' : <code>{fingerprint}</code>}
                    {comment ? <div class="soft">{comment}</div> : null}
                  </>
                ),
              },
            ]}
          />
        )
      }
    </WhenLoaded>
  );
}
