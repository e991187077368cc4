import { useState } from 'preact/hooks';
import { call, callForFile } from '../app/api.ts';
import { useLoaded } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { saveFile } from '../ui/save-file.ts';
import { ShownOnce } from '../ui/shown-once.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import ConnectionCredentials, { type Credentials } from './credentials.tsx';
import { type ConnectionItem, fileNameOf, loadVaultNames, type VaultName } from './data.ts';
import { ConnectionFields, draftOf, fieldsOf, isComplete } from './fields.tsx';
import { credentialsTexts, connectionTexts as texts } from './texts.ts';

export type ConnectionChange = 'edit' | 'rotate' | 'bundle' | 'disable' | 'enable' | 'delete';

interface Props {
  connection: ConnectionItem;
  onClose: () => void;
  onChanged: () => void;
}

export default function ConnectionChanges({ change, ...props }: Props & { change: ConnectionChange }) {
  switch (change) {
    case 'edit':
      return <Edit {...props} />;
    case 'rotate':
      return <Rotate {...props} />;
    case 'bundle':
      return <Bundle {...props} />;
    case 'delete':
      return <Delete {...props} />;
    default:
      return <SetStatus {...props} isEnabled={change === 'enable'} />;
  }
}

/** The form opens once the vaults are known, so that those of the connection can be named. */
function Edit(props: Props) {
  const vaults = useLoaded(loadVaultNames, []);
  if (vaults.data !== null) return <EditForm {...props} known={vaults.data} />;
  if (vaults.error === null) return null;
  return (
    <Dialog title={texts.editTitle(props.connection.name)} onClose={props.onClose}>
      <ErrorNote error={vaults.error} retry={vaults.reload} />
    </Dialog>
  );
}

function EditForm({ connection, known, onClose, onChanged }: Props & { known: readonly VaultName[] }) {
  const [draft, setDraft] = useState(() => draftOf(connection, known));
  const unseen = connection.vault_ids.filter((id) => !known.some((vault) => vault.id === id));
  const submit = async () => {
    // Only what differs is sent: an extension of its access may need a second person.
    const body = Object.fromEntries(
      Object.entries(fieldsOf(draft, known, unseen)).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(connection[name as keyof ConnectionItem]),
      ),
    );
    const answer = await call('PATCH /v1/app-connections/{connection}', {
      path: { connection: connection.client_id },
      body,
    });
    if (!waitsForApproval(answer)) toast(texts.saved);
    onClose();
    onChanged();
  };
  return (
    <FormDialog
      title={texts.editTitle(connection.name)}
      submitText={shared.save}
      isIncomplete={!isComplete(draft, known, unseen)}
      onClose={onClose}
      submit={submit}
    >
      <TextField
        field="name"
        label={shared.name}
        value={draft.name}
        onInput={(name) => setDraft({ ...draft, name })}
        isRequired
        isMono
      />
      <ConnectionFields draft={draft} known={known} unseen={unseen} onChange={setDraft} />
    </FormDialog>
  );
}

type Overlap = keyof typeof texts.overlaps;
const OVERLAPS: readonly Overlap[] = ['3600', '86400', '604800', '0'];
/** Long enough to deploy the new ones everywhere. */
const OVERLAP_DEFAULT: Overlap = '86400';

function Rotate({ connection, onClose, onChanged }: Props) {
  const form = useForm({
    hasSecret: true,
    hasCertificate: connection.mtls_required,
    overlap: OVERLAP_DEFAULT as Overlap,
  });
  const { hasSecret, hasCertificate, overlap } = form.values;
  const [made, setMade] = useState<Credentials | null>(null);
  const isOwnCertificate = connection.external_ca_pem === null;
  const submit = async () => {
    const rotated = await call('POST /v1/app-connections/{connection}/rotate', {
      path: { connection: connection.client_id },
      body: {
        overlap_seconds: Number(overlap),
        ...(hasSecret && { client_secret: true }),
        ...(hasCertificate && { certificate: true }),
      },
    });
    setMade({ ...rotated, name: connection.name, mtls_required: connection.mtls_required });
    onChanged();
  };
  if (made !== null) return <ConnectionCredentials credentials={made} onClose={onClose} />;
  return (
    <FormDialog
      title={texts.rotateTitle}
      submitText={texts.rotateNow}
      isDanger={overlap === '0'}
      isIncomplete={!hasSecret && !hasCertificate}
      onClose={onClose}
      submit={submit}
    >
      <Checkbox label={texts.rotateSecret} {...form.check('hasSecret', null)} />
      {isOwnCertificate ? <Checkbox label={texts.rotateCertificate} {...form.check('hasCertificate', null)} /> : null}
      <Select
        label={texts.overlap}
        hint={overlap === '0' ? texts.overlapNone : texts.overlapSome}
        {...form.choice('overlap', 'overlap_seconds')}
        choices={OVERLAPS.map((each) => [each, texts.overlaps[each]] as const)}
      />
    </FormDialog>
  );
}

function Bundle({ connection, onClose, onChanged }: Props) {
  const [password, setPassword] = useState<string | null>(null);
  const submit = async () => {
    const { file, header } = await callForFile('POST /app-connections/{connection}/export-zip', {
      path: { connection: connection.client_id },
      body: {},
    });
    saveFile(`${fileNameOf(connection.name)}.zip`, file);
    setPassword(header('x-archive-password') ?? '');
    onChanged();
  };
  if (password !== null) {
    return (
      <ShownOnce
        title={credentialsTexts.archiveTitle}
        label={credentialsTexts.archivePassword}
        value={password}
        onClose={onClose}
      >
        <p>{credentialsTexts.archiveText}</p>
      </ShownOnce>
    );
  }
  return (
    <FormDialog title={texts.bundle} submitText={texts.bundleDownload} onClose={onClose} submit={submit}>
      <p>{texts.bundleText}</p>
    </FormDialog>
  );
}

function SetStatus({ connection, isEnabled, onClose, onChanged }: Props & { isEnabled: boolean }) {
  const { name, client_id } = connection;
  const work = async () => {
    const answer = await call('PATCH /v1/app-connections/{connection}', {
      path: { connection: client_id },
      body: { status: isEnabled ? 'active' : 'disabled' },
    });
    if (!waitsForApproval(answer)) toast(isEnabled ? texts.enabled(name) : texts.disabled(name));
    onClose();
    onChanged();
  };
  const title = isEnabled ? texts.enable : texts.disable;
  return (
    <Confirm title={`${title} ${name}`} submitText={title} isDanger={!isEnabled} work={work} onClose={onClose}>
      {isEnabled ? texts.enableText : texts.disableText}
    </Confirm>
  );
}

function Delete({ connection: { name, client_id }, onClose }: Props) {
  const work = async () => {
    await call('DELETE /v1/app-connections/{connection}', { path: { connection: client_id } });
    toast(texts.deleted(name));
    navigate(href('connections'));
  };
  return (
    <Confirm title={texts.deleteTitle(name)} submitText={texts.delete} typed={name} work={work} onClose={onClose}>
      {texts.deleteText}
    </Confirm>
  );
}
