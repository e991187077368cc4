import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { CREDENTIALS, type ExporterItem, type ExporterType, NEEDS_CREDENTIAL } from './data.ts';
import { type ExporterFilter, ExporterFilterFields } from './filter.tsx';
import { exportersTexts as texts } from './texts.ts';

type Format = ExporterItem['format'];

interface Props {
  /** Null for a new one. */
  exporter: ExporterItem | null;
  onClose: () => void;
  onDone: () => void;
}

export default function EditExporter({ exporter, onClose, onDone }: Props) {
  const form = useForm({
    name: exporter?.name ?? '',
    type: (exporter?.type ?? 'splunk_hec') as ExporterType,
    format: (exporter?.format ?? 'native') as Format,
    endpoint: exporter?.endpoint ?? '',
    authority: exporter?.ca_pem ?? '',
  });
  const { name, type, format, endpoint, authority } = form.values;
  const [filter, setFilter] = useState<ExporterFilter>(exporter?.filter ?? {});
  const [typed, setTyped] = useState<Record<string, string>>({});
  const submit = async () => {
    const credentials = Object.fromEntries(
      CREDENTIALS[type].flatMap((each) => (typed[each] ? [[each, typed[each]]] : [])),
    );
    const ca_pem = authority.trim() === '' ? null : authority;
    const body = {
      name,
      format,
      filter,
      ...(ca_pem !== (exporter?.ca_pem ?? null) && { ca_pem }),
      ...(endpoint !== exporter?.endpoint && { endpoint }),
      ...(Object.keys(credentials).length > 0 && { credentials }),
    };
    const answer =
      exporter === null
        ? await call('POST /v1/audit/exporters', { body: { ...body, type, endpoint } })
        : await call('PATCH /v1/audit/exporters/{exporter_id}', { path: { exporter_id: exporter.id }, body });
    if (!waitsForApproval(answer)) toast(exporter === null ? texts.created(name) : texts.saved(name));
    onDone();
  };
  const hintOf = (each: string) => {
    if (exporter !== null) return texts.keepCredentials;
    if (type === 'elastic') return each === 'api_key' ? texts.elasticHint : texts.writeOnly;
    return NEEDS_CREDENTIAL.includes(type) ? texts.writeOnly : `${texts.writeOnly} ${texts.optional}`;
  };
  return (
    <FormDialog
      title={exporter === null ? texts.createTitle : texts.editTitle(exporter.name)}
      submitText={exporter === null ? shared.create : shared.save}
      onClose={onClose}
      submit={submit}
    >
      <TextField label={shared.name} {...form.text('name')} isRequired isFocused isMono />
      {exporter === null ? (
        <Select
          label={texts.type}
          {...form.choice('type')}
          choices={Object.entries(texts.types) as [ExporterType, string][]}
        />
      ) : null}
      <TextField label={texts.endpoint} hint={texts.endpointHints[type]} {...form.text('endpoint')} isRequired isMono />
      {CREDENTIALS[type].map((each) => (
        <TextField
          key={each}
          field={`credentials/${each}`}
          label={texts.credentials[each]}
          hint={hintOf(each)}
          type={each === 'username' ? 'text' : 'password'}
          autocomplete={each === 'username' ? 'off' : 'new-password'}
          value={typed[each] ?? ''}
          onInput={(value) => setTyped({ ...typed, [each]: value })}
          isRequired={exporter === null && NEEDS_CREDENTIAL.includes(type)}
        />
      ))}
      <Select
        label={texts.format}
        {...form.choice('format')}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <ExporterFilterFields filter={filter} onChange={setFilter} />
      <details>
        <summary>{texts.more}</summary>
        <TextArea label={texts.authority} hint={texts.authorityHint} {...form.text('authority', 'ca_pem')} />
      </details>
    </FormDialog>
  );
}
