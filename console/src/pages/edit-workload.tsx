import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { ConnectionItem } from '../connections.ts';
import { useAction } from '../loading.ts';
import { shared } from '../texts/shared.ts';
import { workloadsTexts as texts } from '../texts/workloads.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Select, TextArea, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import {
  CONFIG_FIELDS,
  type ConfigField,
  configOf,
  type MethodItem,
  type MethodType,
  typedConfig,
} from '../workload-methods.ts';

interface Props {
  /** Null for a new one. */
  method: MethodItem | null;
  connections: readonly ConnectionItem[];
  onClose: () => void;
  onDone: () => void;
}

export default function EditWorkload({ method, connections, onClose, onDone }: Props) {
  const action = useAction();
  const [name, setName] = useState(method?.name ?? '');
  const [type, setType] = useState<MethodType>(method?.type ?? 'k8s_sa');
  const [connection, setConnection] = useState(String(method?.app_connection_id ?? connections[0]?.id ?? ''));
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
      action={action}
      submitText={shared.save}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField field="name" label={shared.name} value={name} onInput={setName} isRequired isFocused isMono />
      {method === null ? (
        <Select
          field="type"
          label={texts.type}
          value={type}
          onChange={setType}
          choices={Object.entries(texts.types) as [MethodType, string][]}
        />
      ) : null}
      <Select
        field="app_connection_id"
        label={texts.connection}
        hint={connections.find(({ id }) => String(id) === connection)?.mtls_required ? texts.needsCertificate : null}
        value={connection}
        onChange={setConnection}
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
