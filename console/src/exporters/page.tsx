import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Facts } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import type { ExporterItem } from './data.ts';
import { ExporterStateBadge } from './status.tsx';
import { exportersTexts as texts } from './texts.ts';

const EditExporter = lazyPart(() => import('./edit.tsx'));

export default function Exporter({ id }: { id: string }) {
  const exporter = useCall('GET /v1/audit/exporters/{exporter_id}', { path: { exporter_id: id } });
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
      {may.delete ? (
        <Button kind="destructive" onClick={() => setOpened('delete')}>
          {texts.delete}
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
      <Facts
        of={[
          [texts.state, <ExporterStateBadge exporter={exporter} />],
          [texts.lag, texts.lagOf(exporter.lag_entries, exporter.lag_seconds)],
          [texts.delivered, exporter.delivered],
          [texts.lost, exporter.rejected + exporter.skipped],
          [texts.lastSuccess, <Time at={exporter.last_success_at} none={shared.never} />],
          [texts.type, texts.types[exporter.type]],
          [texts.endpoint, <span class="mono">{exporter.endpoint}</span>],
          [texts.format, texts.formats[exporter.format]],
          [texts.filter, filters.length === 0 ? texts.everything : filters.map((line) => <div key={line}>{line}</div>)],
          [shared.created, <Time at={exporter.created_at} />],
        ]}
      />
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
      submitText={texts.replay}
      isIncomplete={from === ''}
      onClose={onClose}
      submit={submit}
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
