import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import type { ConnectionItem } from '../connections/index.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { CONFIG_FIELDS, type ConfigField, configOf, type MethodItem, type MethodType, typedConfig } from './data.ts';
import { workloadsTexts as texts } from './texts.ts';

interface Props {
  /** Null for a new one. */
  method: MethodItem | null;
  connections: readonly ConnectionItem[];
  onClose: () => void;
  onDone: () => void;
}

export default function EditWorkload({ method, connections, onClose, onDone }: Props) {
  const form = useForm({
    name: method?.name ?? '',
    type: (method?.type ?? 'k8s_sa') as MethodType,
    connection: String(method?.app_connection_id ?? connections[0]?.id ?? ''),
  });
  const { name, type, connection } = form.values;
  const [typed, setTyped] = useState<Record<string, string>>(() => typedConfig(method?.config ?? {}));
  const submit = async () => {
    const config = configOf(type, typed, method?.config ?? {});
    const app_connection_id = Number(connection);
    if (method === null) {
      await call('POST /workload-identity/methods', { body: { name, type, app_connection_id, config } });
    } else {
      await call('PUT /workload-identity/methods/{method_id}', {
        path: { method_id: String(method.id) },
        body: { name, app_connection_id, config },
      });
    }
    toast(texts.saved(name));
    onDone();
  };
  return (
    <FormDialog
      title={method === null ? texts.createTitle : texts.editTitle(method.name)}
      submitText={shared.save}
      onClose={onClose}
      submit={submit}
    >
      <TextField label={shared.name} {...form.text('name')} isRequired isFocused isMono />
      {method === null ? (
        <Select
          label={texts.type}
          {...form.choice('type')}
          choices={Object.entries(texts.types) as [MethodType, string][]}
        />
      ) : null}
      <Select
        label={texts.connection}
        hint={connections.find(({ id }) => String(id) === connection)?.mtls_required ? texts.needsCertificate : null}
        {...form.choice('connection', 'app_connection_id')}
        choices={connections.map((each) => [String(each.id), each.name])}
      />
      {CONFIG_FIELDS[type].map((field) => (
        <Config
          key={field.name}
          field={field}
          isSet={method?.secrets_set.includes(field.name) === true}
          value={typed[field.name] ?? ''}
          onInput={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
    </FormDialog>
  );
}

function Config({
  field: { name, kind, isRequired },
  isSet,
  value,
  onInput,
}: {
  field: ConfigField;
  isSet: boolean;
  value: string;
  onInput: (value: string) => void;
}) {
  const label = texts.fields[name];
  const hint = isSet ? texts.secretSet : texts.hints[name];
  if (kind === 'lines' || kind === 'pem') {
    return (
      <TextArea
        field={`config/${name}`}
        label={label}
        hint={hint}
        value={value}
        onInput={onInput}
        isRequired={isRequired}
        rows={kind === 'pem' ? 4 : 2}
      />
    );
  }
  return (
    <TextField
      field={`config/${name}`}
      label={label}
      hint={hint}
      type={kind === 'secret' ? 'password' : 'text'}
      value={value}
      onInput={onInput}
      isRequired={isRequired && !isSet}
      isMono
    />
  );
}
