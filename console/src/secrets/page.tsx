import { useState } from 'preact/hooks';
import { ReadsPlot } from '../anomalies/index.ts';
import { call, coffer } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useEnvironment } from '../app/environment.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Facts } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty, Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { SecretValue } from '../ui/secret-value.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { valueTexts } from '../ui/value-texts.ts';
import { DeleteSecret, DescribeSecret, EditSecret } from './changes.tsx';
import { createSecretTexts } from './create-texts.ts';
import { findSecret, type SecretSummary } from './data.ts';
import { fortressSecretTexts } from './fortress-texts.ts';
import { SecretReaders, SecretReads, SecretRisk, VaultReaders } from './insight.tsx';
import { passphraseTexts } from './passphrase-texts.ts';
import { mayBeScheduled, RotateSecret, ScheduleRotation } from './rotation.tsx';
import { secretTexts as texts } from './texts.ts';
import { SecretVersions } from './versions.tsx';

const RaiseProtection = lazyPart(() => import('./raise-protection.tsx'));

export type Opened = 'edit' | 'rotate' | 'delete' | 'describe' | 'schedule' | 'raise';

export default function SecretPage({ vault, path }: { vault: string; path: string }) {
  const found = useLoaded((signal) => findSecret(vault, path, signal), [vault, path]);
  const crumbs = (
    <>
      <a href={href('vaults')}>{texts.vaults}</a>
      <Icon name="chevronRight" />
      <a href={href('vaults', vault)}>{vault}</a>
    </>
  );
  return (
    <WhenLoaded of={found}>
      {({ secret, isZeroKnowledge }) =>
        secret === null ? (
          <>
            <PageHead title={path} crumbs={crumbs} />
            <Empty title={texts.gone}>{texts.goneText}</Empty>
          </>
        ) : (
          <Secret
            key={secret.id}
            vault={vault}
            secret={secret}
            isZeroKnowledge={isZeroKnowledge}
            crumbs={crumbs}
            onChanged={found.reload}
          />
        )
      }
    </WhenLoaded>
  );
}

function Secret({
  vault,
  secret,
  isZeroKnowledge,
  crumbs,
  onChanged,
}: {
  vault: string;
  secret: SecretSummary;
  isZeroKnowledge: boolean;
  crumbs: preact.ComponentChildren;
  onChanged: () => void;
}) {
  const { path } = secret;
  useEnvironment(`${vault}/${path}`, secret.environment);
  const resource = `vault/${vault}/${path}`;
  const may = useMay({
    read: ['secrets:read', resource],
    update: ['secrets:update', resource],
    rotate: ['secrets:rotate', resource],
    delete: ['secrets:delete', resource],
    rollback: ['secrets:rollback', resource],
    audit: ['audit:read', 'audit'],
    anomalies: ['anomalies:read', resource],
    members: ['members:list', `vault/${vault}`],
    whoCan: ['policies:simulate', 'policy'],
    risk: ['secrets:read_metadata', resource],
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const [passphrase, setPassphrase] = useState<string | null>(null);
  const [ownReads, setOwnReads] = useState(0);
  const wasRead = () => setOwnReads((count) => count + 1);
  const close = () => setOpened(null);
  const changed = () => {
    close();
    onChanged();
  };
  const load = async () => {
    if (isZeroKnowledge) return coffer().open(vault, path, { passphrase: passphrase ?? '' });
    const { value } = await call('GET /v1/vaults/{vault}/secrets/{path}', { path: { vault, path } });
    wasRead();
    return value;
  };
  const actions = (
    <>
      {may.rotate && !isZeroKnowledge ? <Button onClick={() => setOpened('rotate')}>{texts.rotate}</Button> : null}
      {may.update ? (
        <Button kind="primary" onClick={() => setOpened('edit')}>
          {texts.edit}
        </Button>
      ) : null}
      {may.delete ? (
        <Button kind="destructive" onClick={() => setOpened('delete')}>
          {texts.delete}
        </Button>
      ) : null}
    </>
  );
  const changes = { vault, secret, onClose: close, onDone: changed };
  return (
    <>
      <PageHead
        title={path}
        crumbs={crumbs}
        actions={actions}
        visit={{ title: path, kind: texts.kind(vault), address: href('vaults', vault, 'secret', path) }}
      />
      <div class="columns">
        <div class="stack">
          {may.read ? (
            <section class="card">
              <h2>{texts.value}</h2>
              {isZeroKnowledge ? <Notice>{texts.sealedNote}</Notice> : null}
              {secret.protection === 'fortress' ? <p class="soft">{texts.fortressNote}</p> : null}
              {isZeroKnowledge && passphrase === null ? (
                <Passphrase onChosen={setPassphrase} />
              ) : (
                <SecretValue key={secret.version} load={load} label={valueTexts.valueOf(path)} />
              )}
            </section>
          ) : null}
          {may.anomalies ? <ReadsPlot resource={resource} isClose={false} maySeeLog={may.audit} /> : null}
          <SecretVersions
            vault={vault}
            secret={secret}
            mayRead={may.read && !isZeroKnowledge}
            mayRollback={may.rollback && !isZeroKnowledge}
            onRead={wasRead}
            onChanged={onChanged}
          />
          {may.audit ? <SecretReads vault={vault} path={path} ownReads={ownReads} /> : null}
        </div>
        <div class="stack">
          <About
            secret={secret}
            mayUpdate={may.update}
            onDescribe={() => setOpened('describe')}
            onSchedule={isZeroKnowledge || !mayBeScheduled(secret) ? null : () => setOpened('schedule')}
            onRaise={isZeroKnowledge || secret.protection === 'fortress' ? null : () => setOpened('raise')}
          />
          <SecretRisk vault={vault} path={path} version={secret.version} />
          {may.whoCan ? <SecretReaders vault={vault} path={path} /> : null}
          {may.members && !may.whoCan ? <VaultReaders vault={vault} /> : null}
        </div>
      </div>
      {opened === 'edit' ? (
        <EditSecret
          {...changes}
          passphrase={isZeroKnowledge ? (passphrase ?? '') : null}
          load={may.read && !(isZeroKnowledge && passphrase === null) ? load : null}
        />
      ) : null}
      {opened === 'rotate' ? <RotateSecret {...changes} /> : null}
      {opened === 'delete' ? <DeleteSecret {...changes} /> : null}
      {opened === 'describe' ? <DescribeSecret {...changes} /> : null}
      {opened === 'raise' ? <RaiseProtection {...changes} /> : null}
      {opened === 'schedule' ? <ScheduleRotation {...changes} /> : null}
    </>
  );
}

function Passphrase({ onChosen }: { onChosen: (passphrase: string) => void }) {
  const [text, setText] = useState('');
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onChosen(text);
      }}
    >
      <TextField
        label={passphraseTexts.passphrase}
        hint={passphraseTexts.hint}
        type="password"
        value={text}
        onInput={setText}
        isRequired
      />
      <div>
        <Button type="submit">{texts.open}</Button>
      </div>
    </form>
  );
}

