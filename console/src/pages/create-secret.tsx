import { useState } from 'preact/hooks';
import { call, coffer } from '../api.ts';
import { takesTrustedFactor } from '../asked.ts';
import { useAction } from '../loading.ts';
import { SECRET_TYPES } from '../secret-names.ts';
import { fortressTexts } from '../texts/fortress.ts';
import { shared } from '../texts/shared.ts';
import { vaultTexts as texts } from '../texts/vaults.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { listOf } from '../words.ts';
import { OwnFactors, useOwnFactors } from './fortress-help.tsx';

/** Types whose values the service can make. */
const GENERATED: readonly string[] = ['password', 'api_key', 'token', 'ssh_key'];

interface Props {
  vault: { readonly name: string; readonly environment: string; readonly is_zero_knowledge: boolean };
  onClose: () => void;
  onDone: () => void;
}

export default function CreateSecret({ vault, onClose, onDone }: Props) {
  const action = useAction();
  const [path, setPath] = useState('');
  const [type, setType] = useState<string>('generic');
  const [value, setValue] = useState('');
  const [isGenerated, setGenerated] = useState(false);
  const [description, setDescription] = useState('');
  const [tags, setTags] = useState('');
  const [isFortress, setFortress] = useState(false);
  const [days, setDays] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const factors = useOwnFactors(isFortress);
  // Without any factor it would be refused. Whether one is old enough is for the service to say, by its own clock.
  const isHopeless = isFortress && factors.data?.length === 0;
  const isSealed = vault.is_zero_knowledge;
  const isRefused = takesTrustedFactor(action.error);
  const mayGenerate = !isSealed && GENERATED.includes(type);
  const submit = async () => {
    if (isSealed) await coffer().seal(vault.name, path, value, { passphrase }, { newest: 0 });
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
      isIncomplete={isHopeless}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField
        field="path"
        label={texts.path}
        hint={texts.pathHint}
        value={path}
        onInput={setPath}
        isRequired
        isFocused
        isMono
      />
      {isSealed ? null : (
        <Select
          field="type"
          label={texts.type}
          value={type}
          onChange={setType}
          choices={SECRET_TYPES.map((each) => [each, texts.types[each] ?? each])}
        />
      )}
      {mayGenerate ? (
        <Checkbox field="generator" label={texts.generate} isChecked={isGenerated} onChange={setGenerated} />
      ) : null}
      {mayGenerate && isGenerated ? null : (
        <TextArea field="value" label={texts.value} value={value} onInput={setValue} rows={3} isSecret />
      )}
      {isSealed ? (
        <TextField
          label={texts.passphrase}
          hint={texts.passphraseHint}
          type="password"
          value={passphrase}
          onInput={setPassphrase}
          isRequired
        />
      ) : (
        <>
          <TextField
            field="metadata/description"
            label={shared.description}
            value={description}
            onInput={setDescription}
          />
          <TextField field="metadata/tags" label={texts.tags} hint={texts.tagsHint} value={tags} onInput={setTags} />
          <TextField
            field="rotation/interval_days"
            label={texts.rotation}
            hint={texts.rotationHint}
            type="number"
            value={days}
            onInput={setDays}
          />
          <Checkbox
            field="protection"
            label={texts.fortressLabel}
            hint={texts.fortressHint}
            isChecked={isFortress}
            onChange={setFortress}
          />
          {isFortress && !isRefused ? <OwnFactors factors={factors} instead={fortressTexts.instead} /> : null}
        </>
      )}
    </FormDialog>
  );
}
