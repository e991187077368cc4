import { useEffect, useRef } from 'preact/hooks';
import { type Factor, loadFactors, secondFactor } from '../app/api.ts';
import { type Loaded, useLoaded } from '../app/loading.ts';
import { href, withWayBack } from '../app/router.ts';
import { Button, LinkButton } from '../ui/button.tsx';
import { Notice, RequestId, WhenLoaded } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { AskTrust } from './ask-trust.tsx';
import { fortressTexts as texts } from './texts.ts';

const nameOf = ({ passkey }: Factor) => (passkey === null ? texts.app : texts.passkey(passkey));
const isReady = ({ opensFrom }: Factor) => Date.parse(opensFrom) <= Date.now();

/** For a form that makes a fortress secret: the second factors of the person who fills it in; null while it makes another one. */
export function useOwnFactors(isFortress: boolean): Loaded<readonly Factor[] | null> {
  return useLoaded(async (signal) => (isFortress ? loadFactors(signal) : null), [isFortress]);
}

/** Which of them open fortress secrets, or what to do while none does. `instead` is what the person can do without one. */
export function OwnFactors({ factors, instead }: { factors: Loaded<readonly Factor[] | null>; instead?: string }) {
  return (
    <WhenLoaded of={factors}>
      {(list) =>
        list?.some(isReady) ? (
          <Notice>
            {texts.mine}
            <FactorList factors={list} />
          </Notice>
        ) : (
          <section class="note warning" aria-label={texts.tooEarly}>
            <h3>{texts.tooEarly}</h3>
            <p>{texts.rule}</p>
            <NextStep factors={list ?? []} />
            {instead === undefined ? null : <p>{instead}</p>}
          </section>
        )
      }
    </WhenLoaded>
  );
}

function FactorList({ factors }: { factors: readonly Factor[] }) {
  if (factors.length === 0) return null;
  return (
    <ul>
      {factors.map((factor) => (
        <li key={nameOf(factor)}>
          {isReady(factor) ? (
            texts.opensNow(nameOf(factor))
          ) : (
            <>
              {texts.opensFrom(nameOf(factor))} <Time at={factor.opensFrom} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Shown for a request that takes a second factor that is a day old: why, and what the person can do now. */
export default function FortressHelp({ requestId }: { requestId: string | null }) {
  const factors = useLoaded(loadFactors, []);
  const ref = useRef<HTMLElement>(null);
  // In a long form it is below what can be seen.
  useEffect(() => ref.current?.scrollIntoView({ block: 'nearest' }), [factors.isLoading]);
  return (
    <section ref={ref} class="note warning" aria-label={texts.refused} role="alert">
      <h3>{texts.refused}</h3>
      <p>{texts.rule}</p>
      <WhenLoaded of={factors}>{(list) => <NextStep factors={list} />}</WhenLoaded>
      <RequestId of={requestId} />
    </section>
  );
}

function NextStep({ factors }: { factors: readonly Factor[] }) {
  if (factors.length === 0) {
    return (
      <>
        <p>{texts.none}</p>
        <div>
          <LinkButton href={withWayBack(href('me'))}>{texts.addFactor}</LinkButton>
        </div>
      </>
    );
  }
  const ready = factors.filter(isReady);
  return ready.length > 0 ? <ShowOne factors={ready} /> : <AskForTrust factors={factors} />;
}

function ShowOne({ factors }: { factors: readonly Factor[] }) {
  const show = async () => {
    if (await secondFactor.ask('factor')) toast(texts.shown);
  };
  return (
    <>
      <p>{texts.ready}</p>
      <ul>
        {factors.map((factor) => (
          <li key={nameOf(factor)}>{nameOf(factor)}</li>
        ))}
      </ul>
      <div>
        <Button onClick={() => void show()}>{texts.show}</Button>
      </div>
    </>
  );
}

function AskForTrust({ factors }: { factors: readonly Factor[] }) {
  return (
    <>
      <p>{texts.isNew}</p>
      <FactorList factors={factors} />
      <AskTrust areAllNew />
    </>
  );
}
