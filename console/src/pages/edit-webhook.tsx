import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { useAction } from '../loading.ts';
import { shared } from '../texts/shared.ts';
import { webhooksTexts as texts } from '../texts/webhooks.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, Select, TextField } from '../ui/field.tsx';

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
  const action = useAction();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [format, setFormat] = useState<Format>(webhook?.format ?? 'standard');
  const [routingKey, setRoutingKey] = useState('');
  const [events, setEvents] = useState<readonly EventName[]>(webhook?.events ?? ['anomaly.detected']);
  const [severity, setSeverity] = useState<Severity>(webhook?.min_severity ?? 'medium');
  const submit = async () => {
    const body = {
      url,
      format,
      events: [...events],
      min_severity: severity,
      ...(format === 'pagerduty' && routingKey !== '' && { routing_key: routingKey }),
    };
    onDone(
      webhook === null
        ? await call('POST /webhooks', { body })
        : await call('PATCH /webhooks/{webhook_id}', { path: { webhook_id: webhook.id }, body }),
    );
  };
  return (
    <FormDialog
      title={webhook === null ? texts.createTitle : texts.editTitle}
      action={action}
      submitText={webhook === null ? shared.create : shared.save}
      isIncomplete={events.length === 0}
      onClose={onClose}
      onSubmit={() => void action.run(submit)}
    >
      <Select
        field="format"
        label={texts.format}
        value={format}
        onChange={setFormat}
        choices={Object.entries(texts.formats) as [Format, string][]}
      />
      <TextField
        field="url"
        label={texts.url}
        hint={texts.urlHint}
        value={url}
        onInput={setUrl}
        isRequired
        isFocused
        isMono
      />
      {format === 'pagerduty' ? (
        <TextField
          field="routing_key"
          label={texts.routingKey}
          hint={texts.routingKeyHint}
          type="password"
          autocomplete="new-password"
          value={routingKey}
          onInput={setRoutingKey}
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
          field="min_severity"
          label={texts.minSeverity}
          value={severity}
          onChange={setSeverity}
          choices={Object.entries(texts.severities) as [Severity, string][]}
        />
      ) : null}
    </FormDialog>
  );
}
