import type { RouteOutput } from '@coffer/client';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { type Loaded, useAction } from '../app/loading.ts';
import { href, navigate } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Facts } from '../ui/facts.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { ErrorNote, Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { SecretValue } from '../ui/secret-value.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import type { WebhookItem } from './edit.tsx';
import { WebhookState } from './status.tsx';
import { webhooksTexts as texts } from './texts.ts';

const EditWebhook = lazyPart(() => import('./edit.tsx'));

const DELIVERIES_SHOWN = 100;
type Deliveries = RouteOutput<'GET /webhooks/{webhook_id}/deliveries'>;
type Delivery = Deliveries['deliveries'][number];

export default function Webhook({ id }: { id: string }) {
  const path = { webhook_id: id };
  const webhook = useCall('GET /webhooks/{webhook_id}', { path });
  const crumbs = <a href={href('webhooks')}>{texts.title}</a>;
  return (
    <WhenFound of={webhook} title={id} crumbs={crumbs} texts={texts}>
      {(found) => <Found webhook={found} crumbs={crumbs} onChanged={webhook.reload} />}
    </WhenFound>
  );
}

/** The address of a chat or pager is a secret: anyone who has it can write there. */
function HiddenUrl({ webhook: { id, url }, mayRead }: { webhook: WebhookItem; mayRead: boolean }) {
  if (!mayRead) return <span class="mono">{url}</span>;
  const load = async () => (await call('GET /webhooks/{webhook_id}/url', { path: { webhook_id: id } })).url;
  return <SecretValue label={texts.url} load={load} />;
}

type Tested = RouteOutput<'POST /webhooks/{webhook_id}/test'>;

function Found({
  webhook,
  crumbs,
  onChanged,
}: {
  webhook: WebhookItem;
  crumbs: ComponentChildren;
  onChanged: () => void;
}) {
  const { id, url, enabled, events } = webhook;
  const resource = `webhook/${id}`;
  const path = { webhook_id: id };
  const may = useMay({
    update: ['webhooks:update', resource],
    delete: ['webhooks:delete', resource],
    rotate: ['webhooks:rotate', resource],
    test: ['webhooks:test', resource],
    redeliver: ['webhooks:redeliver', resource],
  });
  const [opened, setOpened] = useState<'edit' | 'rotate' | 'delete' | null>(null);
  const [tested, setTested] = useState<Tested | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const testing = useAction();
  const switching = useAction();
  const deliveries = useCall('GET /webhooks/{webhook_id}/deliveries', { path, query: { limit: DELIVERIES_SHOWN } });
  const test = async () => {
    setTested(null);
    setTested(await call('POST /webhooks/{webhook_id}/test', { path }));
  };
  const turn = async () => {
    await call('PATCH /webhooks/{webhook_id}', { path, body: { enabled: !enabled } });
    toast(enabled ? texts.turnedOff : texts.turnedOn);
    onChanged();
  };
  const rotate = async () => {
    const rotated = await call('POST /webhooks/{webhook_id}/rotate-secret', { path });
    setOpened(null);
    setSecret(rotated.secret);
  };
  const remove = async () => {
    await call('DELETE /webhooks/{webhook_id}', { path });
    toast(texts.deleted);
    navigate(href('webhooks'));
  };
  const close = () => setOpened(null);
  const actions = (
    <>
      {may.rotate ? <Button onClick={() => setOpened('rotate')}>{texts.rotate}</Button> : null}
      {may.update ? (
        <Button isBusy={switching.isRunning} onClick={() => switching.run(turn)}>
          {enabled ? texts.pause : texts.resume}
        </Button>
      ) : null}
      {may.update ? <Button onClick={() => setOpened('edit')}>{shared.change}</Button> : null}
      {may.test ? (
        <Button kind="primary" isBusy={testing.isRunning} onClick={() => testing.run(test)}>
          {texts.test}
        </Button>
      ) : null}
      {may.delete ? (
        <Button kind="destructive" onClick={() => setOpened('delete')}>
          {texts.delete}
        </Button>
      ) : null}
    </>
  );
  return (
    <>
      <PageHead title={url} crumbs={crumbs} actions={actions} />
      <ErrorNote error={testing.error ?? switching.error} />
      <div role="status">{tested === null ? null : <TestResult tested={tested} />}</div>
      <section class="card">
        <Facts
          of={[
            webhook.format === 'standard' ? null : [texts.url, <HiddenUrl webhook={webhook} mayRead={may.update} />],
            [texts.state, <WebhookState webhook={webhook} />],
            [texts.format, texts.formats[webhook.format]],
            [texts.events, events.map((event) => texts.eventNames[event]).join(', ')],
            events.includes('anomaly.detected') ? [texts.minSeverity, texts.severities[webhook.min_severity]] : null,
          ]}
        />
      </section>
      <DeliveryList webhookId={id} deliveries={deliveries} mayRedeliver={may.redeliver} />
      {opened === 'edit' ? (
        <EditWebhook
          webhook={webhook}
          onClose={close}
          onDone={() => {
            toast(texts.saved);
            close();
            onChanged();
          }}
        />
      ) : null}
      {opened === 'rotate' ? (
        <Confirm title={texts.rotateTitle} submitText={texts.rotate} isDanger={false} work={rotate} onClose={close}>
          {texts.rotateText}
        </Confirm>
      ) : null}
      {opened === 'delete' ? (
        <Confirm title={texts.deleteTitle} submitText={texts.delete} work={remove} onClose={close}>
          {texts.deleteText}
        </Confirm>
      ) : null}
      {secret === null ? null : (
        <ShownOnce title={texts.secretTitle} label={texts.secret} value={secret} onClose={() => setSecret(null)}>
          <p>{texts.secretText}</p>
        </ShownOnce>
      )}
    </>
  );
}

