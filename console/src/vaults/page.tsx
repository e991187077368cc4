import { useState } from 'preact/hooks';
import { useMay } from '../app/capabilities.ts';
import { useEnvironment } from '../app/environment.ts';
import { useLoaded } from '../app/loading.ts';
import { href, place, setQuery } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { membersTexts } from '../grants/index.ts';
import { loadCreateSecret } from '../secrets/index.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { isMissing, MissingPage } from '../ui/when-found.tsx';
import { type GivenFile, useGivenFile } from './given-file.ts';
import { gridTexts } from './grid-texts.ts';
import { loadSecrets, SecretTree } from './secrets.tsx';
import { exportTexts, vaultTexts as texts, vaultsTexts } from './texts.ts';

const CreateSecret = lazyPart(loadCreateSecret);
const ExportVault = lazyPart(() => import('./export.tsx'));
const ImportFile = lazyPart(() => import('./import-file.tsx'));
const SecretGrid = lazyPart(() => import('./grid.tsx'));
const VaultMembers = lazyPart(() => import('./members.tsx'));
const VaultSettings = lazyPart(() => import('./settings.tsx'));

type Part = 'secrets' | 'members' | 'settings';

export default function Vault({ vault }: { vault: string }) {
  const { query } = place.value;
  const isDeleted = query.has('deleted');
  const resource = `vault/${vault}`;
  const may = useMay({
    create: ['secrets:create', `${resource}/example`],
    import: ['secrets:import', resource],
    export: ['secrets:export', `${resource}/example`],
    read: ['secrets:read', `${resource}/example`],
    restore: ['secrets:restore', `${resource}/example`],
    members: ['members:list', resource],
    update: ['vaults:update', resource],
    delete: ['vaults:delete', resource],
  });
  const parts: readonly (readonly [Part, string])[] = [
    ['secrets', membersTexts.secrets],
    ...(may.members ? [['members', membersTexts.members] as const] : []),
    ...(may.update || may.delete ? [['settings', membersTexts.settings] as const] : []),
  ];
  const [part] = parts.find(([name]) => name === query.get('part')) ?? ['secrets'];
  const detail = useCall('GET /v1/vaults/{vault}', { path: { vault } });
  useEnvironment(vault, detail.data?.environment);
  const secrets = useLoaded((signal) => loadSecrets(vault, isDeleted, signal), [vault, isDeleted]);
  const isSealed = detail.data?.is_zero_knowledge ?? true;
  // The service would refuse the file, but only after it was sent.
  const mayImport = may.import && !isSealed;
  const hasValues = !isSealed && !isDeleted && (secrets.data ?? []).length > 0;
  const isTable = query.get('view') === 'table' && !isDeleted && (secrets.data ?? []).length > 0;
  const open = query.get('open');
  const [given, setGiven] = useState<GivenFile | null>(null);
  useGivenFile(mayImport && part === 'secrets', (file) => {
    setGiven(file);
    setQuery({ open: 'import' });
  });
  const close = () => {
    setGiven(null);
    setQuery({ open: null });
  };
  const changed = () => {
    close();
    secrets.reload();
  };
  const actions = (
    <>
      {may.export && may.read && hasValues ? (
        <Button onClick={() => setQuery({ open: 'export' })}>{exportTexts.button}</Button>
      ) : null}
      {mayImport ? <Button onClick={() => setQuery({ open: 'import' })}>{texts.importFile}</Button> : null}
      {may.create ? (
        <Button kind="primary" onClick={() => setQuery({ open: 'new' })}>
          {texts.newSecret}
        </Button>
      ) : null}
    </>
  );
  const crumbs = <a href={href('vaults')}>{vaultsTexts.title}</a>;
  if (isMissing(detail, ['VAULT_NOT_FOUND'])) return <MissingPage title={vault} crumbs={crumbs} texts={texts} />;
  return (
    <>
      <PageHead
        title={vault}
        crumbs={crumbs}
        actions={actions}
        visit={detail.data === null ? null : { title: vault, kind: texts.kind, address: href('vaults', vault) }}
      />
      <WhenLoaded of={detail}>
        {({ environment, description, is_zero_knowledge, tags, your_role, status, approval_id }) => (
          <>
            <div class="row">
              <EnvironmentBadge environment={environment} />
              {is_zero_knowledge ? <Badge tone="accent">{texts.sealed}</Badge> : null}
              {tags.map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
              {your_role === null ? null : (
                <span title={membersTexts.roleMeanings[your_role]}>
                  <Badge>{membersTexts.youAre(membersTexts.roles[your_role])}</Badge>
                </span>
              )}
              <span class="soft">{description}</span>
            </div>
            {status === 'pending_deletion' ? (
              <Notice kind="warning">
                {texts.deletionAsked}{' '}
                {may.delete && approval_id !== null ? (
                  <a href={href('approvals', approval_id)}>{texts.seeRequest}</a>
                ) : null}
              </Notice>
            ) : null}
          </>
        )}
      </WhenLoaded>
      {parts.length === 1 ? null : (
        <Tabs
          label={membersTexts.parts}
          tabs={parts}
          current={part}
          onChange={(name) => setQuery({ part: name === 'secrets' ? null : name })}
        />
      )}
      {part === 'members' && detail.data !== null ? <VaultMembers vault={vault} vaultId={detail.data.id} /> : null}
      {part === 'settings' && detail.data !== null ? (
        <VaultSettings key={detail.data.updated_at} vault={detail.data} onChanged={detail.reload} />
      ) : null}
      {part === 'secrets' ? (
        <WhenLoaded of={secrets}>
          {(list) => (
            <>
              {isDeleted || list.length === 0 ? null : <Views isTable={isTable} />}
              {isTable && detail.data !== null ? (
                <SecretGrid vault={detail.data} secrets={list} onChanged={secrets.reload} />
              ) : (
                <SecretTree
                  key={String(isDeleted)}
                  vault={vault}
                  secrets={list}
                  isDeleted={isDeleted}
                  hasValues={hasValues}
                  emptyText={mayImport ? texts.emptyText : may.create ? texts.emptyWrite : undefined}
                  mayRestore={may.restore}
                  onChanged={changed}
                />
              )}
            </>
          )}
        </WhenLoaded>
      ) : null}
      {open === 'new' && may.create && detail.data !== null ? (
        <CreateSecret vault={detail.data} onClose={close} onDone={changed} />
      ) : null}
      {open === 'import' && mayImport && detail.data !== null ? (
        <ImportFile vault={detail.data} given={given} onClose={close} onDone={changed} />
      ) : null}
      {open === 'export' && may.export && may.read && hasValues ? <ExportVault vault={vault} onClose={close} /> : null}
    </>
  );
}

/** The tree is for finding one, the table for comparing many and doing something to several. */
function Views({ isTable }: { isTable: boolean }) {
  const view = (name: string | null, title: string, isOn: boolean) => (
    <button type="button" aria-pressed={isOn} onClick={() => setQuery({ view: name })}>
      {title}
    </button>
  );
  return (
    <div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend in sight */}
      <div class="segments" role="group" aria-label={gridTexts.views}>
        {view(null, gridTexts.tree, !isTable)}
        {view('table', gridTexts.table, isTable)}
      </div>
    </div>
  );
}
