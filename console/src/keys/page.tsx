import type { RouteOutput } from '@coffer/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Examples } from '../ui/examples.tsx';
import { TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { keyExamples } from './example-texts.ts';
import { keysTexts as texts } from './texts.ts';
import { TryKey } from './try.tsx';

type Key = RouteOutput<'GET /eaas/keys/{name}'>;

export default function EncryptionKey({ name }: { name: string }) {
  const key = useCall('GET /eaas/keys/{name}', { path: { name } });
  const crumbs = <a href={href('keys')}>{texts.title}</a>;
  return (
    <WhenFound of={key} title={name} crumbs={crumbs} texts={texts}>
      {(found) => <Found found={found} crumbs={crumbs} onChanged={key.reload} />}
    </WhenFound>
  );
}

function Found({ found, crumbs, onChanged }: { found: Key; crumbs: ComponentChildren; onChanged: () => void }) {
  const { name, delete_protection, status } = found;
  const resource = `eaas/${name}`;
  const may = useMay({
    update: ['eaas:update', resource],
    rotate: ['eaas:rotate', resource],
    delete: ['eaas:delete', resource],
    encrypt: ['eaas:encrypt', resource],
    decrypt: ['eaas:decrypt', resource],
  });
  const [opened, setOpened] = useState<'rotate' | 'delete' | null>(null);
  const protecting = useAction();
  const protect = async () => {
    const body = { delete_protection: !delete_protection };
    await call('PATCH /eaas/keys/{name}', { path: { name }, body });
    toast(delete_protection ? texts.unprotectedNow(name) : texts.protectedNow(name));
    onChanged();
  };
  const done = () => {
    setOpened(null);
    onChanged();
  };
  const actions = (
    <>
      {may.update ? (
        <Button isBusy={protecting.isRunning} onClick={() => protecting.run(protect)}>
          {delete_protection ? texts.unprotect : texts.protect}
        </Button>
      ) : null}
      {may.rotate ? (
        <Button kind="primary" onClick={() => setOpened('rotate')}>
          {texts.rotate}
        </Button>
      ) : null}
      {may.delete && !delete_protection && status === 'active' ? (
        <Button kind="destructive" onClick={() => setOpened('delete')}>
          {texts.delete}
        </Button>
      ) : null}
    </>
  );
  return (
    <>
      <PageHead title={name} crumbs={crumbs} intro={found.description} actions={actions} />
      <ErrorNote error={protecting.error} />
      <div class="row">
        {delete_protection ? <Badge tone="good">{texts.protected}</Badge> : null}
        {status === 'pending_approval' ? <Badge tone="warning">{texts.pending}</Badge> : null}
      </div>
      <div class="columns">
        <div class="stack">
          {may.encrypt || may.decrypt ? <TryKey name={name} mayEncrypt={may.encrypt} mayDecrypt={may.decrypt} /> : null}
          <section class="card">
            <h2>{texts.use}</h2>
            <Examples label={texts.use} examples={keyExamples(location.origin, name)} />
          </section>
        </div>
        <section class="card">
          <h2>{texts.versions}</h2>
          <Table
            caption={texts.versions}
            rows={[...found.versions].sort((a, b) => b.version - a.version)}
            keyOf={({ version }) => version}
            columns={[
              { title: texts.version, cell: ({ version }) => version },
              { title: texts.made, cell: ({ created_at }) => <Time at={created_at} /> },
            ]}
          />
        </section>
      </div>
      {opened === 'rotate' ? <Rotate name={name} onClose={() => setOpened(null)} onDone={done} /> : null}
      {opened === 'delete' ? <Delete name={name} onClose={() => setOpened(null)} onDone={done} /> : null}
    </>
  );
}

interface ChangeProps {
  name: string;
  onClose: () => void;
  onDone: () => void;
}

function Rotate({ name, onClose, onDone }: ChangeProps) {
  const [reason, setReason] = useState('');
  const submit = async () => {
    const body = reason.trim() === '' ? {} : { reason: reason.trim() };
    const { version } = await call('POST /eaas/keys/{name}/rotate', { path: { name }, body });
    toast(texts.rotatedTo(version));
    onDone();
  };
  return (
    <FormDialog title={texts.rotate} submitText={texts.rotate} onClose={onClose} submit={submit}>
      <p>{texts.rotateText}</p>
      <TextField
        field="reason"
        label={texts.reason}
        hint={texts.reasonHint}
        value={reason}
        onInput={setReason}
        isFocused
      />
    </FormDialog>
  );
}

function Delete({ name, onClose, onDone }: ChangeProps) {
  const form = useForm({ typed: '', reason: '' });
  const { typed, reason } = form.values;
  const submit = async () => {
    const answer = await call('DELETE /eaas/keys/{name}', { path: { name }, body: { reason } });
    if (waitsForApproval(answer)) onDone();
    else {
      toast(texts.deleted(name));
      navigate(href('keys'));
    }
  };
  return (
    <FormDialog
      title={texts.deleteTitle(name)}
      submitText={texts.delete}
      isDanger
      isIncomplete={typed !== name}
      onClose={onClose}
      submit={submit}
    >
      <p>{texts.deleteText}</p>
      <TextField label={texts.reason} hint={texts.deleteReasonHint} {...form.text('reason')} isRequired isFocused />
      <TextField label={shared.typeToConfirm(name)} {...form.text('typed', null)} isRequired isMono />
    </FormDialog>
  );
}
