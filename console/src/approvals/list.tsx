import { useEffect, useState } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import type { PageProps } from '../app/page.ts';
import { href, place, setQuery } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { messageOf } from '../ui/field-problems.ts';
import { Form } from '../ui/form.tsx';
import { ListPage } from '../ui/list-page.tsx';
import { ErrorNote, Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { decided, loadDecided, markSeen, pageOf } from './decided.ts';
import { loadNamesOf } from './names.ts';
import { ApprovalStatus, type Status } from './status.tsx';
import { approvalsTexts as texts } from './texts.ts';
import { approvalTitle } from './title.ts';
import { loadWaiting } from './waiting.ts';

export default function ApprovalsPage({ rest }: PageProps) {
  const [id] = rest;
  return id === undefined ? <ApprovalList /> : <Approval key={id} id={id} />;
}

function ApprovalList() {
  const status = (place.value.query.get('status') ?? 'pending') as Status;
  return (
    <ListPage
      texts={texts}
      load={(signal) => loadTitled(status, signal)}
      inputs={[status]}
      filters={() => (
        <div class="row">
          <Select
            label={texts.filter}
            value={status}
            onChange={(chosen) => setQuery({ status: chosen === 'pending' ? null : chosen })}
            choices={Object.entries(texts.statuses) as [Status, string][]}
          />
        </div>
      )}
    >
      {(approvals) => (
        <Table
          caption={texts.list}
          rows={approvals}
          keyOf={(each) => each.id}
          columns={[
            { title: texts.change, cell: (each) => <a href={href('approvals', each.id)}>{each.title}</a> },
            { title: texts.requestedBy, cell: (each) => each.requested_by.name },
            { title: shared.created, cell: (each) => <Time at={each.created_at} /> },
            { title: texts.expires, cell: (each) => <Time at={each.expires_at} /> },
            { title: shared.status, cell: (each) => <ApprovalStatus status={each.status} /> },
          ]}
        />
      )}
    </ListPage>
  );
}

async function loadTitled(status: Status, signal: AbortSignal) {
  const { approvals } = await call('GET /approvals', { query: { status, limit: 100 } }, { signal });
  const names = await loadNamesOf(approvals, signal);
  return approvals.map((each) => ({ ...each, title: approvalTitle(each, names, me.value?.user.id) }));
}

function Approval({ id }: { id: string }) {
  const approval = useCall('GET /approvals/{approval_id}', { path: { approval_id: id } });
  const whenDecided = () => {
    approval.reload();
    // It is a reminder, so a failure is no news.
    loadWaiting().catch(() => {});
  };
  const crumbs = <a href={href('approvals')}>{texts.title}</a>;
  return (
    <WhenFound of={approval} title={texts.one} crumbs={crumbs} texts={texts}>
      {(data) => (
        <>
          <PageHead
            title={approvalTitle(data, namesIn(data.request), me.value?.user.id)}
            crumbs={crumbs}
            actions={<ApprovalStatus status={data.status} />}
          />
          <p class="soft">
            {texts.requestedBy} {data.requested_by.name}, <Time at={data.created_at} />
          </p>
          {data.failure === null ? null : (
            <Notice kind="danger">
              {texts.failure} {messageOf(data.failure)}
            </Notice>
          )}
          <Outcome approval={data} />
          {isForgottenInvitation(data) ? (
            <Notice kind="good">
              {texts.inviteAgain} <a href={href('people')}>{texts.toPeople}</a>
            </Notice>
          ) : null}
          <div class="columns">
            <What request={data.request} status={data.status} />
            <div class="stack">
              {data.status === 'pending' ? <Decide approval={data} onDecided={whenDecided} /> : null}
              <Decisions levels={data.levels} isPending={data.status === 'pending'} />
            </div>
          </div>
        </>
      )}
    </WhenFound>
  );
}

/** Tells whoever asked what became of it, and where to go on. */
function Outcome({ approval: { id, status, requested_by, resource } }: { approval: Outcome }) {
  const isOwn = requested_by.id === me.value?.user.id;
  useEffect(() => {
    // It is a reminder, so a failure is no news.
    if (isOwn && status !== 'pending') loadDecided().catch(() => {});
  }, [isOwn, status]);
  // The list of what is new may be loaded later than this page.
  const isNew = decided.value.some((each) => each.id === id);
  useEffect(() => {
    if (isOwn && isNew) markSeen([id]);
  }, [isOwn, isNew]);
  const page = pageOf(resource);
  if (!isOwn || status === 'pending' || status === 'failed') return null;
  return (
    <Notice {...(status === 'completed' && { kind: 'good' as const })}>
      <div>
        {texts.outcomes[status]}
        {page === null ? null : (
          <>
            {' '}
            <a href={page}>{status === 'completed' ? texts.goOn : texts.seeIt}</a>
          </>
        )}
      </div>
    </Notice>
  );
}

interface Outcome {
  readonly id: string;
  readonly status: Status;
  readonly requested_by: { readonly id: string };
  readonly resource: string;
}

/** An invitation that was approved: its code was not made, because only who asked may see it. */
function isForgottenInvitation({
  operation,
  status,
  requested_by,
  request,
}: {
  operation: string;
  status: Status;
  requested_by: { id: string };
  request: Request | null;
}): boolean {
  const { invite } = (request?.body ?? {}) as { invite?: boolean };
  const isOwn = requested_by.id === me.value?.user.id;
  return operation === 'createUser' && status === 'completed' && isOwn && invite === true;
}

function namesIn(request: Request | null): Record<string, unknown> {
  return (request?.names ?? {}) as Record<string, unknown>;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body?: unknown;
  readonly names: unknown;
  readonly differences: readonly { what: string; before?: unknown; after?: unknown }[];
}

function What({ request, status }: { request: Request | null; status: Status }) {
  if (request === null) return null;
  const known = namesIn(request);
  const names = Object.entries(known);
  const title = status === 'pending' ? texts.what : status === 'completed' ? texts.happened : texts.asked;
  return (
    <section class="card">
      <h2>{title}</h2>
      {request.differences.length === 0 ? null : (
        <Table
          caption={title}
          rows={request.differences}
          keyOf={({ what }) => what}
          columns={[
            { title: texts.field, cell: ({ what }) => inNames(what, known) },
            {
              title: status === 'pending' ? texts.before : texts.beforeThat,
              cell: ({ before }) => <Value of={before} names={known} />,
            },
            { title: texts.after, cell: ({ after }) => <Value of={after} names={known} /> },
          ]}
        />
      )}
      <details open={request.differences.length === 0}>
        <summary>{texts.request}</summary>
        <pre>
          {request.method} {request.path}
          {request.query}
          {request.body === undefined || request.body === null ? '' : `\n${JSON.stringify(request.body, null, 2)}`}
        </pre>
        {names.length === 0 ? null : (
          <>
            <h3>{texts.names}</h3>
            <ul class="plain">
              {names.map(([id, name]) => (
                <li key={id}>
                  <code>{id}</code> {String(name)}
                </li>
              ))}
            </ul>
          </>
        )}
      </details>
    </section>
  );
}

/** With names in place of ids, and times as people read them. */
function Value({ of: value, names }: { of: unknown; names: Record<string, unknown> }) {
  if (value === undefined || value === null) return <>–</>;
  if (typeof value === 'string' && TIME.test(value)) return <Time at={value} />;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return <pre>{inNames(text, names).replaceAll(TIMES, (time) => new Date(time).toLocaleString('en'))}</pre>;
}
const TIMES = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function inNames(text: string, names: Record<string, unknown>): string {
  return text.replaceAll(IDS, (id) => (typeof names[id] === 'string' ? names[id] : id));
}
const IDS = /\b[a-z]+_[0-9a-z]{26}\b/g;

function Decide({
  approval,
  onDecided,
}: {
  approval: { id: string; kind: string; digest: string | null; requested_by: { id: string }; can_approve: boolean };
  onDecided: () => void;
}) {
  const may = useMay({ decide: ['approvals:decide', 'self/approvals'] });
  const action = useAction();
  const [reason, setReason] = useState('');
  const isOwn = approval.requested_by.id === me.value?.user.id;
  // Others are told by the service why they cannot approve.
  const isRefused = isOwn && !approval.can_approve;
  if (!may.decide) return null;
  const path = { approval_id: approval.id };
  const more = reason === '' ? {} : { reason };
  const approve = async () => {
    const body = { digest: approval.digest ?? '', ...more };
    const { status } = await call('POST /approvals/{approval_id}/approve', { path, body });
    toast(status === 'pending' ? texts.oneMore : texts.approved);
    onDecided();
  };
  const reject = async () => {
    await call('POST /approvals/{approval_id}/reject', { path, body: more });
    toast(isOwn ? texts.withdrawn : texts.rejected);
    onDecided();
  };
  return (
    <section class="card">
      <h2>{texts.decisions}</h2>
      {isOwn ? <p>{approval.can_approve ? texts.ownAlone : texts.own}</p> : null}
      {isRefused ? null : <p class="soft">{texts.digest}</p>}
      {/* The key Enter decides nothing. */}
      <Form error={action.error} onSubmit={() => {}}>
        <TextField field="reason" label={texts.reason} hint={texts.reasonHint} value={reason} onInput={setReason} />
        <ErrorNote error={action.error} />
      </Form>
      <div class="row">
        {isRefused ? null : (
          <Button kind="primary" isBusy={action.isRunning} onClick={() => action.run(approve)}>
            {texts.approve}
          </Button>
        )}
        <Button isBusy={action.isRunning} onClick={() => action.run(reject)}>
          {isOwn ? texts.withdraw : texts.reject}
        </Button>
      </div>
    </section>
  );
}

interface Level {
  readonly level: keyof typeof texts.levels;
  readonly decided_by: { name: string } | null;
  readonly decision: keyof typeof texts.decided | null;
  readonly reason: string | null;
  readonly at: string | null;
}

function Decisions({ levels, isPending }: { levels: readonly Level[]; isPending: boolean }) {
  return (
    <section class="card">
      <h2>{texts.level}</h2>
      <ol>
        {levels.map(({ level, decided_by, decision, reason, at }, index) => (
          <li key={index}>
            {levels[index - 1]?.level === level ? texts.another[level] : texts.levels[level]}:{' '}
            {decision === null ? (isPending ? texts.undecided : texts.notNeeded) : texts.decided[decision]}{' '}
            {decided_by?.name} {at === null ? null : <Time at={at} />}
            {reason ? <div class="soft">{reason}</div> : null}
          </li>
        ))}
      </ol>
    </section>
  );
}
