import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { useMay } from '../capabilities.ts';
import type { ExporterItem } from '../exporters.ts';
import { lazyPart } from '../lazy-part.tsx';
import { useAction, useLoaded } from '../loading.ts';
import { href, navigate } from '../router.ts';
import { exportersTexts as texts } from '../texts/exporters.ts';
import { shared } from '../texts/shared.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { PageHead } from '../ui/layout.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { ExporterStateBadge } from './exporters.tsx';

const EditExporter = lazyPart(() => import('./edit-exporter.tsx'));

export default function Exporter({ id }: { id: string }) {
  const exporter = useLoaded(
    (signal) => call('GET /v1/audit/exporters/{exporter_id}', { path: { exporter_id: id } }, { signal }),
    [id],
  );
  const crumbs = <a href={href('exporters')}>{texts.title}</a>;
  return (
    <WhenFound of={exporter} title={id} crumbs={crumbs} texts={texts}>
      {(found) => <Found exporter={found} crumbs={crumbs} onChanged={exporter.reload} />}
    </WhenFound>
  );
}

interface FoundProps {
  exporter: ExporterItem;
  crumbs: ComponentChildren;
  onChanged: () => void;
}

function Found({ exporter, crumbs, onChanged }: FoundProps) {
  const { id, name, enabled } = exporter;
  const resource = `exporter/${id}`;
  const may = useMay({
    update: ['exporters:update', resource],
    delete: ['exporters:delete', resource],
    test: ['exporters:test', resource],
    replay: ['exporters:replay', resource],
  });
  const [opened, setOpened] = useState<'edit' | 'replay' | 'delete' | null>(null);
  const [tested, setTested] = useState<{ delivered: boolean; message: string; duration_ms: number } | null>(null);
  const testing = useAction();
  const pausing = useAction();
  const path = { exporter_id: id };
  const test = async () => {
    setTested(null);
    setTested(await call('POST /v1/audit/exporters/{exporter_id}/test', { path }));
    onChanged();
  };
  const pause = async () => {
    const answer = await call('PATCH /v1/audit/exporters/{exporter_id}', { path, body: { enabled: !enabled } });
    if (!waitsForApproval(answer)) toast(enabled ? texts.paused(name) : texts.resumed(name));
    onChanged();
  };
  const close = () => setOpened(null);
  const actions = (
    <>
      {may.delete ? <Button onClick={() => setOpened('delete')}>{texts.delete}</Button> : null}
      {may.replay ? <Button onClick={() => setOpened('replay')}>{texts.replay}</Button> : null}
      {may.update ? (
        <Button isBusy={pausing.isRunning} onClick={() => pausing.run(pause)}>
          {enabled ? texts.pause : texts.resume}
        </Button>
      ) : null}
      {may.update ? <Button onClick={() => setOpened('edit')}>{shared.change}</Button> : null}
      {may.test ? (
        <Button kind="primary" isBusy={testing.isRunning} onClick={() => testing.run(test)}>
          {texts.test}
        </Button>
      ) : null}
    </>
  );
  return (
    <>
      <PageHead title={name} crumbs={crumbs} actions={actions} />
      <ErrorNote error={testing.error ?? pausing.error} />
      <div role="status">
        {tested === null ? null : (
          <Notice kind={tested.delivered ? 'good' : 'danger'}>
            {tested.delivered ? texts.testDelivered(tested.duration_ms) : texts.testFailed}
            {tested.delivered ? null : <div>{tested.message}</div>}
          </Notice>
        )}
      </div>
      <Delivery exporter={exporter} />
      <Losses losses={exporter.losses} />
      {opened === 'edit' ? (
        <EditExporter
          exporter={exporter}
          onClose={close}
          onDone={() => {
            close();
            onChanged();
          }}
        />
      ) : null}
      {opened === 'replay' ? <Replay exporter={exporter} onClose={close} onChanged={onChanged} /> : null}
      {opened === 'delete' ? <Delete exporter={exporter} onClose={close} onChanged={onChanged} /> : null}
    </>
  );
}

