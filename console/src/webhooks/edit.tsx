import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { shared } from '../ui/texts.ts';
import { webhooksTexts as texts } from './texts.ts';

export type WebhookItem = RouteOutput<'GET /webhooks/{webhook_id}'>;
export type WebhookWithSecret = RouteOutput<'POST /webhooks'>;
type EventName = WebhookItem['events'][number];
type Format = WebhookItem['format'];
type Severity = WebhookItem['min_severity'];

const EVENTS = Object.entries(texts.eventNames) as [EventName, string][];

interface Props {
  /** Null for a new one. */
  webhook: WebhookItem | null;
  onClose: () => void;
  onDone: (saved: WebhookItem | WebhookWithSecret) => void;
}

export default function EditWebhook({ webhook, onClose, onDone }: Props) {
  // The list has only the end of it.
  const isHidden = webhook !== null && webhook.format !== 'standard';
  const form = useForm({
    url: isHidden ? '' : (webhook?.url ?? ''),
    format: (webhook?.format ?? 'standard') as Format,
    routingKey: '',
    severity: (webhook?.min_severity ?? 'medium') as Severity,
  });
  const { url, format, routingKey, severity } = form.values;
  const [events, setEvents] = useState<readonly EventName[]>(webhook?.events ?? ['anomaly.detected']);
  const submit = async () => {
    const rest = {
      format,
      events: [...events],
      min_severity: severity,
      ...(format === 'pagerduty' && routingKey !== '' && { routing_key: routingKey }),
    };
    onDone(
      webhook === null
        ? await call('POST /webhooks', { body: { ...rest, url } })
        : await call('PATCH /webhooks/{webhook_id}', {
            path: { webhook_id: webhook.id },
            body: { ...rest, ...(url !== '' && { url }) },
          }),
    );
  };
  return (
    <FormDialog
      title={webhook === null ? texts.createTitle : texts.editTitle}
      submitText={webhook === null ? shared.create : shared.save}
      isIncomplete={events.length === 0}
      onClose={onClose}
      submit={submit}
    >
      <Select
        label={texts.format}
        {...form.choice('format')}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <TextField
        label={texts.url}
        hint={isHidden ? texts.urlUnchanged(webhook.url) : texts.urlHint}
        {...form.text('url')}
        isRequired={!isHidden}
        isFocused
        isMono
      />
      {format === 'pagerduty' ? (
        <TextField
          label={texts.routingKey}
          hint={texts.routingKeyHint}
          type="password"
          autocomplete="new-password"
          {...form.text('routingKey', 'routing_key')}
          isRequired={webhook?.format !== 'pagerduty'}
        />
      ) : null}
      <fieldset class="checks">
        <legend>{texts.events}</legend>
        {EVENTS.map(([event, title]) => (
          <Checkbox
            key={event}
            label={title}
            isChecked={events.includes(event)}
            onChange={(isChecked) =>
              setEvents(isChecked ? [...events, event] : events.filter((each) => each !== event))
            }
          />
        ))}
      </fieldset>
      {events.includes('anomaly.detected') ? (
        <Select
          label={texts.minSeverity}
          {...form.choice('severity', 'min_severity')}
          choices={Object.entries(texts.severities) as [Severity, string][]}
        />
      ) : null}
    </FormDialog>
  );
}