function About({
  secret,
  mayUpdate,
  onDescribe,
  onSchedule,
  onRaise,
}: {
  secret: SecretSummary;
  mayUpdate: boolean;
  onDescribe: () => void;
  /** Null where the service cannot make values. */
  onSchedule: (() => void) | null;
  /** Null where it is a fortress secret, or cannot become one here. */
  onRaise: (() => void) | null;
}) {
  const { metadata } = secret;
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.about}</h2>
        {mayUpdate ? (
          <Button kind="quiet" isSmall onClick={onDescribe}>
            {texts.metadata}
          </Button>
        ) : null}
      </div>
      {metadata?.description ? <p>{metadata.description}</p> : null}
      <Facts
        of={[
          [texts.version, secret.version],
          [texts.type, createSecretTexts.types[secret.type] ?? secret.type],
          [shared.environment, <EnvironmentBadge environment={secret.environment} />],
          [
            texts.protection,
            <>
              {texts.protections[secret.protection] ?? secret.protection}{' '}
              {mayUpdate && onRaise !== null ? (
                <Button kind="quiet" isSmall onClick={onRaise}>
                  {fortressSecretTexts.raise}
                </Button>
              ) : null}
            </>,
          ],
          [texts.owner, metadata?.owner ?? '–'],
          [
            texts.tags,
            <div class="row">
              {(metadata?.tags ?? []).length === 0 ? '–' : null}
              {(metadata?.tags ?? []).map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
            </div>,
          ],
          [texts.lastRotated, <Time at={secret.rotated_at} none={shared.never} />],
          [
            texts.automatic,
            <>
              {secret.next_rotation === null
                ? texts.automaticOff
                : secret.rotation === null
                  ? texts.automaticOn
                  : texts.automaticEvery(secret.rotation.interval_days)}{' '}
              {mayUpdate && onSchedule !== null ? (
                <Button kind="quiet" isSmall onClick={onSchedule}>
                  {secret.next_rotation === null ? texts.schedule : texts.rescheduleTitle}
                </Button>
              ) : null}
            </>,
          ],
          [texts.rotation, <Time at={secret.next_rotation} none={shared.never} />],
          [shared.updated, <Time at={secret.updated_at} />],
        ]}
      />
    </section>
  );
}
