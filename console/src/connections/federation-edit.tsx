import { call } from '../app/api.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextArea, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import type { FederationItem } from './data.ts';
import { federationsTexts as texts } from './federation-texts.ts';

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
  const form = useForm({
    name: federation?.name ?? '',
    provider: (federation?.provider ?? 'github') as Provider,
    subject: federation?.subject_pattern ?? '',
    issuer: federation?.issuer ?? '',
    jwksUrl: federation?.jwks_url ?? '',
    audience: federation?.audience ?? '',
    claims: linesOf(federation?.claims ?? {}),
    minutes: federation === null ? '' : String(federation.token_ttl_seconds / 60),
    isEnabled: federation?.enabled ?? true,
  });
  const { name, provider, subject, issuer, jwksUrl, audience, claims, minutes, isEnabled } = form.values;
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
      submitText={shared.save}
      isIncomplete={parsed === null}
      onClose={onClose}
      submit={submit}
    >
      <TextField label={shared.name} {...form.text('name')} isRequired isFocused isMono />
      {federation === null ? (
        <Select
          label={texts.provider}
          {...form.choice('provider')}
          choices={Object.entries(texts.providers) as [Provider, string][]}
        />
      ) : null}
      <TextField
        label={texts.subject}
        hint={`${texts.subjectHints[provider]} ${texts.subjectStars}`}
        {...form.text('subject', 'subject_pattern')}
        isRequired
        isMono
      />
      <TextField
        label={texts.issuer}
        hint={hasKnownIssuer ? texts.issuerHintKnown : texts.issuerHint}
        {...form.text('issuer')}
        isRequired={!hasKnownIssuer}
        isMono
      />
      {hasKnownIssuer && federation === null ? null : (
        <TextField label={texts.jwksUrl} hint={texts.jwksUrlHint} {...form.text('jwksUrl', 'jwks_url')} isMono />
      )}
      <TextField label={texts.audience} hint={texts.audienceHint} {...form.text('audience')} isMono />
      <TextArea
        label={texts.claims}
        hint={texts.claimsHint}
        problem={parsed === null ? texts.claimsProblem : null}
        {...form.text('claims')}
        rows={2}
      />
      <TextField label={texts.minutes} hint={texts.minutesHint} type="number" {...form.text('minutes', null)} />
      <Checkbox label={texts.isEnabled} {...form.check('isEnabled', 'enabled')} />
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
    const [, name, value] = /^([^=\s]+)\s*=\s*(\S.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const former = before[name];
    claims[name] = former !== undefined && String(former) === value ? former : value;
  }
  return claims;
}
