import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { CREDENTIALS, type ExporterItem, type ExporterType, NEEDS_CREDENTIAL } from '../exporters.ts';
import { useAction } from '../loading.ts';
import { exportersTexts as texts } from '../texts/exporters.ts';
import { shared } from '../texts/shared.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { type ExporterFilter, ExporterFilterFields } from './exporter-filter.tsx';

type Format = ExporterItem['format'];

interface Props {
  /** Null for a new one. */
  exporter: ExporterItem | null;
  onClose: () => void;
  onDone: () => void;
}

export default function EditExporter({ exporter, onClose, onDone }: Props) {
  const action = useAction();
  const [name, setName] = useState(exporter?.name ?? '');
  const [type, setType] = useState<ExporterType>(exporter?.type ?? 'splunk_hec');
  const [format, setFormat] = useState<Format>(exporter?.format ?? 'native');
  const [endpoint, setEndpoint] = useState(exporter?.endpoint ?? '');
  const [filter, setFilter] = useState<ExporterFilter>(exporter?.filter ?? {});
  const [authority, setAuthority] = useState(exporter?.ca_pem ?? '');
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
      action={action}
      submitText={exporter === null ? shared.create : shared.save}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField field="name" label={shared.name} value={name} onInput={setName} isRequired isFocused isMono />
      {exporter === null ? (
        <Select
          field="type"
          label={texts.type}
          value={type}
          onChange={setType}
          choices={Object.entries(texts.types) as [ExporterType, string][]}
        />
      ) : null}
      <TextField
        field="endpoint"
        label={texts.endpoint}
        hint={texts.endpointHints[type]}
        value={endpoint}
        onInput={setEndpoint}
        isRequired
        isMono
      />
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
        field="format"
        label={texts.format}
        value={format}
        onChange={setFormat}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <ExporterFilterFields filter={filter} onChange={setFilter} />
      <details>
        <summary>{texts.more}</summary>
        <TextArea
          field="ca_pem"
          label={texts.authority}
          hint={texts.authorityHint}
          value={authority}
          onInput={setAuthority}
        />
      </details>
    </FormDialog>
  );
}
