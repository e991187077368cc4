import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useCall } from '../app/use-call.ts';
import { goToProvider } from '../sign-in/index.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { linksTexts as texts } from './link-texts.ts';

/** The providers with which somebody signs in, or could. Nothing is shown where the organization has none. */
export default function MyLinks() {
  const links = useCall('GET /auth/links');
  const [joining, setJoining] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const link = async (provider: string) => {
    goToProvider(await call('POST /auth/links', { body: { provider } }));
  };
  if (links.data?.links.length === 0) return null;
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      <p class="soft">{texts.intro}</p>
      <WhenLoaded of={links}>
        {({ links: list }) => (
          <Table
            caption={texts.title}
            rows={list}
            keyOf={({ provider }) => provider}
            columns={[
              { title: texts.provider, cell: ({ provider }) => provider },
              { title: texts.since, cell: ({ linked_at }) => <Time at={linked_at} none={texts.notLinked} /> },
              {
                title: shared.actions,
                isActions: true,
                cell: ({ provider, linked_at }) =>
                  linked_at === null ? (
                    <Button isSmall label={texts.linkWith(provider)} onClick={() => setJoining(provider)}>
                      {texts.link}
                    </Button>
                  ) : (
                    <Button isSmall label={texts.unlinkFrom(provider)} onClick={() => setLeaving(provider)}>
                      {texts.unlink}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </WhenLoaded>
      {joining === null ? null : (
        <Confirm
          title={texts.linkWith(joining)}
          submitText={texts.link}
          isDanger={false}
          onClose={() => setJoining(null)}
          work={() => link(joining)}
        >
          {texts.linkText}
        </Confirm>
      )}
      {leaving === null ? null : (
        <Confirm
          title={texts.unlinkFrom(leaving)}
          submitText={texts.unlink}
          onClose={() => setLeaving(null)}
          work={async () => {
            await call('DELETE /auth/links/{provider}', { path: { provider: leaving } });
            toast(texts.unlinked(leaving));
            setLeaving(null);
            links.reload();
          }}
        >
          {texts.unlinkText}
        </Confirm>
      )}
    </section>
  );
}
