import { call } from '../app/api.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import type { Provider } from './data.ts';
import { signOnTexts as texts } from './texts.ts';

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
  const form = useForm({
    kind: 'okta' as Kind,
    name: provider?.name ?? '',
    issuer: provider?.issuer ?? '',
    clientId: provider?.client_id ?? '',
    secret: '',
    claim: provider?.groups_claim ?? 'groups',
    role: (provider === null ? 'member' : (provider.default_role ?? '')) as Role | '',
    roleLines: linesOf(provider?.role_mapping),
    groupLines: linesOf(provider?.group_mapping),
    isRequired: provider?.required ?? false,
    isEnabled: provider?.enabled ?? true,
  });
  const { kind, name, issuer, clientId, secret, claim, role, roleLines, groupLines, isRequired, isEnabled } =
    form.values;
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
      submitText={provider === null ? shared.add : shared.save}
      isIncomplete={roles === null || groups === null}
      isWide
      onClose={onClose}
      submit={submit}
    >
      {provider === null ? (
        <>
          <Select
            label={texts.kind}
            hint={texts.kindHints[kind]}
            {...form.choice('kind', null)}
            choices={Object.entries(texts.kinds) as [Kind, string][]}
          />
          <TextField label={texts.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused isMono />
        </>
      ) : (
        <CopyText label={texts.redirect} text={provider.redirect_uri} hint={texts.redirectHint} />
      )}
      <TextField label={texts.issuer} {...form.text('issuer')} placeholder={texts.issuers[kind]} isRequired isMono />
      <TextField label={texts.clientId} {...form.text('clientId', 'client_id')} isRequired isMono />
      <TextField
        label={texts.clientSecret}
        hint={provider?.has_client_secret ? texts.clientSecretKeep : texts.clientSecretHint}
        type="password"
        autocomplete="new-password"
        {...form.text('secret', 'client_secret')}
      />
      <Select
        label={texts.defaultRole}
        {...form.choice('role', 'default_role')}
        choices={[['', texts.refused], ...(Object.entries(texts.roles) as [Role, string][])]}
      />
      <TextArea
        label={texts.roleMapping}
        hint={texts.roleMappingHint}
        problem={roles === null ? texts.mappingWrong : null}
        {...form.text('roleLines', 'role_mapping')}
        rows={3}
      />
      <TextArea
        label={texts.groupMapping}
        hint={texts.groupMappingHint}
        problem={groups === null ? texts.mappingWrong : null}
        {...form.text('groupLines', 'group_mapping')}
        rows={3}
      />
      <TextField label={texts.groupsClaim} {...form.text('claim', 'groups_claim')} isRequired isMono />
      <Checkbox label={texts.required} hint={texts.requiredHint} {...form.check('isRequired', 'required')} />
      <Checkbox label={texts.enabled} hint={texts.enabledHint} {...form.check('isEnabled', 'enabled')} />
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
