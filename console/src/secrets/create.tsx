import { useState } from 'preact/hooks';
import { call, coffer } from '../app/api.ts';
import { useAction } from '../app/loading.ts';
import { takesTrustedFactor } from '../app/step-up-prompt.ts';
import { OwnFactors, useOwnFactors } from '../fortress/index.ts';
import { listOf } from '../ui/comma-list.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { createSecretTexts as texts } from './create-texts.ts';
import { fortressSecretTexts } from './fortress-texts.ts';
import { SECRET_TYPES } from './names.ts';
import { PassphraseFields } from './passphrase-fields.tsx';

/** Types whose values the service can make. */
const GENERATED: readonly string[] = ['password', 'api_key', 'token', 'ssh_key'];

interface Props {
  vault: { readonly name: string; readonly environment: string; readonly is_zero_knowledge: boolean };
  onClose: () => void;
  onDone: () => void;
}

export default function CreateSecret({ vault, onClose, onDone }: Props) {
  const action = useAction();
  const form = useForm({
    path: '',
    type: 'generic' as string,
    value: '',
    isGenerated: false,
    description: '',
    tags: '',
    isFortress: false,
    days: '',
  });
  const { path, type, value, isGenerated, description, tags, isFortress, days } = form.values;
  const [passphrase, setPassphrase] = useState<string | null>(null);
  const factors = useOwnFactors(isFortress);
  // Without any factor it would be refused. Whether one is old enough is for the service to say, by its own clock.
  const isHopeless = isFortress && factors.data?.length === 0;
  const isSealed = vault.is_zero_knowledge;
  const isRefused = takesTrustedFactor(action.error);
  const mayGenerate = !isSealed && GENERATED.includes(type);
  const submit = async () => {
    if (isSealed) await coffer().seal(vault.name, path, value, { passphrase: passphrase ?? '' }, { newest: 0 });
    else {
      const metadata = {
        ...(description !== '' && { description }),
        ...(tags.trim() !== '' && { tags: listOf(tags) }),
      };
      const body = {
        path,
        type,
        ...(mayGenerate && isGenerated ? { generator: {} } : { value }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
        ...(isFortress && { protection: 'fortress' as const }),
        ...(days !== '' && { rotation: { interval_days: Number(days) } }),
        ...(vault.environment === 'production' && { environment: 'production' }),
      };
      await call('POST /v1/vaults/{vault}/secrets', { path: { vault: vault.name }, body });
    }
    toast(texts.written(path));
    onDone();
  };
  return (
    <FormDialog
      title={texts.createTitle}
      action={action}
      submitText={shared.save}
      isIncomplete={isHopeless || (isSealed && passphrase === null)}
      onClose={onClose}
      submit={submit}
    >
      <TextField label={texts.path} hint={texts.pathHint} {...form.text('path')} isRequired isFocused isMono />
      {isSealed ? null : (
        <Select
          label={texts.type}
          {...form.choice('type')}
          choices={SECRET_TYPES.map((each) => [each, texts.types[each] ?? each])}
        />
      )}
      {mayGenerate ? <Checkbox label={texts.generate} {...form.check('isGenerated', 'generator')} /> : null}
      {mayGenerate && isGenerated ? null : <TextArea label={texts.value} {...form.text('value')} rows={3} isSecret />}
      {isSealed ? (
        <PassphraseFields vault={vault.name} onChange={setPassphrase} />
      ) : (
        <>
          <TextField label={shared.description} {...form.text('description', 'metadata/description')} />
          <TextField label={texts.tags} hint={texts.tagsHint} {...form.text('tags', 'metadata/tags')} />
          <TextField
            label={texts.rotation}
            hint={texts.rotationHint}
            type="number"
            {...form.text('days', 'rotation/interval_days')}
          />
          <Checkbox label={texts.fortressLabel} hint={texts.fortressHint} {...form.check('isFortress', 'protection')} />
          {isFortress && !isRefused ? <OwnFactors factors={factors} instead={fortressSecretTexts.instead} /> : null}
        </>
      )}
    </FormDialog>
  );
}
