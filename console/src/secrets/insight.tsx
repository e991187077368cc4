import { accessAddress } from '../access/index.ts';
import { call } from '../app/api.ts';
import { auditAddress } from '../app/audit-address.ts';
import { useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { useDirectory } from '../people/index.ts';
import { Badge } from '../ui/badge.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { secretTexts as texts } from './texts.ts';

const SHOWN = 10;
const HIGH_RISK = 75;
const SOME_RISK = 50;

/** `ownReads` counts how often the user read the value on this page: the list is loaded again after each. */
export function SecretReads({ vault, path, ownReads }: { vault: string; path: string; ownReads: number }) {
  const reads = useCall(
    'GET /v1/audit',
    { query: { resource: `vault/${vault}/${path}`, action: 'secrets:read', limit: SHOWN } },
    [ownReads],
  );
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.reads}</h2>
        <a href={auditAddress({ resource: `vault/${vault}/${path}`, action: 'secrets:read' })}>{texts.allReads}</a>
      </div>
      <WhenLoaded of={reads}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="soft">{texts.noReads}</p>
          ) : (
            <ul>
              {entries.map(({ id, actor, timestamp, decision, ip }) => (
                <li key={id}>
                  {actor.name} <span class="soft">{ip}</span> <Time at={timestamp} />{' '}
                  {decision === 'allow' ? null : <Badge tone="danger">{texts.readResults[decision]}</Badge>}
                </li>
              ))}
            </ul>
          )
        }
      </WhenLoaded>
    </section>
  );
}

/** Loaded again for each version. A change of the rotation schedule makes a version too. */
export function SecretRisk({ vault, path, version }: { vault: string; path: string; version: number }) {
  const risk = useCall('GET /v1/vaults/{vault}/secrets/{path}/risk', { path: { vault, path } }, [version]);
  return (
    <section class="card">
      <h2>{texts.risk}</h2>
      <WhenLoaded of={risk}>
        {({ risk_score: score, risk_factors: factors }) => (
          <>
            <div>
              <Badge tone={score >= HIGH_RISK ? 'danger' : score >= SOME_RISK ? 'warning' : 'good'}>
                {texts.riskOf(score)}
              </Badge>
            </div>
            {factors.length === 0 ? (
              <p class="soft">{texts.noRisk}</p>
            ) : (
              <ul>
                {factors.map(({ factor, points, why }) => (
                  <li key={factor}>
                    <span class="mono">{texts.points(points)}</span> {why}
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </WhenLoaded>
    </section>
  );
}

/** For users who may call the policy evaluator: everyone whom policies allow to read the secret, and why. */
export function SecretReaders({ vault, path }: { vault: string; path: string }) {
  const readers = useLoaded(
    (signal) => {
      const body = { action: 'secrets:read', resource: `vault/${vault}/${path}` };
      return call('POST /v1/policies/who-can', { body }, { signal, isRead: true });
    },
    [vault, path],
  );
  const may = useMay({ paths: ['attack_paths:list', 'attack-path/*'], access: ['access_paths:list', 'access-path/*'] });
  const ways = `${href('attack-paths')}?${new URLSearchParams({ find: `${vault}/${path}` })}`;
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.readers}</h2>
        <span class="row">
          {may.access ? <a href={accessAddress('secret', `${vault}/${path}`)}>{texts.accessGraph}</a> : null}
          {may.paths ? <a href={ways}>{texts.attackPaths}</a> : null}
        </span>
      </div>
      <WhenLoaded of={readers}>
        {({ principals, truncated, hidden }) => (
          <>
            {principals.length === 0 ? <p class="soft">{texts.noReaders}</p> : null}
            <ul>
              {principals.map(({ kind, id, name, because, conditional }) => (
                <li key={id}>
                  <a href={href(kind === 'user' ? 'people' : 'connections', id)}>{name}</a>{' '}
                  <span class="soft">
                    {because.map((each) => texts.because[each.kind](each.name)).join(', ')}
                    {conditional ? ` (${texts.conditional})` : ''}
                  </span>
                </li>
              ))}
            </ul>
            {truncated ? <p class="soft">{texts.moreReaders}</p> : null}
            {hidden === 0 ? null : <p class="soft">{texts.hiddenReaders(hidden)}</p>}
          </>
        )}
      </WhenLoaded>
    </section>
  );
}

/** For users who may not call the policy evaluator: the members of the vault. */
export function VaultReaders({ vault }: { vault: string }) {
  const members = useCall('GET /v1/vaults/{vault}/members', { path: { vault }, query: { limit: 100 } });
  const directory = useDirectory();
  return (
    <section class="card">
      <h2>{texts.members}</h2>
      <p class="soft">{texts.membersText}</p>
      <WhenLoaded of={members}>
        {({ members: list }) => (
          <ul>
            {list.map(({ kind, id, role }) => (
              <li key={id}>
                {directory.data?.nameOf(kind, id) ?? id} <Badge>{role}</Badge>
              </li>
            ))}
          </ul>
        )}
      </WhenLoaded>
    </section>
  );
}
