import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { mayOne, useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { membersTexts as texts } from '../grants/index.ts';
import { loadConnections } from '../people/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';

type Principal = RouteOutput<'POST /v1/policies/who-can'>['principals'][number];

interface Other {
  readonly key: string;
  readonly name: string;
  readonly address: string;
  readonly kind: string;
  readonly reaches: string;
  readonly why: string;
  readonly isOff: boolean;
}

interface Others {
  readonly list: readonly Other[];
  readonly isTruncated: boolean;
  readonly hidden: number;
}

const PAGES = { user: 'people', app_connection: 'connections' } as const;

/** Who reads secrets of the vault without being a member. Asked for when somebody wants to know, because it looks at everybody's rights. */
export default function VaultOthers({ vault, vaultId, groups }: Wanted) {
  const may = useMay(CHECKS);
  const [isShown, setShown] = useState(false);
  if (!may.people && !may.programs) return null;
  return (
    <section class="stack">
      <h2>{texts.others}</h2>
      <p class="soft">{texts.othersIntro}</p>
      {isShown ? (
        <Found vault={vault} vaultId={vaultId} groups={groups} />
      ) : (
        <div>
          <Button onClick={() => setShown(true)}>{texts.showOthers}</Button>
        </div>
      )}
    </section>
  );
}

const CHECKS = {
  people: ['policies:simulate', 'policy'],
  programs: ['app_connections:list', 'app-connection'],
} as const;

interface Wanted {
  readonly vault: string;
  readonly vaultId: string;
  /** The names of the groups that are members. */
  readonly groups: readonly string[];
}

function Found(wanted: Wanted) {
  const others = useLoaded((signal) => loadOthers(wanted, signal), [wanted.vault]);
  return (
    <WhenLoaded of={others}>
      {({ list, isTruncated, hidden }) => (
        <>
          {list.length === 0 ? (
            <Empty title={texts.noOthers}>{hidden === 0 ? texts.noOthersText : null}</Empty>
          ) : (
            <Table
              caption={texts.others}
              rows={list}
              keyOf={({ key }) => key}
              columns={[
                {
                  title: texts.name,
                  cell: ({ name, address, isOff }) => (
                    <>
                      <a href={address}>{name}</a> {isOff ? <Badge>{texts.paused}</Badge> : null}
                    </>
                  ),
                },
                { title: texts.kind, cell: ({ kind }) => kind },
                { title: texts.reaches, cell: ({ reaches }) => reaches },
                { title: texts.why, cell: ({ why }) => why },
              ]}
            />
          )}
          {isTruncated ? <p class="soft">{texts.moreOthers}</p> : null}
          {hidden === 0 ? null : <p class="soft">{texts.hiddenOthers(hidden)}</p>}
        </>
      )}
    </WhenLoaded>
  );
}

async function loadOthers({ vault, vaultId, groups }: Wanted, signal: AbortSignal): Promise<Others> {
  const [maySeePeople, maySeePrograms] = await Promise.all([mayOne(CHECKS.people), mayOne(CHECKS.programs)]);
  const body = { action: 'secrets:read', resource: `vault/${vault}/example` };
  const [allowed, connections] = await Promise.all([
    maySeePeople ? call('POST /v1/policies/who-can', { body }, { signal, isRead: true }) : null,
    maySeePrograms ? loadConnections(signal) : [],
  ]);
  const tied = connections.filter(({ vault_ids }) => vault_ids.includes(vaultId));
  const byConnection = new Set(tied.map(({ client_id }) => client_id));
  const isOther = ({ kind, id, because }: Principal) =>
    !(kind === 'app_connection' && byConnection.has(id)) && because.some((each) => !isMembership(each, groups));
  return {
    list: [
      ...(allowed?.principals ?? []).filter(isOther).map((principal) => otherOf(principal, groups)),
      ...tied.map(({ client_id, name, allowed_paths, status }) => ({
        key: client_id,
        name,
        address: href('connections', client_id),
        kind: texts.program,
        reaches: allowed_paths.join(', '),
        why: texts.because.connection(name),
        isOff: status !== 'active',
      })),
    ],
    isTruncated: allowed?.truncated ?? false,
    hidden: allowed?.hidden ?? 0,
  };
}

/** What the list of members says already. */
function isMembership({ kind, name }: Principal['because'][number], groups: readonly string[]): boolean {
  return kind === 'membership' || (kind === 'group' && groups.includes(name));
}

function otherOf({ kind, id, name, conditional, because }: Principal, groups: readonly string[]): Other {
  const reasons = because
    .filter((each) => !isMembership(each, groups))
    .map((each) => texts.because[each.kind](each.name));
  return {
    key: id,
    name,
    address: href(PAGES[kind], id),
    kind: kind === 'user' ? texts.kinds.user : texts.program,
    reaches: texts.allSecrets,
    why: [...reasons, ...(conditional ? [texts.conditional] : [])].join(', '),
    isOff: false,
  };
}
