import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { type Loaded, useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Facts } from '../ui/facts.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { ConnectionCertificates } from './certificates.tsx';
import type { ConnectionChange } from './changes.tsx';
import { type ConnectionItem, loadLastUses, loadVaultNames, type VaultName } from './data.ts';
import { ConnectionStatus, Proof } from './status.tsx';
import { connectionsTexts, connectionTexts as texts } from './texts.ts';
import type { Reachable } from './use.tsx';

const ConnectionChanges = lazyPart(() => import('./changes.tsx'));
const ConnectionUse = lazyPart(() => import('./use.tsx'));
const Federations = lazyPart(() => import('./federations.tsx'));

/** As many secrets as are shown of what a connection may read. */
const SECRETS_SHOWN = 50;

export default function Connection({ id }: { id: string }) {
  const connection = useCall('GET /v1/app-connections/{connection}', { path: { connection: id } });
  const crumbs = <a href={href('connections')}>{connectionsTexts.title}</a>;
  return (
    <WhenFound of={connection} title={id} crumbs={crumbs} texts={texts}>
      {(found) => <Found connection={found} crumbs={crumbs} onChanged={connection.reload} />}
    </WhenFound>
  );
}

function Found({
  connection,
  crumbs,
  onChanged,
}: {
  connection: ConnectionItem;
  crumbs: ComponentChildren;
  onChanged: () => void;
}) {
  const { id, client_id, name, status, vault } = connection;
  const resource = `app-connection/${client_id}`;
  const may = useMay({
    update: ['app_connections:update', resource],
    delete: ['app_connections:delete', resource],
    rotate: ['app_connections:rotate', resource],
    export: ['app_connections:export', resource],
    revoke: ['app_connections:revoke', resource],
    // Whoever gets its credentials gets what it may reach.
    share: ['members:add', `vault/${vault ?? 'example'}`],
    list: ['app_connections:list', 'app-connection'],
    federations: ['federations:list', resource],
  });
  const [opened, setOpened] = useState<ConnectionChange | null>(null);
  // Counts what may have made another certificate.
  const [changes, setChanges] = useState(0);
  const changed = () => {
    setChanges(changes + 1);
    onChanged();
  };
  const open = (change: ConnectionChange) => () => setOpened(change);
  const reach = useLoaded(
    async (signal) => {
      if (!may.list) return null;
      const query = { client_id, limit: SECRETS_SHOWN };
      return call('GET /app-connections/auto-paths', { query }, { signal });
    },
    [client_id, may.list, changes],
  );
  const vaults = useLoaded(loadVaultNames, [changes]);
  const actions = (
    <>
      {may.update && status === 'active' ? <Button onClick={open('disable')}>{texts.disable}</Button> : null}
      {may.update && status === 'disabled' ? <Button onClick={open('enable')}>{texts.enable}</Button> : null}
      {may.update ? <Button onClick={open('edit')}>{texts.edit}</Button> : null}
      {may.export && may.share ? <Button onClick={open('bundle')}>{texts.bundle}</Button> : null}
      {may.rotate && may.share ? <Button onClick={open('rotate')}>{texts.rotate}</Button> : null}
      {may.delete ? (
        <Button kind="destructive" onClick={open('delete')}>
          {texts.delete}
        </Button>
      ) : null}
    </>
  );
  return (
    <>
      <PageHead title={name} crumbs={crumbs} intro={connection.description} actions={actions} />
      <div class="columns">
        <div class="stack">
          <ConnectionUse connection={connection} vaults={vaults.data ?? []} reach={reach.data} />
          <ConnectionCertificates key={changes} clientId={client_id} mayRevoke={may.revoke} />
          {may.federations ? <Federations connection={connection} /> : null}
        </div>
        <div class="stack">
          <About connection={connection} />
          <Reach connection={connection} vaults={vaults.data ?? []} reach={reach} />
        </div>
      </div>
      {opened === null ? null : (
        <ConnectionChanges
          key={`${id} ${opened}`}
          change={opened}
          connection={connection}
          onClose={() => setOpened(null)}
          onChanged={changed}
        />
      )}
    </>
  );
}

function About({ connection }: { connection: ConnectionItem }) {
  const { client_id, ip_allowlist, concurrent_session_limit: limit, concurrent_session_action: action } = connection;
  const use = useLoaded(async (signal) => ({ uses: await loadLastUses([client_id], signal) }), [client_id]);
  return (
    <section class="card">
      <h2>{texts.about}</h2>
      <Facts
        of={[
          [shared.status, <ConnectionStatus status={connection.status} />],
          [texts.clientId, <span class="mono">{client_id}</span>],
          use.data === null || use.data.uses === null
            ? null
            : [texts.lastUse, <Time at={use.data.uses.get(client_id)} none={connectionsTexts.neverUsed} />],
          [texts.proof, <Proof connection={connection} />],
          [texts.addresses, ip_allowlist === null ? texts.anywhere : ip_allowlist.join(', ')],
          [
            texts.sessions,
            limit === null ? texts.noLimit : `${limit}; ${texts.oneMore} ${connectionsTexts.sessionActions[action]}`,
          ],
          [texts.secretMade, <Time at={connection.client_secret_made_at} />],
          connection.former_client_secret_until === null
            ? null
            : [texts.formerSecret, <Time at={connection.former_client_secret_until} />],
          [shared.created, <Time at={connection.created_at} />],
        ]}
      />
    </section>
  );
}

function Reach({
  connection,
  vaults,
  reach,
}: {
  connection: ConnectionItem;
  vaults: readonly VaultName[];
  reach: Loaded<Reachable>;
}) {
  const { vault_ids, allowed_paths, scopes, environment } = connection;
  const named = vault_ids.flatMap((id) => vaults.find((vault) => vault.id === id) ?? []);
  const unseen = vault_ids.length - named.length;
  const isEverything = allowed_paths.length === 1 && allowed_paths[0] === '*';
  return (
    <section class="card">
      <h2>{texts.reach}</h2>
      <Facts
        of={[
          [
            texts.vaults,
            <>
              {named.map(({ id, name }) => (
                <div key={id}>
                  <a href={href('vaults', name)}>{name}</a>
                </div>
              ))}
              {unseen === 0 ? null : <div class="soft">{connectionsTexts.unseenVaults(unseen)}</div>}
            </>,
          ],
          [
            texts.paths,
            <span class="mono">{isEverything ? connectionsTexts.everyPath : allowed_paths.join(', ')}</span>,
          ],
          [texts.actions, scopes.map((scope) => texts.scopes[scope] ?? scope).join(', ')],
          environment === null ? null : [shared.environment, <EnvironmentBadge environment={environment} />],
        ]}
      />
      {reach.data === null ? null : (
        <>
          <h3>{texts.secretsBelow}</h3>
          {reach.data.paths.length === 0 ? <p class="soft">{texts.noSecrets}</p> : null}
          <ul>
            {reach.data.paths.map((each) => (
              <li key={`${each.vault}/${each.secret}`}>
                <a href={href('vaults', each.vault, 'secret', each.secret)}>{`${each.vault}/${each.secret}`}</a>
              </li>
            ))}
          </ul>
          {reach.data.next_cursor === null ? null : <p class="soft">{texts.moreSecrets}</p>}
        </>
      )}
    </section>
  );
}
