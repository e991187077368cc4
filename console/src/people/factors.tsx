import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import type { User } from './data.ts';
import { peopleTexts as texts } from './texts.ts';

type Factor = User['second_factors'][number];

const isTrusted = ({ opens_fortress_from }: Factor) => Date.parse(opens_fortress_from) <= Date.now();

/** In a list: what they have, or that they have nothing. */
export function FactorBadge({ factors }: { factors: readonly Factor[] }) {
  if (factors.length === 0) return <Badge tone="warning">{texts.noFactor}</Badge>;
  const kinds = (['totp', 'passkey'] as const).flatMap((kind) => {
    const count = factors.filter((each) => each.kind === kind).length;
    return count === 0 ? [] : [texts.factors[kind](count)];
  });
  return (
    <>
      {kinds.join(', ')} {factors.some(isTrusted) ? null : <Badge>{texts.newFactor}</Badge>}
    </>
  );
}

/** Each of them, with since when it is there and whether it opens fortress secrets. */
export function FactorList({ factors }: { factors: readonly Factor[] }) {
  if (factors.length === 0) return <Badge tone="warning">{texts.noFactor}</Badge>;
  return (
    <ul class="plain">
      {factors.map((factor, index) => (
        <li key={index}>
          {texts.factors[factor.kind](1)}, {texts.factorAdded} <Time at={factor.added_at} />
          {isTrusted(factor) ? (
            <>
              {' '}
              <Badge tone="good">{texts.trusted}</Badge>
            </>
          ) : (
            <>
              . {texts.opensFrom} <Time at={factor.opens_fortress_from} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
