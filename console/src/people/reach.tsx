import { accessAddress } from '../access/index.ts';
import { auditAddress } from '../app/audit-address.ts';
import { useMay } from '../app/capabilities.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { User } from './data.ts';
import { reachTexts as texts } from './reach-texts.ts';

const WAYS = 50;
const READS = 10;

/** What a person can reach by all of their rights, and what they read lately. */
export function PersonReach({ user }: { user: User }) {
  const may = useMay({ access: ['access_paths:list', 'access-path/*'], audit: ['audit:read', 'audit'] });
  return (
    <>
      {may.access ? <Reachable user={user} /> : null}
      {may.audit ? <Reads user={user} /> : null}
    </>
  );
}

function Reachable({ user: { id, email, status } }: { user: User }) {
  const ways = useCall('GET /v1/access-paths', { query: { user: id, limit: WAYS } }, [status]);
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.reach}</h2>
        <a href={accessAddress('user', email)}>{texts.asGraph}</a>
      </div>
      <WhenLoaded of={ways}>
        {({ access_paths: paths, hidden, next_cursor }) => (
          <>
            {paths.length === 0 ? (
              <Empty title={texts.reachesNothing}>
                {status === 'active' ? texts.reachesNothingText : texts.cannotSignIn}
              </Empty>
            ) : (
              <Table
                caption={texts.reach}
                rows={paths}
                keyOf={({ vault, group, grant }) => JSON.stringify([vault, group?.id, grant])}
                columns={[
                  { title: texts.vault, cell: ({ vault }) => <a href={href('vaults', vault)}>{vault}</a> },
                  {
                    title: texts.environment,
                    cell: ({ environment }) => <EnvironmentBadge environment={environment} />,
                  },
                  {
                    title: texts.because,
                    cell: ({ grant, group }) => (
                      <>
                        {texts.grants[grant.kind](grant.name)}
                        {group === null ? null : <> {texts.byGroup(group.name)}</>}
                        {grant.until === null ? null : (
                          <>
                            , {texts.until} <Time at={grant.until} />
                          </>
                        )}
                      </>
                    ),
                  },
                ]}
              />
            )}
            {next_cursor === null ? null : <p class="soft">{texts.moreWays(paths.length)}</p>}
            {hidden === 0 ? null : <p class="soft">{texts.hidden(hidden)}</p>}
          </>
        )}
      </WhenLoaded>
    </section>
  );
}

function Reads({ user: { id } }: { user: User }) {
  const filter = { actor: id, action: 'secrets:read' };
  const reads = useCall('GET /v1/audit', { query: { ...filter, limit: READS } });
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.reads}</h2>
        <a href={auditAddress(filter)}>{texts.allReads}</a>
      </div>
      <WhenLoaded of={reads}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="soft">{texts.noReads}</p>
          ) : (
            <ul>
              {entries.map(({ id: entry, resource, timestamp, decision }) => (
                <li key={entry}>
                  <span class="breakable">{resource.replace(/^vault\//, '')}</span> <Time at={timestamp} />{' '}
                  {decision === 'allow' ? null : <Badge tone="danger">{texts.decisions[decision]}</Badge>}
                </li>
              ))}
            </ul>
          )
        }
      </WhenLoaded>
    </section>
  );
}
