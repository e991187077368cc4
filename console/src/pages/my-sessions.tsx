import { call } from '../api.ts';
import { useMay } from '../capabilities.ts';
import { useAction, useLoaded } from '../loading.ts';
import { sessionTexts as texts } from '../texts/my-passkeys.ts';
import { shared } from '../texts/shared.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

export default function MySessions() {
  const may = useMay({ end: ['sessions:delete', 'self/sessions/example'] });
  const sessions = useLoaded((signal) => call('GET /auth/sessions', { query: { limit: 100 } }, { signal }), []);
  const action = useAction();
  const end = async (id: string) => {
    await call('DELETE /auth/sessions/{session_id}', { path: { session_id: id } });
    toast(texts.ended);
    sessions.reload();
  };
  return (
    <section class="card">
      <h2>{texts.title}</h2>
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
    </section>
  );
}