function TestResult({ tested: { delivered, response_status, error, duration_ms } }: { tested: Tested }) {
  if (delivered) return <Notice kind="good">{texts.testDelivered(duration_ms)}</Notice>;
  return (
    <Notice kind="danger">
      {texts.testFailed} {response_status === null ? null : texts.testStatus(response_status)}
      {error === null ? null : <div>{error}</div>}
    </Notice>
  );
}

const TONES: Readonly<Record<Delivery['status'], Tone>> = { pending: 'warning', delivered: 'good', failed: 'danger' };

function DeliveryList({
  webhookId,
  deliveries,
  mayRedeliver,
}: {
  webhookId: string;
  deliveries: Loaded<Deliveries>;
  mayRedeliver: boolean;
}) {
  const action = useAction();
  const redeliver = async (delivery: Delivery) => {
    await call('POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver', {
      path: { webhook_id: webhookId, delivery_id: delivery.id },
    });
    toast(texts.redelivered);
    deliveries.reload();
  };
  return (
    <section class="card">
      <h2>{texts.deliveries}</h2>
      <ErrorNote error={action.error} />
      <WhenLoaded of={deliveries}>
        {({ deliveries: list }) =>
          list.length === 0 ? (
            <p class="soft">{texts.noDeliveries}</p>
          ) : (
            <Table
              caption={texts.deliveries}
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                { title: texts.event, cell: ({ event }) => eventName(event) },
                {
                  title: texts.result,
                  cell: ({ status, error }) => (
                    <>
                      <Badge tone={TONES[status]}>{texts.statuses[status]}</Badge>
                      {error === null ? null : <div class="soft">{error}</div>}
                    </>
                  ),
                },
                { title: texts.answer, cell: ({ response_status }) => response_status ?? '–' },
                { title: texts.attempts, cell: ({ attempts }) => attempts },
                { title: texts.next, cell: ({ next_attempt_at }) => <Time at={next_attempt_at} /> },
                { title: texts.when, cell: ({ created_at }) => <Time at={created_at} /> },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (delivery) =>
                    mayRedeliver && delivery.status !== 'pending' ? (
                      <Button isSmall isBusy={action.isRunning} onClick={() => action.run(() => redeliver(delivery))}>
                        {texts.redeliver}
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </WhenLoaded>
    </section>
  );
}

/** An event in words. A test is none of those that can be chosen. */
function eventName(event: string): string {
  const names: Readonly<Record<string, string>> = texts.eventNames;
  return names[event] ?? (event.endsWith('test') ? texts.testEvent : event);
}
