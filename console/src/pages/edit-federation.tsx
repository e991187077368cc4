import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { useAction } from '../loading.ts';
import { federationsTexts as texts } from '../texts/federations.ts';
import { shared } from '../texts/shared.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import type { FederationItem } from './federations.tsx';

type Provider = FederationItem['provider'];

/** CI systems whose issuer the service knows. */
const KNOWN_ISSUER: readonly Provider[] = ['github', 'gitlab'];

interface Props {
  clientId: string;
  /** Null for a new one. */
  federation: FederationItem | null;
  onClose: () => void;
  onDone: () => void;
}

export function EditFederation({ clientId, federation, onClose, onDone }: Props) {
  const action = useAction();
  const [name, setName] = useState(federation?.name ?? '');
  const [provider, setProvider] = useState<Provider>(federation?.provider ?? 'github');
  const [subject, setSubject] = useState(federation?.subject_pattern ?? '');
  const [issuer, setIssuer] = useState(federation?.issuer ?? '');
  const [jwksUrl, setJwksUrl] = useState(federation?.jwks_url ?? '');
  const [audience, setAudience] = useState(federation?.audience ?? '');
  const [claims, setClaims] = useState(linesOf(federation?.claims ?? {}));
  const [minutes, setMinutes] = useState(federation === null ? '' : String(federation.token_ttl_seconds / 60));
  const [isEnabled, setEnabled] = useState(federation?.enabled ?? true);
  const parsed = claimsOf(claims, federation?.claims ?? {});
  const hasKnownIssuer = KNOWN_ISSUER.includes(provider);
  const submit = async () => {
    const fields = {
      name,
      subject_pattern: subject,
      ...(issuer !== '' && { issuer }),
      ...(jwksUrl !== (federation?.jwks_url ?? '') && { jwks_url: jwksUrl === '' ? null : jwksUrl }),
      ...(audience !== (federation?.audience ?? '') && { audience: audience === '' ? null : audience }),
      ...(parsed !== null && { claims: parsed }),
      ...(minutes !== '' && { token_ttl_seconds: Math.round(Number(minutes) * 60) }),
      enabled: isEnabled,
    };
    if (federation === null) {
      await call('POST /app-connections/{connection}/federations', {
        path: { connection: clientId },
        body: { ...fields, provider },
      });
    } else {
      await call('PUT /app-connections/{connection}/federations/{federation_id}', {
        path: { connection: clientId, federation_id: String(federation.id) },
        body: fields,
      });
    }
    toast(texts.saved(name));
    onDone();
  };
  return (
    <FormDialog
      title={federation === null ? texts.createTitle : texts.editTitle(federation.name)}
      action={action}
      submitText={shared.save}
      isIncomplete={parsed === null}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <TextField field="name" label={shared.name} value={name} onInput={setName} isRequired isFocused isMono />
      {federation === null ? (
        <Select
          field="provider"
          label={texts.provider}
          value={provider}
          onChange={setProvider}
          choices={Object.entries(texts.providers) as [Provider, string][]}
        />
      ) : null}
      <TextField
        field="subject_pattern"
        label={texts.subject}
        hint={`${texts.subjectHints[provider]} ${texts.subjectStars}`}
        value={subject}
        onInput={setSubject}
        isRequired
        isMono
      />
      <TextField
        field="issuer"
        label={texts.issuer}
        hint={hasKnownIssuer ? texts.issuerHintKnown : texts.issuerHint}
        value={issuer}
        onInput={setIssuer}
        isRequired={!hasKnownIssuer}
        isMono
      />
      {hasKnownIssuer && federation === null ? null : (
        <TextField
          field="jwks_url"
          label={texts.jwksUrl}
          hint={texts.jwksUrlHint}
          value={jwksUrl}
          onInput={setJwksUrl}
          isMono
        />
      )}
      <TextField
        field="audience"
        label={texts.audience}
        hint={texts.audienceHint}
        value={audience}
        onInput={setAudience}
        isMono
      />
      <TextArea
        field="claims"
        label={texts.claims}
        hint={texts.claimsHint}
        problem={parsed === null ? texts.claimsProblem : null}
        value={claims}
        onInput={setClaims}
        rows={2}
      />
      <TextField label={texts.minutes} hint={texts.minutesHint} type="number" value={minutes} onInput={setMinutes} />
      <Checkbox field="enabled" label={texts.isEnabled} isChecked={isEnabled} onChange={setEnabled} />
    </FormDialog>
  );
}

type Claims = Readonly<FederationItem['claims']>;

function linesOf(claims: Claims): string {
  return Object.entries(claims)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join('\n');
}

/** Null if a line is not of this form. A value that was a number or a boolean stays one; what is typed anew is a text. */
function claimsOf(text: string, before: Claims): Record<string, Claims[string]> | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const claims: Record<string, Claims[string]> = {};
  for (const line of lines) {
    const [, name, value] = /^([^=\s]+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const former = before[name];
    claims[name] = former !== undefined && String(former) === value ? former : value;
  }
  return claims;
}
