import type { RouteInput, RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { settingsTexts as texts } from './texts.ts';

type Settings = RouteOutput<'GET /v1/tenant/settings'>;
type Change = NonNullable<RouteInput<'PATCH /v1/tenant/settings'>['body']>;
type Notice = Settings['mail_notices'][number];

export default function SettingsPage() {
  return (
    <>
      <PageHead title={texts.title} intro={texts.intro} />
      <WhenAllowed check={['tenant_settings:read', 'tenant-settings']}>{() => <LoadedSettings />}</WhenAllowed>
    </>
  );
}

function LoadedSettings() {
  const settings = useCall('GET /v1/tenant/settings');
  return (
    <WhenLoaded of={settings}>
      {(data) => <SettingsForm key={JSON.stringify(data)} settings={data} onChanged={settings.reload} />}
    </WhenLoaded>
  );
}

function SettingsForm({ settings, onChanged }: { settings: Settings; onChanged: () => void }) {
  const may = useMay({ update: ['tenant_settings:update', 'tenant-settings'] });
  const action = useAction();
  const [requireMfa, setRequireMfa] = useState(settings.require_mfa);
  const [notices, setNotices] = useState<readonly Notice[]>(settings.mail_notices);
  const [thresholds, setThresholds] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(Object.entries(settings.anomaly_thresholds).map(([type, value]) => [type, String(value)])),
  );
  const submit = async () => {
    const given = Object.entries(thresholds).filter(([, text]) => text.trim() !== '');
    const wanted = Object.fromEntries(given.map(([type, text]) => [type, Number(text)]));
    // Only what differs is sent, because a weaker rule about second factors needs a second person.
    const body: Change = {
      ...(requireMfa !== settings.require_mfa && { require_mfa: requireMfa }),
      ...(!isSame(notices, settings.mail_notices) && { mail_notices: [...notices] }),
      ...(!isSame(Object.entries(wanted), Object.entries(settings.anomaly_thresholds)) && {
        anomaly_thresholds: wanted,
      }),
    };
    const answer = await call('PATCH /v1/tenant/settings', { body });
    if (!waitsForApproval(answer)) toast(texts.saved);
    onChanged();
  };
  const toggle = (notice: Notice, isOn: boolean) =>
    setNotices(isOn ? [...notices, notice] : notices.filter((each) => each !== notice));
  return (
    <Form error={action.error} onSubmit={() => void action.run(submit)}>
      <section class="card">
        <h2>{texts.people}</h2>
        <Checkbox
          field="require_mfa"
          label={texts.requireMfa}
          hint={texts.requireMfaHint}
          isChecked={requireMfa}
          onChange={setRequireMfa}
        />
      </section>
      <section class="card">
        <h2>{texts.mail}</h2>
        <p class="soft">{texts.mailIntro}</p>
        {(Object.entries(texts.notices) as [Notice, string][]).map(([notice, label]) => (
          <Checkbox
            key={notice}
            label={label}
            isChecked={notices.includes(notice)}
            onChange={(isOn) => toggle(notice, isOn)}
          />
        ))}
      </section>
      <section class="card">
        <h2>{texts.thresholds}</h2>
        <p class="soft">{texts.thresholdsIntro}</p>
        <div class="grid">
          {Object.entries(texts.types).map(([type, [label, standard]]) => (
            <TextField
              key={type}
              field={`anomaly_thresholds/${type}`}
              label={label}
              hint={texts.standard(standard)}
              value={thresholds[type] ?? ''}
              onInput={(text) => setThresholds({ ...thresholds, [type]: text })}
            />
          ))}
        </div>
      </section>
      <ErrorNote error={action.error} />
      {may.update ? (
        <div>
          <Button type="submit" kind="primary" isBusy={action.isRunning}>
            {shared.save}
          </Button>
        </div>
      ) : null}
    </Form>
  );
}

/** Whether two lists have the same entries, in whatever order. */
function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  const texts = (list: readonly unknown[]) => JSON.stringify(list.map((each) => JSON.stringify(each)).sort());
  return texts(one) === texts(other);
}
