import { useState } from 'preact/hooks';
import { callForFile } from '../api.ts';
import { useAction } from '../loading.ts';
import { exportTexts as texts } from '../texts/vaults.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { saveFile } from '../ui/save-file.ts';
import { toast } from '../ui/toasts.tsx';

type Format = keyof typeof texts.formats;
const ENDINGS: Readonly<Record<Format, string>> = { dotenv: 'env', json: 'json', docker: 'env', shell: 'sh' };

/** Hands the values of a vault to the browser as a file, once somebody has said that they know what that means. */
export default function ExportVault({ vault, onClose }: { vault: string; onClose: () => void }) {
  const action = useAction();
  const [format, setFormat] = useState<Format>('dotenv');
  const [prefix, setPrefix] = useState('');
  const [isConfirmed, setConfirmed] = useState(false);
  const submit = async () => {
    const query = { format, ...(prefix.trim() !== '' && { prefix: prefix.trim() }) };
    const { file } = await callForFile('GET /v1/vaults/{vault}/export', { path: { vault }, query });
    const name = `${vault}.${ENDINGS[format]}`;
    saveFile(name, file);
    toast(texts.done(name));
    onClose();
  };
  return (
    <FormDialog
      title={texts.title(vault)}
      action={action}
      submitText={texts.submit}
      isIncomplete={!isConfirmed}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <Notice kind="warning">{texts.warning}</Notice>
      <Select
        label={texts.format}
        hint={texts.formatHints[format]}
        value={format}
        onChange={setFormat}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <TextField
        field="prefix"
        label={texts.prefix}
        hint={texts.prefixHint}
        value={prefix}
        onInput={setPrefix}
        isMono
      />
      <Checkbox label={texts.confirm} isChecked={isConfirmed} onChange={setConfirmed} />
    </FormDialog>
  );
}
