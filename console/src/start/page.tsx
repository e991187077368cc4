import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { anomaliesTexts } from '../anomalies/index.ts';
import { call, me } from '../app/api.ts';
import { mayOne, useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import {
  ApprovalStatus,
  approvalTitle,
  decided,
  endOf,
  isOwn,
  loadDecided,
  loadNamesOf,
  markSeen,
} from '../approvals/index.ts';
import { EnvironmentBadge, SeverityBadge } from '../ui/badge.tsx';
import { Button, LinkButton } from '../ui/button.tsx';
import { messageOf } from '../ui/field-problems.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Empty, Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Time } from '../ui/time.tsx';
import type { DueSecret as CalendarEntry } from './calendar.tsx';
import { homeTexts as texts } from './texts.ts';

const SHOWN = 5;
const LIMIT = 100;
/** How far ahead something counts as due. */
const ROTATION_DAYS = 7;
const EXPIRY_DAYS = 30;
const DAY_MS = 86_400_000;
const Activity = lazyPart(() => import('./activity.tsx'));
const Calendar = lazyPart<{ due: readonly CalendarEntry[] }>(() => import('./calendar.tsx'));

export default function HomePage() {
  const needs = useLoaded(loadNeeds, []);
  return (
    <>
      <PageHead title={texts.title} />
      <Warnings />
      <DecidedRequests />
      <WhenLoaded of={needs}>
        {(data) =>
          data.vaults === 0 ? (
            <>
              {data.mayCreate ? <Welcome /> : <Empty title={texts.welcomeTitle}>{texts.noVaults}</Empty>}
              {data.approvals.length === 0 ? null : <Needs {...data} />}
            </>
          ) : (
            <>
              {data.isShared ? null : <NextStep />}
              <Needs {...data} />
              {data.maySeeActivity ? <Activity /> : null}
              <Calendar due={data.calendar} />
            </>
          )
        }
      </WhenLoaded>
    </>
  );
}

function Warnings() {
  const warnings = me.value?.warnings ?? [];
  return warnings.map(({ code, message }) => (
    <Notice key={code} kind="warning">
      {code === 'first_token' ? <FirstToken /> : messageOf({ message })}
    </Notice>
  ));
}

function FirstToken() {
  return (
    <>
      <strong>{texts.firstToken}</strong>
      <div>{texts.firstTokenText}</div>
      <div>
        <a href={`${href('me')}?part=tokens`}>{texts.firstTokenRevoke}</a>
      </div>
    </>
  );
}

/** What became of requests that waited for a second person, until somebody looked at it. */
function DecidedRequests() {
  useEffect(() => {
    // It is a reminder: without it the page still shows all else.
    loadDecided().catch(() => {});
  }, []);
  const list = decided.value;
  if (list.length === 0) return null;
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.decided(list.length)}</h2>
        <Button isSmall onClick={() => markSeen(list.map(({ id }) => id))}>
          {texts.decidedSeen}
        </Button>
      </div>
      <ul class="plain">
        {list.slice(0, SHOWN).map((each) => (
          <li key={each.id}>
            <ApprovalStatus status={each.status} />{' '}
            <a href={href('approvals', each.id)}>{approvalTitle(each, {}, me.value?.user.id)}</a>{' '}
            <Time at={endOf(each)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Welcome() {
  const may = useMay({
    vault: ['vaults:create', 'vault/example'],
    invite: ['users:create', 'user'],
    connect: ['app_connections:create', 'app-connection'],
  });
  return (
    <section class="stack" aria-label={texts.welcomeTitle}>
      <h2>{texts.welcomeTitle}</h2>
      <p>{texts.welcomeText}</p>
      <div class="grid">
        <div class="card">
          <h3>{texts.firstVault}</h3>
          <p>{texts.firstVaultText}</p>
          {may.vault ? (
            <div>
              <LinkButton kind="primary" href={`${href('vaults')}?new=1`}>
                {texts.createVault}
              </LinkButton>
            </div>
          ) : null}
        </div>
        <div class="card">
          <h3>{texts.firstPeople}</h3>
          <p>{texts.firstPeopleText}</p>
          <div class="row">
            {may.invite ? <LinkButton href={`${href('people')}?new=1`}>{texts.invite}</LinkButton> : null}
            {may.connect ? <LinkButton href={`${href('connections')}?new=1`}>{texts.connect}</LinkButton> : null}
          </div>
        </div>
      </div>
    </section>
  );
}

/** The second step of the guide, until it is done or dismissed in this browser. */
function NextStep() {
  const may = useMay(SHARING);
  const [isDismissed, setDismissed] = useState(isGuideDismissed());
  if (isDismissed || !(may.invite || may.connect)) return null;
  const dismiss = () => {
    localStorage.setItem(DISMISSED, '1');
    setDismissed(true);
  };
  return (
    <section class="card">
      <h2>{texts.nextPeople}</h2>
      <p>{texts.firstPeopleText}</p>
      <div class="row">
        {may.invite ? <LinkButton href={`${href('people')}?new=1`}>{texts.invite}</LinkButton> : null}
        {may.connect ? <LinkButton href={`${href('connections')}?new=1`}>{texts.connect}</LinkButton> : null}
        <Button kind="quiet" onClick={dismiss}>
          {texts.dismissGuide}
        </Button>
      </div>
    </section>
  );
}

const SHARING = {
  invite: ['users:create', 'user'],
  connect: ['app_connections:create', 'app-connection'],
} as const;
const DISMISSED = 'coffer-guide-dismissed';
const isGuideDismissed = () => localStorage.getItem(DISMISSED) !== null;

/** Whether somebody else or a program has access already; true if that is not for this person to see, or nobody wants to know. */
async function loadIsShared(signal: AbortSignal): Promise<boolean> {
  if (isGuideDismissed()) return true;
  const [maySeeUsers, maySeeConnections] = await Promise.all([
    mayOne(['users:list', 'user']),
    mayOne(['app_connections:list', 'app-connection']),
  ]);
  if (!maySeeUsers || !maySeeConnections) return true;
  const [{ users }, { app_connections }] = await Promise.all([
    call('GET /v1/users', { query: { limit: 2 } }, { signal }),
    call('GET /v1/app-connections', { query: { limit: 1 } }, { signal }),
  ]);
  return users.length > 1 || app_connections.length > 0;
}

type Needs = Awaited<ReturnType<typeof loadNeeds>>;

function Needs({ approvals, names, anomalies, failed, due, ending, exporters, own }: Needs) {
  const others = approvals.filter((each) => !isOwn(each));
  const isQuiet = [approvals, anomalies, failed, due, ending, exporters].every((list) => list.length === 0);
  return (
    <>
      {isQuiet ? (
        <Empty title={texts.nothing} icon="check">
          {texts.nothingText}
        </Empty>
      ) : null}
      <div class="grid">
        <Card title={texts.approvals(others.length, LIMIT)} address={href('approvals')} items={others}>
          {(each) => <WaitingRequest approval={each} names={names} />}
        </Card>
        <Card title={texts.ownRequests} address={href('approvals')} items={approvals.filter(isOwn)}>
          {(each) => <WaitingRequest approval={each} names={names} />}
        </Card>
        <Card title={texts.anomalies(anomalies.length, LIMIT)} address={href('anomalies')} items={anomalies}>
          {(each) => (
            <a href={href('anomalies', each.id)}>
              <SeverityBadge severity={each.severity} /> {anomaliesTexts.types[each.type]}{' '}
              <span class="soft">{each.resource}</span>
            </a>
          )}
        </Card>
        <Card title={texts.failedRotations(failed.length, LIMIT)} hint={texts.failedRotationsHint} items={failed}>
          {(each) => <DueSecret {...each} />}
        </Card>
        <Card title={texts.dueRotations(due.length, LIMIT)} hint={texts.dueRotationsHint(ROTATION_DAYS)} items={due}>
          {(each) => <DueSecret {...each} />}
        </Card>
        <Card title={texts.ending(ending.length, LIMIT)} hint={texts.endingHint(EXPIRY_DAYS)} items={ending}>
          {(each) => <DueSecret {...each} />}
        </Card>
        <Card title={texts.exporters(exporters.length, LIMIT)} address={href('exporters')} items={exporters}>
          {(each) => <a href={href('exporters', each.id)}>{each.name}</a>}
        </Card>
        <Card title={texts.vaults} address={href('vaults')} items={own}>
          {(each) => (
            <span class="row">
              <a href={href('vaults', each.name)}>{each.name}</a>
              <EnvironmentBadge environment={each.environment} />
            </span>
          )}
        </Card>
      </div>
    </>
  );
}

function WaitingRequest({ approval, names }: { approval: Needs['approvals'][number]; names: Needs['names'] }) {
  return (
    <a href={href('approvals', approval.id)}>
      {approvalTitle(approval, names, me.value?.user.id)} <Time at={approval.created_at} />
    </a>
  );
}

function DueSecret({ vault, path, at }: { vault: string; path: string; at: string }) {
  return (
    <>
      <a href={href('vaults', vault, 'secret', path)}>{`${vault}/${path}`}</a> <Time at={at} />
    </>
  );
}

/** The first few, and the others on another page or, if there is none, here. */
function Card<T extends { id: string }>({
  title,
  hint,
  address,
  items,
  children,
}: {
  title: string;
  hint?: string;
  address?: string;
  items: readonly T[];
  children: (item: T) => ComponentChildren;
}) {
  const [isWhole, setWhole] = useState(false);
  if (items.length === 0) return null;
  return (
    <section class="card">
      <div class="row between">
        <h2>{title}</h2>
        {address === undefined ? null : <a href={address}>{texts.seeAll}</a>}
      </div>
      {hint === undefined ? null : <p class="soft">{hint}</p>}
      <ul>
        {items.slice(0, isWhole ? LIMIT : SHOWN).map((item) => (
          <li key={item.id}>{children(item)}</li>
        ))}
      </ul>
      {address !== undefined || isWhole || items.length <= SHOWN ? null : (
        <div>
          <Button isSmall onClick={() => setWhole(true)}>
            {texts.showAll(items.length, LIMIT)}
          </Button>
        </div>
      )}
    </section>
  );
}

/** Only what this person may see is asked for: a refusal would be recorded as one. */
async function loadNeeds(signal: AbortSignal) {
  const query = { limit: LIMIT };
  const [mayCreate, mayApprove, maySeeAnomalies, maySeeExporters, maySeeActivity] = await Promise.all([
    mayOne(['vaults:create', 'vault/example']),
    mayOne(['approvals:list', 'self/approvals']),
    mayOne(['anomalies:read', 'vault/example']),
    mayOne(['exporters:list', 'exporter/*']),
    mayOne(['audit:read', 'audit']),
  ]);
  const dueOf = async (kind: 'failed_rotation' | 'rotation' | 'expiry', within_days = ROTATION_DAYS) =>
    (await call('GET /v1/secrets/due', { query: { ...query, kind, within_days } }, { signal })).secrets;
  const [{ vaults, total }, failed, rotating, ending, approvals, anomalies, exporters, isShared] = await Promise.all([
    call('GET /v1/vaults', { query: { limit: SHOWN } }, { signal }),
    dueOf('failed_rotation'),
    dueOf('rotation', EXPIRY_DAYS),
    dueOf('expiry', EXPIRY_DAYS),
    mayApprove ? call('GET /approvals', { query: { ...query, status: 'pending' } }, { signal }) : null,
    maySeeAnomalies ? call('GET /anomalies', { query }, { signal }) : null,
    maySeeExporters ? call('GET /v1/audit/exporters', { query }, { signal }) : null,
    loadIsShared(signal),
  ]);
  const soon = Date.now() + ROTATION_DAYS * DAY_MS;
  return {
    vaults: total,
    own: vaults,
    isShared,
    mayCreate,
    maySeeActivity,
    failed,
    due: rotating.filter(({ at }) => Date.parse(at) < soon),
    calendar: [
      ...rotating.map((each) => ({ ...each, kind: 'rotation' as const })),
      ...ending.map((each) => ({ ...each, kind: 'expiry' as const })),
    ],
    ending,
    approvals: approvals?.approvals ?? [],
    names: await loadNamesOf(approvals?.approvals ?? [], signal),
    anomalies: anomalies?.anomalies ?? [],
    exporters: (exporters?.exporters ?? []).filter(({ enabled, last_error }) => enabled && last_error !== null),
  };
}
