import { useEffect } from 'preact/hooks';
import { call, me } from '../app/api.ts';
import type { PageProps } from '../app/page.ts';
import { href, place, setQuery } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Select } from '../ui/field.tsx';
import { messageOf } from '../ui/field-problems.ts';
import { ListPage } from '../ui/list-page.tsx';
import { Notice } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { WhenFound } from '../ui/when-found.tsx';
import { ApprovalCards } from './cards.tsx';
import { Decide } from './decide.tsx';
import { decided, loadDecided, markSeen, pageOf } from './decided.ts';
import { loadNamesOf } from './names.ts';
import { namesIn, type Request, What } from './request.tsx';
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
      {(approvals, { reload }) =>
        status === 'pending' ? (
          <ApprovalCards
            approvals={approvals}
            onDecided={() => {
              reload();
              // It is a reminder, so a failure is no news.
              loadWaiting().catch(() => {});
            }}
          />
        ) : (
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
        )
      }
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
