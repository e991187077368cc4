import { useState } from 'preact/hooks';
import { call, coffer } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { listOf } from '../ui/comma-list.ts';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { messageOf } from '../ui/field-problems.ts';
import { useForm } from '../ui/form-values.ts';
import { ErrorNote } from '../ui/notice.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { createSecretTexts } from './create-texts.ts';
import type { SecretSummary } from './data.ts';
import { SECRET_TYPES } from './names.ts';
import { PassphraseFields } from './passphrase-fields.tsx';
import { secretTexts as texts } from './texts.ts';

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
  const starting = useAction();
  const { path, version } = secret;
  const form = useForm({ value: '', type: secret.type, reason: '' });
  const { value, type, reason } = form.values;
  const [own, setOwn] = useState<string | null>(null);
  const submit = async () => {
    if (passphrase !== null) await coffer().seal(vault, path, value, { passphrase: own ?? '' }, { newest: version });
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
      submitText={shared.save}
      isIncomplete={passphrase !== null && own === null}
      onClose={onClose}
      submit={submit}
    >
      <TextArea label={texts.newValue} {...form.text('value')} isSecret />
      {load === null ? null : (
        <div class="row">
          <Button
            isSmall
            isBusy={starting.isRunning}
            onClick={() => void starting.run(async () => form.set({ value: await load() }))}
          >
            {texts.startFromCurrent}
          </Button>
          <span class="soft">{texts.startFromCurrentHint}</span>
        </div>
      )}
      <ErrorNote error={starting.error} />
      {passphrase === null ? (
        <Select
          label={texts.type}
          hint={type === secret.type ? texts.typeHint : texts.typeChanged}
          {...form.choice('type')}
          choices={[...new Set([...SECRET_TYPES, secret.type])].map((each) => [
            each,
            createSecretTexts.types[each] ?? each,
          ])}
        />
      ) : null}
      {passphrase === null ? (
        <TextField label={texts.reason} hint={texts.reasonHint} {...form.text('reason')} />
      ) : (
        <PassphraseFields vault={vault} known={passphrase} onChange={setOwn} />
      )}
    </FormDialog>
  );
}

export function DeleteSecret({ vault, secret, onClose }: ChangeProps) {
  const { path, id, environment } = secret;
  const remove = async () => {
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
    <Confirm
      title={`${texts.delete} ${path}`}
      submitText={texts.delete}
      {...(environment === 'production' && { typed: path, production: vault })}
      work={remove}
      onClose={onClose}
    >
      {texts.deleteText}
    </Confirm>
  );
}

export function DescribeSecret({ vault, secret, onClose, onDone }: ChangeProps) {
  const { path, version, metadata } = secret;
  const form = useForm({
    description: metadata?.description ?? '',
    owner: metadata?.owner ?? '',
    tags: (metadata?.tags ?? []).join(', '),
  });
  const { description, owner, tags } = form.values;
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
    <FormDialog title={texts.metadata} submitText={shared.save} onClose={onClose} submit={submit}>
      <p class="soft">{texts.typeElsewhere}</p>
      <TextField label={shared.description} {...form.text('description', 'metadata/description')} isFocused />
      <TextField label={texts.owner} {...form.text('owner', 'metadata/owner')} />
      <TextField label={texts.tags} hint={createSecretTexts.tagsHint} {...form.text('tags', 'metadata/tags')} />
    </FormDialog>
  );
}