/** The filter in words, one line for each part. */
function filterLines({ action, decision, vault, actor, resource }: ExporterItem['filter']): string[] {
  const names: Readonly<Record<string, string>> = texts.actions;
  return [
    action === undefined ? '' : `${texts.action}: ${names[action] ?? action}`,
    decision === undefined ? '' : `${texts.decision}: ${texts.decisions[decision]}`,
    vault === undefined ? '' : `${texts.vault}: ${vault}`,
    actor === undefined ? '' : `${texts.actor}: ${actor}`,
    resource === undefined ? '' : `${texts.resource}: ${resource}`,
  ].filter(Boolean);
}

function Delivery({ exporter }: { exporter: ExporterItem }) {
  const filters = filterLines(exporter.filter);
  return (
    <section class="card">
      <h2>{texts.delivery}</h2>
      <dl class="facts">
        <dt>{texts.state}</dt>
        <dd>
          <ExporterStateBadge exporter={exporter} />
        </dd>
        <dt>{texts.lag}</dt>
        <dd>{texts.lagOf(exporter.lag_entries, exporter.lag_seconds)}</dd>
        <dt>{texts.delivered}</dt>
        <dd>{exporter.delivered}</dd>
        <dt>{texts.lost}</dt>
        <dd>{exporter.rejected + exporter.skipped}</dd>
        <dt>{texts.lastSuccess}</dt>
        <dd>
          <Time at={exporter.last_success_at} none={shared.never} />
        </dd>
        <dt>{texts.type}</dt>
        <dd>{texts.types[exporter.type]}</dd>
        <dt>{texts.endpoint}</dt>
        <dd class="mono">{exporter.endpoint}</dd>
        <dt>{texts.format}</dt>
        <dd>{texts.formats[exporter.format]}</dd>
        <dt>{texts.filter}</dt>
        <dd>{filters.length === 0 ? texts.everything : filters.map((line) => <div key={line}>{line}</div>)}</dd>
        <dt>{shared.created}</dt>
        <dd>
          <Time at={exporter.created_at} />
        </dd>
      </dl>
    </section>
  );
}

function Losses({ losses }: Pick<ExporterItem, 'losses'>) {
  if (losses.length === 0) return null;
  return (
    <section class="card">
      <h2>{texts.losses}</h2>
      <p class="soft">{texts.lossesText}</p>
      <Table
        caption={texts.losses}
        rows={losses}
        keyOf={({ from_seq, at }) => `${from_seq} ${at}`}
        columns={[
          {
            title: texts.entries,
            cell: ({ from_seq, to_seq }) => (from_seq === to_seq ? from_seq : `${from_seq} – ${to_seq}`),
          },
          { title: texts.kind, cell: ({ kind }) => texts.kinds[kind] },
          { title: texts.reason, cell: ({ reason }) => reason },
          { title: texts.when, cell: ({ at }) => <Time at={at} /> },
        ]}
      />
    </section>
  );
}

interface ChangeProps {
  exporter: ExporterItem;
  onClose: () => void;
  onChanged: () => void;
}

function Replay({ exporter, onClose, onChanged }: ChangeProps) {
  const action = useAction();
  const [from, setFrom] = useState('');
  const submit = async () => {
    await call('POST /v1/audit/exporters/{exporter_id}/replay', {
      path: { exporter_id: exporter.id },
      body: { from: new Date(from).toISOString() },
    });
    toast(texts.replayed);
    onClose();
    onChanged();
  };
  return (
    <FormDialog
      title={texts.replay}
      action={action}
      submitText={texts.replay}
      isIncomplete={from === ''}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <p>{texts.replayText}</p>
      <TextField
        field="from"
        label={texts.replayFrom}
        type="datetime-local"
        value={from}
        onInput={setFrom}
        isRequired
        isFocused
      />
    </FormDialog>
  );
}

function Delete({ exporter: { id, name }, onClose, onChanged }: ChangeProps) {
  const work = async () => {
    const answer = await call('DELETE /v1/audit/exporters/{exporter_id}', { path: { exporter_id: id } });
    if (waitsForApproval(answer)) {
      onClose();
      onChanged();
    } else {
      toast(texts.deleted(name));
      navigate(href('exporters'));
    }
  };
  return (
    <Confirm title={texts.deleteTitle(name)} submitText={texts.delete} typed={name} work={work} onClose={onClose}>
      {texts.deleteText}
    </Confirm>
  );
}
