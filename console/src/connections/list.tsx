import { useState } from 'preact/hooks';
import { useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import type { Credentials } from './credentials.tsx';
import { type ConnectionItem, loadConnections, loadLastUses } from './data.ts';
import { ConnectionStatus, Proof } from './status.tsx';
import { connectionsTexts as texts } from './texts.ts';

const CreateConnection = lazyPart(() => import('./create.tsx'));
const ConnectionCredentials = lazyPart(() => import('./credentials.tsx'));

/** Of so many connections the last use is looked up, because each is a search of the audit log. */
const LAST_USES_MAX = 20;

export default function ConnectionList() {
  const [made, setMade] = useState<Credentials | null>(null);
  return (
    <>
      <ListPage
        texts={texts}
        mayList={['app_connections:list', 'app-connection']}
        mayCreate={['app_connections:create', 'app-connection']}
        load={loadConnections}
        search={{ label: texts.filter, none: texts.none, textOf: ({ name }) => name }}
        form={({ close, reload }) => (
          <CreateConnection
            onClose={close}
            onPending={() => {
              close();
              reload();
            }}
            onDone={(credentials) => {
              close();
              setMade(credentials);
            }}
          />
        )}
      >
        {(connections) => <Connections connections={connections} />}
      </ListPage>
      {made === null ? null : (
        <ConnectionCredentials
          credentials={made}
          onClose={() => {
            setMade(null);
            navigate(href('connections', made.id));
          }}
        />
      )}
    </>
  );
}

function Connections({ connections }: { connections: readonly ConnectionItem[] }) {
  const looked = connections.slice(0, LAST_USES_MAX).map(({ client_id }) => client_id);
  const uses = useLoaded((signal) => loadLastUses(looked, signal), [looked.join(' ')]);
  const lastUse: Column<ConnectionItem>[] =
    uses.data === null
      ? []
      : [
          {
            title: texts.lastUse,
            cell: ({ client_id }) =>
              looked.includes(client_id) ? <Time at={uses.data?.get(client_id)} none={texts.neverUsed} /> : null,
          },
        ];
  return (
    <Table
      caption={texts.title}
      rows={connections}
      keyOf={({ id }) => id}
      columns={[
        {
          title: shared.name,
          cell: ({ id, name, description }) => (
            <>
              <a href={href('connections', id)}>{name}</a>
              {description === '' ? null : <div class="soft">{description}</div>}
            </>
          ),
        },
        { title: shared.status, cell: ({ status }) => <ConnectionStatus status={status} /> },
        { title: texts.reaches, cell: (connection) => <Reaches connection={connection} /> },
        { title: texts.proof, cell: (connection) => <Proof connection={connection} /> },
        ...lastUse,
        { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

function Reaches({ connection: { vault, vault_ids, allowed_paths } }: { connection: ConnectionItem }) {
  const isEverything = allowed_paths.length === 1 && allowed_paths[0] === '*';
  return (
    <>
      {vault ?? texts.deletedVault}
      {vault_ids.length > 1 ? ` ${texts.moreVaults(vault_ids.length - 1)}` : null}
      <div class={isEverything ? 'soft' : 'soft mono'}>{isEverything ? texts.everyPath : allowed_paths.join(', ')}</div>
    </>
  );
}
