import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useLoaded } from '../app/loading.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import type { Credentials } from './credentials.tsx';
import { loadVaultNames } from './data.ts';
import { ConnectionFields, fieldsOf, isComplete, newConnection } from './fields.tsx';
import { connectionsTexts as texts } from './texts.ts';

interface Props {
  onClose: () => void;
  /** It waits for a second person; its credentials are made by rotating it then. */
  onPending: () => void;
  onDone: (credentials: Credentials) => void;
}

export default function CreateConnection({ onClose, onPending, onDone }: Props) {
  const [draft, setDraft] = useState(newConnection);
  const vaults = useLoaded(loadVaultNames, []);
  const known = vaults.data ?? [];
  const submit = async () => {
    const { dpop_jkt, ip_allowlist, concurrent_session_limit, ...fields } = fieldsOf(draft, known);
    const body = {
      ...fields,
      ...(dpop_jkt !== null && { dpop_jkt }),
      ...(ip_allowlist !== null && { ip_allowlist }),
      ...(concurrent_session_limit !== null && { concurrent_session_limit }),
    };
    const created = await call('POST /v1/app-connections', { body });
    if (waitsForApproval(created)) onPending();
    else onDone(created);
  };
  return (
    <FormDialog
      title={texts.createTitle}
      submitText={shared.create}
      isIncomplete={!isComplete(draft, known)}
      onClose={onClose}
      submit={submit}
    >
      <TextField
        field="name"
        label={shared.name}
        hint={texts.nameHint}
        value={draft.name}
        onInput={(name) => setDraft({ ...draft, name })}
        isRequired
        isFocused
        isMono
      />
      <ErrorNote error={vaults.error} />
      <ConnectionFields draft={draft} known={known} onChange={setDraft} />
    </FormDialog>
  );
}
