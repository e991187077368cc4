import type { RouteOutput } from '@coffer/client';
import { useCall } from '../app/use-call.ts';
import { Notice, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Time } from '../ui/time.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { planTexts as texts } from './texts.ts';

type Tier = RouteOutput<'GET /saas/tier'>;
type Use = Tier['quotas']['vaults'];

const NUMBER = new Intl.NumberFormat('en');
const NEARLY_FULL = 0.9;

export default function PlanPage() {
  return (
    <>
      <PageHead title={texts.title} />
      <WhenAllowed check={['tier:read', 'tier']}>{() => <LoadedPlan />}</WhenAllowed>
    </>
  );
}

function LoadedPlan() {
  const tier = useCall('GET /saas/tier');
  return <WhenLoaded of={tier}>{(data) => <Plan {...data} />}</WhenLoaded>;
}

function Plan({ tier, quotas, grace_period: grace }: Tier) {
  const { requests_per_minute: rates, ...counts } = quotas;
  return (
    <>
      <p>{texts.current(texts.tiers[tier])}</p>
      {grace === null ? null : (
        <Notice kind="warning">
          <div>
            {texts.overdue} <Time at={grace.until} />.
          </div>
        </Notice>
      )}
      <div class="grid">
        <Uses title={texts.quotas} uses={counts} />
        <Uses title={texts.rates} uses={rates} />
      </div>
    </>
  );
}

function Uses({ title, uses }: { title: string; uses: Readonly<Record<string, Use>> }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {Object.entries(uses).map(([name, use]) => (
        <Quota key={name} name={texts.names[name] ?? name} use={use} />
      ))}
    </section>
  );
}

function Quota({ name, use: { used, limit } }: { name: string; use: Use }) {
  const count = NUMBER.format(used);
  const text = limit === null ? texts.unlimited(count) : texts.use(count, NUMBER.format(limit));
  const share = limit === null ? 0 : used / Math.max(limit, 1);
  return (
    <div class="quota">
      <div class="row between">
        <span>{name}</span>
        <span class="soft">{text}</span>
      </div>
      {/* The text beside it says the same. */}
      {limit === null ? null : (
        <div class={share >= NEARLY_FULL ? 'bar full' : 'bar'} aria-hidden="true">
          <div style={{ width: `${Math.min(share, 1) * 100}%` }} />
        </div>
      )}
      {share > 1 ? <p class="soft">{texts.over}</p> : null}
    </div>
  );
}
