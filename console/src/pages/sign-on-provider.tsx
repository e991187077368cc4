import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { waitsForApproval } from '../approval.ts';
import { useAction } from '../loading.ts';
import { signOnTexts as texts } from '../texts/organization.ts';
import { shared } from '../texts/shared.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import type { Provider } from './sign-on.tsx';

type Kind = keyof typeof texts.kinds;
type Role = keyof typeof texts.roles;

/** A provider that is added, or with one that exists, changed. */
export default function ProviderForm({
  provider,
  onClose,
  onDone,
}: {
  provider: Provider | null;
  onClose: () => void;
  onDone: () => void;
}) {
  const action = useAction();
  const [kind, setKind] = useState<Kind>('okta');
  const [name, setName] = useState(provider?.name ?? '');
  const [issuer, setIssuer] = useState(provider?.issuer ?? '');
  const [clientId, setClientId] = useState(provider?.client_id ?? '');
  const [secret, setSecret] = useState('');
  const [claim, setClaim] = useState(provider?.groups_claim ?? 'groups');
  const [role, setRole] = useState<Role | ''>(provider === null ? 'member' : (provider.default_role ?? ''));
  const [roleLines, setRoleLines] = useState(linesOf(provider?.role_mapping));
  const [groupLines, setGroupLines] = useState(linesOf(provider?.group_mapping));
  const [isRequired, setRequired] = useState(provider?.required ?? false);
  const [isEnabled, setEnabled] = useState(provider?.enabled ?? true);
  const roles = mappingOf(roleLines);
  const groups = mappingOf(groupLines);
  const submit = async () => {
    const body = {
      issuer: issuer.trim(),
      client_id: clientId.trim(),
      ...(secret !== '' && { client_secret: secret }),
      groups_claim: claim.trim(),
      // The service says which roles there are.
      role_mapping: (roles ?? {}) as Record<string, Role>,
      group_mapping: groups ?? {},
      default_role: role === '' ? null : role,
      required: isRequired,
      enabled: isEnabled,
    };
    const answer =
      provider === null
        ? await call('POST /auth/sso/providers', { body: { ...body, name: name.trim() } })
        : await call('PATCH /auth/sso/providers/{name}', { path: { name: provider.name }, body });
    if (!waitsForApproval(answer)) toast(provider === null ? texts.added(name) : texts.changed(name));
    onDone();
  };
  return (
    <FormDialog
      title={provider === null ? texts.createTitle : texts.editTitle(provider.name)}
      action={action}
      submitText={provider === null ? shared.add : shared.save}
      isIncomplete={roles === null || groups === null}
      isWide
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      {provider === null ? (
        <>
          <Select
            label={texts.kind}
            hint={texts.kindHints[kind]}
            value={kind}
            onChange={setKind}
            choices={Object.entries(texts.kinds) as [Kind, string][]}
          />
          <TextField
            field="name"
            label={texts.name}
            hint={texts.nameHint}
            value={name}
            onInput={setName}
            isRequired
            isFocused
            isMono
          />
        </>
      ) : (
        <CopyText label={texts.redirect} text={provider.redirect_uri} hint={texts.redirectHint} />
      )}
      <TextField
        field="issuer"
        label={texts.issuer}
        value={issuer}
        onInput={setIssuer}
        placeholder={texts.issuers[kind]}
        isRequired
        isMono
      />
      <TextField field="client_id" label={texts.clientId} value={clientId} onInput={setClientId} isRequired isMono />
      <TextField
        field="client_secret"
        label={texts.clientSecret}
        hint={provider?.has_client_secret ? texts.clientSecretKeep : texts.clientSecretHint}
        type="password"
        autocomplete="new-password"
        value={secret}
        onInput={setSecret}
      />
      <Select
        field="default_role"
        label={texts.defaultRole}
        value={role}
        onChange={setRole}
        choices={[['', texts.refused], ...(Object.entries(texts.roles) as [Role, string][])]}
      />
      <TextArea
        field="role_mapping"
        label={texts.roleMapping}
        hint={texts.roleMappingHint}
        problem={roles === null ? texts.mappingWrong : null}
        value={roleLines}
        onInput={setRoleLines}
        rows={3}
      />
      <TextArea
        field="group_mapping"
        label={texts.groupMapping}
        hint={texts.groupMappingHint}
        problem={groups === null ? texts.mappingWrong : null}
        value={groupLines}
        onInput={setGroupLines}
        rows={3}
      />
      <TextField field="groups_claim" label={texts.groupsClaim} value={claim} onInput={setClaim} isRequired isMono />
      <Checkbox
        field="required"
        label={texts.required}
        hint={texts.requiredHint}
        isChecked={isRequired}
        onChange={setRequired}
      />
      <Checkbox
        field="enabled"
        label={texts.enabled}
        hint={texts.enabledHint}
        isChecked={isEnabled}
        onChange={setEnabled}
      />
    </FormDialog>
  );
}

function linesOf(mapping: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(mapping ?? {})
    .map(([group, value]) => `${group} = ${value}`)
    .join('\n');
}

/** Null if a line is not `group = value`. The last `=` separates, because names of groups may have one. */
function mappingOf(text: string): Record<string, string> | null {
  const mapping: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.lastIndexOf('=');
    const [group, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at === -1 || group === '' || value === '') return null;
    mapping[group] = value;
  }
  return mapping;
}
