import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction, useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge, SeverityBadge } from '../ui/badge.tsx';
import { Button, LinkButton } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Facts } from '../ui/facts.tsx';
import { TextField } from '../ui/field.tsx';
import { ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { Measures } from './measures.tsx';
import { ReadsPlot } from './reads-part.ts';
import { anomaliesTexts as texts } from './texts.ts';

type AnomalyItem = Awaited<ReturnType<typeof read>>;

/** It is not there, or it is about something that the person cannot see. */
const NOT_SHOWN = ['NOT_FOUND', 'INSUFFICIENT_PRIVILEGE'];

const read = (id: string, signal: AbortSignal) =>
  call('GET /anomalies/{anomaly_id}', { path: { anomaly_id: id } }, { signal });

export default function Anomaly({ id }: { id: string }) {
  const anomaly = useLoaded((signal) => read(id, signal), [id]);
  const crumbs = <a href={href('anomalies')}>{texts.title}</a>;
  return (
    <WhenFound of={anomaly} codes={NOT_SHOWN} title={texts.one} crumbs={crumbs} texts={texts}>
      {(found) => (
        <>
          <PageHead
            title={texts.types[found.type]}
            crumbs={crumbs}
            actions={<Decide anomaly={found} onDone={anomaly.reload} />}
          />
          <Found anomaly={found} />
        </>
      )}
    </WhenFound>
  );
}

function Found({ anomaly }: { anomaly: AnomalyItem }) {
  const { resource } = anomaly;
  const may = useMay({ audit: ['audit:read', 'audit'] });
  const isSecret = /^vault\/[^/]+\/.+/.test(resource);
  return (
    <>
      <div class="row">
        <SeverityBadge severity={anomaly.severity} />
        <Badge>{texts.statuses[anomaly.status]}</Badge>
        <code>{resource}</code>
      </div>
      <div class="columns">
        <div class="stack">
          <Advice anomaly={anomaly} />
          {isSecret ? <ReadsPlot resource={resource} isClose maySeeLog={may.audit} /> : null}
          <section class="card">
            <h2>{texts.seen}</h2>
            <Measures observed={anomaly.observed} baseline={anomaly.baseline} />
          </section>
        </div>
        <div class="stack">
          <section class="card">
            <h2>{texts.history}</h2>
            <Facts
              of={[
                [texts.first, <Time at={anomaly.detected_at} />],
                [texts.lastSeen, <Time at={anomaly.last_seen_at} />],
                [texts.occurrences, anomaly.occurrences],
                anomaly.note === null ? null : [texts.note, anomaly.note],
              ]}
            />
          </section>
          {isSecret ? <Baselines resource={resource} /> : null}
        </div>
      </div>
    </>
  );
}

/** What to do, with the pages where it is done. The requests that do it are for whoever writes a program. */
function Advice({ anomaly: { type, resource, recommendation } }: { anomaly: AnomalyItem }) {
  const may = useMay({ audit: ['audit:read', 'audit'] });
  const reads = new URLSearchParams({ resource, action: 'secrets:read' });
  const page = pageOf(resource);
  return (
    <section class="card">
      <h2>{texts.recommendation}</h2>
      <p>{texts.advice[type]}</p>
      <div class="row">
        {page === null ? null : <LinkButton href={page.address}>{page.title}</LinkButton>}
        {type === 'unusual_access_pattern' && resource.startsWith('vault/') && may.audit ? (
          <LinkButton href={`${href('audit')}?${reads}`}>{texts.seeReads}</LinkButton>
        ) : null}
      </div>
      <details>
        <summary>{texts.byRequest}</summary>
        <p class="soft">{recommendation}</p>
      </details>
    </section>
  );
}

/** The page of what an anomaly is about. */
function pageOf(resource: string): { title: string; address: string } | null {
  const [kind, name = '', ...rest] = resource.split('/');
  if (name === '') return null;
  if (kind === 'vault' && rest.length > 0) {
    return { title: texts.seeSecret, address: href('vaults', name, 'secret', ...rest) };
  }
  if (kind === 'vault') return { title: texts.seeMembers, address: `${href('vaults', name)}?part=members` };
  if (kind === 'app-connection') return { title: texts.seeConnection, address: href('connections', name) };
  return kind === 'user' ? { title: texts.seePerson, address: href('people', name) } : null;
}

function Baselines({ resource }: { resource: string }) {
  const baselines = useCall('GET /anomalies/baselines', { query: { resource } });
  return (
    <section class="card">
      <h2>{texts.usual}</h2>
      <WhenLoaded of={baselines}>
        {({ baselines: list }) =>
          list.every(({ samples }) => samples === 0) ? (
            <p class="soft">{texts.usualUnknown}</p>
          ) : (
            <dl class="facts">
              {list.map(({ metric, mean, p95 }) => (
                <Fragment key={metric}>
                  <dt>{texts.metrics[metric]}</dt>
                  <dd>{texts.usualOf(mean.toFixed(1), p95.toFixed(1))}</dd>
                </Fragment>
              ))}
            </dl>
          )
        }
      </WhenLoaded>
    </section>
  );
}

function Decide({ anomaly, onDone }: { anomaly: AnomalyItem; onDone: () => void }) {
  const may = useMay({
    acknowledge: ['anomalies:acknowledge', anomaly.resource],
    dismiss: ['anomalies:dismiss', anomaly.resource],
  });
  const expected = useAction();
  const [opened, setOpened] = useState<'acknowledge' | 'dismiss' | null>(null);
  const [text, setText] = useState('');
  if (anomaly.status !== 'open' && anomaly.status !== 'acknowledged') return null;
  const path = { anomaly_id: anomaly.id };
  const submit = async () => {
    if (opened === 'dismiss') await call('POST /anomalies/{anomaly_id}/dismiss', { path, body: { reason: text } });
    else await call('POST /anomalies/{anomaly_id}/acknowledge', { path, body: text === '' ? {} : { note: text } });
    toast(opened === 'dismiss' ? texts.dismissed : texts.acknowledged);
    setOpened(null);
    onDone();
  };
  const wasExpected = async () => {
    await call('POST /anomalies/{anomaly_id}/dismiss', { path, body: { reason: texts.expectedReason } });
    toast(texts.dismissed);
    onDone();
  };
  return (
    <>
      {may.dismiss ? (
        <Button isBusy={expected.isRunning} onClick={() => expected.run(wasExpected)}>
          {texts.expected}
        </Button>
      ) : null}
      <ErrorNote error={expected.error} />
      {may.dismiss ? <Button onClick={() => setOpened('dismiss')}>{texts.dismiss}</Button> : null}
      {may.acknowledge && anomaly.status === 'open' ? (
        <Button kind="primary" onClick={() => setOpened('acknowledge')}>
          {texts.acknowledge}
        </Button>
      ) : null}
      {opened === null ? null : (
        <FormDialog
          title={opened === 'dismiss' ? texts.dismiss : texts.acknowledge}
          submitText={opened === 'dismiss' ? texts.dismiss : texts.acknowledge}
          onClose={() => setOpened(null)}
          submit={submit}
        >
          {opened === 'dismiss' ? <p>{texts.dismissText}</p> : null}
          <TextField
            field={opened === 'dismiss' ? 'reason' : 'note'}
            label={opened === 'dismiss' ? texts.reason : texts.note}
            value={text}
            onInput={setText}
            isRequired={opened === 'dismiss'}
            isFocused
          />
        </FormDialog>
      )}
    </>
  );
}
