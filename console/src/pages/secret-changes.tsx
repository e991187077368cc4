import { useState } from 'preact/hooks';
import { call, coffer } from '../api.ts';
import { messageOf } from '../field-problems.ts';
import { useAction } from '../loading.ts';
import { href, navigate } from '../router.ts';
import { SECRET_TYPES } from '../secret-names.ts';
import { secretTexts as texts } from '../texts/secret.ts';
import { shared } from '../texts/shared.ts';
import { vaultTexts } from '../texts/vaults.ts';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { toast } from '../ui/toasts.tsx';
import { listOf } from '../words.ts';
import type { SecretSummary } from './secret.tsx';

export interface ChangeProps {
  vault: string;
  secret: SecretSummary;
  onClose: () => void;
  onDone: () => void;
}

/** Writes only if nobody else wrote meanwhile. */
export function EditSecret({
  vault,
  secret,
  onClose,
  onDone,
  passphrase,
  load,
}: ChangeProps & {
  passphrase: string | null;
  /** Reads the current value, which is recorded; null if it cannot be read here. */
  load: (() => Promise<string>) | null;
}) {
  const action = useAction();
  const starting = useAction();
  const { path, version } = secret;
  const [value, setValue] = useState('');
  const [type, setType] = useState(secret.type);
  const [reason, setReason] = useState('');
  const [own, setOwn] = useState(passphrase ?? '');
  const submit = async () => {
    if (passphrase !== null) await coffer().seal(vault, path, value, { passphrase: own }, { newest: version });
    else {
      await call('PUT /v1/vaults/{vault}/secrets/{path}', {
        path: { vault, path },
        body: {
          value,
          expected_version: version,
          ...(type !== secret.type && { type }),
          ...(reason !== '' && { reason }),
        },
      });
    }
    toast(texts.saved(version + 1));
    onDone();
  };
  return (
    <FormDialog
      title={texts.edit}
      action={action}
      submitText={shared.save}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextArea field="value" label={texts.newValue} value={value} onInput={setValue} isSecret />
      {load === null ? null : (
        <div class="row">
          <Button
            isSmall
            isBusy={starting.isRunning}
            onClick={() => void starting.run(async () => setValue(await load()))}
          >
            {texts.startFromCurrent}
          </Button>
          <span class="soft">{texts.startFromCurrentHint}</span>
        </div>
      )}
      <ErrorNote error={starting.error} />
      {passphrase === null ? (
        <Select
          field="type"
          label={texts.type}
          hint={type === secret.type ? texts.typeHint : texts.typeChanged}
          value={type}
          onChange={setType}
          choices={[...new Set([...SECRET_TYPES, secret.type])].map((each) => [each, vaultTexts.types[each] ?? each])}
        />
      ) : null}
      {passphrase === null ? (
        <TextField field="reason" label={texts.reason} hint={texts.reasonHint} value={reason} onInput={setReason} />
      ) : (
        <TextField
          label={texts.passphrase}
          hint={texts.passphraseHint}
          type="password"
          value={own}
          onInput={setOwn}
          isRequired
        />
      )}
    </FormDialog>
  );
}

export function DeleteSecret({ vault, secret, onClose }: ChangeProps) {
  const action = useAction();
  const { path, id } = secret;
  const submit = async () => {
    await call('DELETE /v1/vaults/{vault}/secrets/{path}', { path: { vault, path } });
    toast(texts.deleted(path), () => {
      call('POST /v1/vaults/{vault}/secrets/{path}/restore', { path: { vault, path }, body: { secret_id: id } }).then(
        () => navigate(href('vaults', vault, 'secret', path)),
        (error: Error) => toast(messageOf(error)),
      );
    });
    navigate(href('vaults', vault));
  };
  return (
    <FormDialog
      title={`${texts.delete} ${path}`}
      action={action}
      submitText={texts.delete}
      isDanger
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <p>{texts.deleteText}</p>
    </FormDialog>
  );
}

export function DescribeSecret({ vault, secret, onClose, onDone }: ChangeProps) {
  const action = useAction();
  const { path, version, metadata } = secret;
  const [description, setDescription] = useState(metadata?.description ?? '');
  const [owner, setOwner] = useState(metadata?.owner ?? '');
  const [tags, setTags] = useState((metadata?.tags ?? []).join(', '));
  const submit = async () => {
    const orNull = (text: string) => (text.trim() === '' ? null : text.trim());
    await call('PUT /v1/vaults/{vault}/secrets/{path}', {
      path: { vault, path },
      body: {
        expected_version: version,
        metadata: { description: orNull(description), owner: orNull(owner), tags: listOf(tags) },
      },
    });
    toast(texts.detailsSaved);
    onDone();
  };
  return (
    <FormDialog
      title={texts.metadata}
      action={action}
      submitText={shared.save}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <p class="soft">{texts.typeElsewhere}</p>
      <TextField
        field="metadata/description"
        label={shared.description}
        value={description}
        onInput={setDescription}
        isFocused
      />
      <TextField field="metadata/owner" label={texts.owner} value={owner} onInput={setOwner} />
      <TextField field="metadata/tags" label={texts.tags} hint={vaultTexts.tagsHint} value={tags} onInput={setTags} />
    </FormDialog>
  );
}
