import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { asCofferError } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { messageOf } from '../ui/field-problems.ts';
import { Notice } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { type GridSecret, tagsOf } from './grid-rows.ts';
import { gridTexts as texts } from './grid-texts.ts';

export type ActName = keyof typeof texts.acts;

interface ActProps {
  readonly vault: { readonly name: string; readonly environment: string };
  readonly secrets: readonly GridSecret[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface Failure {
  readonly path: string;
  readonly message: string;
}

export default function GridAct({ act, ...props }: ActProps & { act: ActName }) {
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  if (failures.length > 0) return <Failures {...props} failures={failures} />;
  if (act === 'write') return <WriteValues {...props} />;
  return <EachOne {...props} act={act} onFailed={setFailures} />;
}

/** What could not be done, each with the reason. All others are done. */
function Failures({ secrets, failures, onDone }: ActProps & { failures: readonly Failure[] }) {
  return (
    <Dialog title={texts.failed(failures.length, secrets.length)} onClose={onDone}>
      <Notice kind="danger">
        <ul>
          {failures.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code>: {message}
            </li>
          ))}
        </ul>
      </Notice>
      <div class="dialog-foot">
        <Button kind="primary" onClick={onDone}>
          {shared.close}
        </Button>
      </div>
    </Dialog>
  );
}

/** Several values with one save: the service writes all of them or none. */
function WriteValues({ vault, secrets, onClose, onDone }: ActProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const written = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const count = Object.keys(written).length;
  const submit = async () => {
    const environment = vault.environment === 'production' ? { environment: 'production' as const } : {};
    const body = { secrets: written, on_existing: 'update' as const, ...environment };
    await call('POST /v1/vaults/{vault}/import', { path: { vault: vault.name }, body });
    toast(texts.done(count));
    onDone();
  };
  return (
    <FormDialog
      title={texts.title.write(secrets.length)}
      submitText={shared.save}
      isIncomplete={count === 0}
      isWide
      onClose={onClose}
      submit={submit}
    >
      <p class="soft">{texts.writeText}</p>
      {secrets.map(({ path }) => (
        <TextArea
          key={path}
          label={path}
          value={values[path] ?? ''}
          onInput={(value) => setValues((known) => ({ ...known, [path]: value }))}
          rows={1}
          isSecret
        />
      ))}
    </FormDialog>
  );
}

interface Choices {
  readonly tag: string;
  readonly to: string;
  readonly folder: string;
}

type EachAct = Exclude<ActName, 'write'>;

/** One request for each secret, one after the other, so that each is decided, limited and recorded as if it were alone. */
function EachOne({
  act,
  vault,
  secrets,
  onClose,
  onDone,
  onFailed,
}: ActProps & { act: EachAct; onFailed: (failures: readonly Failure[]) => void }) {
  const [choices, setChoices] = useState<Choices>({ tag: '', to: vault.name, folder: '' });
  const [done, setDone] = useState<number | null>(null);
  const set = (changes: Partial<Choices>) => setChoices((known) => ({ ...known, ...changes }));
  const work = async () => {
    const failures: Failure[] = [];
    let waiting = 0;
    for (const [index, secret] of secrets.entries()) {
      setDone(index);
      try {
        if (waitsForApproval(await request(act, { vault: vault.name, secret, choices }))) waiting++;
      } catch (error) {
        failures.push({ path: secret.path, message: messageOf(asCofferError(error)) });
      }
    }
    setDone(null);
    const count = secrets.length - failures.length - waiting;
    if (count > 0) toast(texts.done(count));
    if (waiting > 0) toast(texts.waiting(waiting));
    if (failures.length > 0) onFailed(failures);
    else onDone();
  };
  const progress = <span role="status">{done === null ? null : texts.progress(done, secrets.length)}</span>;
  const title = texts.title[act](secrets.length);
  if (act === 'delete' || act === 'rotate') {
    return (
      <Confirm
        title={title}
        submitText={texts.acts[act]}
        isDanger={act === 'delete'}
        {...(vault.environment === 'production' && { typed: vault.name, production: vault.name })}
        work={work}
        onClose={onClose}
      >
        {act === 'delete' ? texts.deleteText : texts.rotateText} {progress}
      </Confirm>
    );
  }
  return (
    <FormDialog title={title} submitText={texts.acts[act]} onClose={onClose} submit={work}>
      {act === 'tag' ? (
        <TextField label={texts.newTag} value={choices.tag} onInput={(tag) => set({ tag })} isRequired isFocused />
      ) : (
        <Destination choices={choices} onChange={set} />
      )}
      {progress}
    </FormDialog>
  );
}

function Destination({ choices, onChange }: { choices: Choices; onChange: (changes: Partial<Choices>) => void }) {
  const vaults = useCall('GET /v1/vaults', { query: { limit: 200 } });
  const names = vaults.data?.vaults.filter((each) => !each.is_zero_knowledge).map(({ name }) => name) ?? [choices.to];
  return (
    <>
      <Select
        label={texts.toVault}
        value={choices.to}
        onChange={(to) => onChange({ to })}
        choices={names.map((name) => [name, name])}
      />
      <TextField
        label={texts.folder}
        hint={texts.folderHint}
        value={choices.folder}
        onInput={(folder) => onChange({ folder })}
        isMono
      />
    </>
  );
}

function request(
  act: EachAct,
  { vault, secret, choices }: { vault: string; secret: GridSecret; choices: Choices },
): Promise<unknown> {
  const path = { vault, path: secret.path };
  if (act === 'delete') return call('DELETE /v1/vaults/{vault}/secrets/{path}', { path });
  if (act === 'rotate') return call('POST /v1/vaults/{vault}/secrets/{path}/rotate', { path, body: {} });
  if (act === 'tag') {
    const tags = [...new Set([...tagsOf(secret), choices.tag.trim()])];
    const body = { expected_version: secret.version, metadata: { tags } };
    return call('PUT /v1/vaults/{vault}/secrets/{path}', { path, body });
  }
  const name = secret.path.slice(secret.path.lastIndexOf('/') + 1);
  const folder = choices.folder
    .split('/')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .join('/');
  const body = { to_vault: choices.to, to_path: folder === '' ? secret.path : `${folder}/${name}` };
  return act === 'move'
    ? call('POST /v1/vaults/{vault}/secrets/{path}/move', { path, body })
    : call('POST /v1/vaults/{vault}/secrets/{path}/copy', { path, body });
}
