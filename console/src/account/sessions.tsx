import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Checkbox } from '../ui/field.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { sessionTexts as texts } from './passkey-texts.ts';

export default function MySessions() {
  const may = useMay({ end: ['sessions:delete', 'self/sessions/example'] });
  const sessions = useCall('GET /auth/sessions', { query: { limit: 100 } });
  const action = useAction();
  const end = async (id: string) => {
    await call('DELETE /auth/sessions/{session_id}', { path: { session_id: id } });
    toast(texts.ended);
    sessions.reload();
  };
  const [isEndingAll, setEndingAll] = useState(false);
  const [keepsTokens, setKeepsTokens] = useState(false);
  const endAll = async () => {
    await call('DELETE /auth/sessions', { query: keepsTokens ? { keep_tokens: true } : {} });
    toast(texts.endedAll);
    setEndingAll(false);
    sessions.reload();
  };
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.title}</h2>
        {may.end ? <Button onClick={() => setEndingAll(true)}>{texts.endAll}</Button> : null}
      </div>
      <p class="soft">{texts.intro}</p>
      <ErrorNote error={action.error} />
      <WhenLoaded of={sessions}>
        {({ sessions: list }) => (
          <Table
            caption={texts.title}
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              {
                title: texts.method,
                cell: ({ method, is_current }) => (
                  <span class="row">
                    {method === null ? '–' : texts.methods[method]}
                    {is_current ? <Badge tone="good">{texts.current}</Badge> : null}
                  </span>
                ),
              },
              { title: texts.address, cell: ({ address }) => address ?? '–' },
              { title: shared.created, cell: ({ created_at }) => <Time at={created_at} /> },
              { title: texts.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
              {
                title: shared.actions,
                isActions: true,
                cell: ({ id, is_current }) =>
                  may.end && !is_current ? (
                    <Button isSmall isBusy={action.isRunning} onClick={() => action.run(() => end(id))}>
                      {texts.end}
                    </Button>
                  ) : null,
              },
            ]}
          />
        )}
      </WhenLoaded>
      {isEndingAll ? (
        <Confirm title={texts.endAllTitle} submitText={texts.endAll} onClose={() => setEndingAll(false)} work={endAll}>
          <p>{texts.endAllText}</p>
          <Checkbox label={texts.keepTokens} isChecked={keepsTokens} onChange={setKeepsTokens} />
        </Confirm>
      ) : null}
    </section>
  );
}
