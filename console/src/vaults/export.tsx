import type { CofferError } from '@coffer/client';
import { useRef, useState } from 'preact/hooks';
import { callForFile } from '../app/api.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { useShownHere } from '../ui/form.tsx';
import { useForm } from '../ui/form-values.ts';
import { Notice } from '../ui/notice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { toast } from '../ui/toasts.tsx';
import { exportTexts as texts } from './texts.ts';

type Format = keyof typeof texts.formats;
const ENDINGS: Readonly<Record<Format, string>> = { dotenv: 'env', json: 'json', docker: 'env', shell: 'sh' };

/** Hands the values of a vault to the browser as a file, once somebody has said that they know what that means. */
export default function ExportVault({ vault, onClose }: { vault: string; onClose: () => void }) {
  const form = useForm({ format: 'dotenv' as Format, prefix: '', isConfirmed: false });
  const { format, prefix, isConfirmed } = form.values;
  const [permitted, setPermitted] = useState<readonly string[]>([]);
  const isFile = format !== 'json';
  const submit = async () => {
    const query = {
      format,
      ...(prefix.trim() !== '' && { prefix: prefix.trim() }),
      ...(isFile && permitted.length > 0 && { permit: [...permitted] }),
    };
    const { file } = await callForFile('GET /v1/vaults/{vault}/export', { path: { vault }, query });
    const name = `${vault}.${ENDINGS[format]}`;
    saveFile(name, file);
    toast(texts.done(name));
    onClose();
  };
  return (
    <FormDialog
      title={texts.title(vault)}
      submitText={texts.submit}
      isIncomplete={!isConfirmed}
      onClose={onClose}
      submit={submit}
    >
      <Notice kind="warning">{texts.warning}</Notice>
      <Select
        label={texts.format}
        hint={texts.formatHints[format]}
        {...form.choice('format', null)}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <TextField label={texts.prefix} hint={texts.prefixHint} {...form.text('prefix')} isMono />
      {isFile ? <Permitted names={permitted} onChange={setPermitted} /> : null}
      <Checkbox label={texts.confirm} {...form.check('isConfirmed', null)} />
    </FormDialog>
  );
}

/** Names of variables that can run code, once the service has refused them because nobody said that they are meant. */
function Permitted({ names, onChange }: { names: readonly string[]; onChange: (names: readonly string[]) => void }) {
  const form = useShownHere('permit');
  // They stay to be ticked when something else is refused next.
  const { current: refused } = useRef(new Set<string>());
  for (const name of namesToPermit(form?.error ?? null)) refused.add(name);
  if (refused.size === 0) return null;
  return (
    <fieldset class="checks">
      <legend>{texts.permit}</legend>
      <Notice kind="warning">{texts.permitRisk}</Notice>
      {[...refused].map((name) => {
        const isChecked = names.includes(name);
        return (
          <label key={name} class="checkbox">
            <input
              type="checkbox"
              checked={isChecked}
              aria-invalid={isChecked ? undefined : true}
              onChange={() => onChange(isChecked ? names.filter((each) => each !== name) : [...names, name])}
            />
            <code>{name}</code>
          </label>
        );
      })}
    </fieldset>
  );
}

function namesToPermit(error: CofferError | null): readonly string[] {
  return (error?.details['permit'] ?? []) as readonly string[];
}
