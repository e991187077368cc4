import { Fragment } from 'preact';
import { call } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useAction } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Empty, ErrorNote, WhenLoaded } from '../ui/notice.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { WhenAllowed } from '../ui/when-allowed.tsx';
import { attackPathTexts as texts } from './texts.ts';

const HIGH = 70;
const SOME = 40;

export default function AttackPathsPage() {
  return (
    <WhenAllowed title={texts.title} check={['attack_paths:list', 'attack-path/*']}>
      {() => <AttackPaths />}
    </WhenAllowed>
  );
}

function AttackPaths() {
  const may = useMay({ recompute: ['attack_paths:recompute', 'attack-path/*'] });
  const action = useAction();
  const paths = useCall('GET /attack-paths', { query: { limit: 100 } });
  const recompute = async () => {
    await call('POST /attack-paths/recompute', {});
    toast(texts.recomputed);
  };
  return (
    <>
      <PageHead
        title={texts.title}
        intro={texts.intro}
        actions={
          may.recompute ? (
            <Button isBusy={action.isRunning} onClick={() => action.run(recompute)}>
              {texts.recompute}
            </Button>
          ) : null
        }
      />
      <ErrorNote error={action.error} />
      <WhenLoaded of={paths}>
        {({ attack_paths: list, computed_at }) =>
          list.length === 0 ? (
            <Empty title={texts.empty}>{texts.emptyText}</Empty>
          ) : (
            <>
              <p class="soft">
                {texts.scales} {texts.computed} <Time at={computed_at} />.
              </p>
              {list.map((path) => (
                <section class="card" key={path.id}>
                  <div class="row between">
                    <h2>{texts.from(path.steps[0]?.name ?? '', path.steps.at(-1)?.name ?? '')}</h2>
                    <span class="row">
                      <Badge tone={path.score >= HIGH ? 'danger' : path.score >= SOME ? 'warning' : undefined}>
                        {texts.score(path.score)}
                      </Badge>
                    </span>
                  </div>
                  <Path steps={path.steps} weakness={path.weakness} />
                </section>
              ))}
            </>
          )
        }
      </WhenLoaded>
    </>
  );
}

interface Step {
  readonly kind: keyof typeof texts.kinds;
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly weakness: number | null;
  readonly why: string;
}

/** A chain of boxes with arrows, which wraps where the screen ends. */
function Path({ steps, weakness }: { steps: readonly Step[]; weakness: number }) {
  const weakest = steps.findIndex((step) => step.weakness === weakness);
  return (
    <ol class="path" aria-label={texts.picture(steps.map(({ name }) => name).join(', '))}>
      {steps.map((step, index) => (
        <li key={`${step.kind} ${step.id}`} class={`path-step ${step.kind}${index === weakest ? ' weakest' : ''}`}>
          {index === 0 ? null : (
            <svg class="path-arrow" viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">
              <path d="M0 6h22M17 1l6 5-6 5" fill="none" stroke="currentColor" stroke-width="2" />
            </svg>
          )}
          <div class="path-box">
            <div class="soft">
              {texts.kinds[step.kind]} · {step.type.replaceAll('_', ' ')}
            </div>
            <strong>{step.kind === 'secret' ? <SecretLink name={step.name} /> : step.name}</strong>
            <div>{step.why}</div>
            <span class="row">
              {step.weakness === null ? null : <Badge>{texts.weakness(step.weakness)}</Badge>}
              {index === weakest ? <Badge tone="warning">{texts.weakest}</Badge> : null}
            </span>
          </div>
        </li>
      ))}
    </ol>
  );
}

/** A secret is named by its vault and its path. */
function SecretLink({ name }: { name: string }) {
  const [vault = '', ...path] = name.split('/');
  if (path.length === 0) return <span>{name}</span>;
  return (
    <a href={href('vaults', vault, 'secret', ...path)}>
      <Breakable path={name} />
    </a>
  );
}

/** A path that is broken behind its slashes where it does not fit into a line. */
function Breakable({ path }: { path: string }) {
  const [first, ...others] = path.split('/');
  return (
    <>
      {first}
      {others.map((segment, index) => (
        <Fragment key={index}>
          /<wbr />
          {segment}
        </Fragment>
      ))}
    </>
  );
}
