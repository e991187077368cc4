import { auditAddress } from '../app/audit-address.ts';
import { isPinned, pinnedVisits, togglePin } from '../app/visits.ts';
import { FIELDS, type Filter, localTime, without } from './filter.ts';
import { filterText } from './filters.tsx';
import { auditTexts as texts } from './texts.ts';

const HOUR_MS = 3_600_000;

/** Chips that hold at once when they are pressed, and end when they are pressed again. */
export function QuickFilters({ filter, onApply }: { filter: Filter; onApply: (filter: Filter) => void }) {
  const since = (ms: number) => localTime(new Date(Date.now() - ms).toISOString());
  const isSince = (ms: number) =>
    filter.from !== undefined &&
    filter.to === undefined &&
    Math.abs(Date.parse(filter.from) - Date.now() + ms) < HOUR_MS / 4;
  const chips = [
    { text: texts.onlyRefused, name: 'decision' as const, value: 'deny', isOn: filter.decision === 'deny' },
    { text: texts.onlyFailed, name: 'decision' as const, value: 'error', isOn: filter.decision === 'error' },
    { text: texts.lastHour, name: 'from' as const, value: since(HOUR_MS), isOn: isSince(HOUR_MS) },
    { text: texts.lastWeek, name: 'from' as const, value: since(7 * 24 * HOUR_MS), isOn: isSince(7 * 24 * HOUR_MS) },
  ];
  return (
    <ul class="row chips" aria-label={texts.quick}>
      {chips.map(({ text, name, value, isOn }) => (
        <li key={text}>
          <button
            type="button"
            class="chip"
            aria-pressed={isOn}
            onClick={() => {
              const rest = name === 'from' ? without(without(filter, 'from'), 'to') : without(filter, name);
              onApply(isOn ? rest : { ...rest, [name]: value });
            }}
          >
            {text}
          </button>
        </li>
      ))}
      <SavedSearches filter={filter} />
    </ul>
  );
}

/** A search is saved as a pin of this browser, so that it is also found wherever pins are. */
function SavedSearches({ filter }: { filter: Filter }) {
  const address = auditAddress(filter);
  const title = FIELDS.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [filterText(name, value)];
  }).join(', ');
  const isSaved = isPinned(address);
  const saved = pinnedVisits.value.filter((each) => each.address.startsWith(`${auditAddress({})}?`));
  return (
    <>
      {title === '' ? null : (
        <li>
          <button
            type="button"
            class="chip"
            aria-pressed={isSaved}
            onClick={() => togglePin({ title, kind: texts.title, address })}
          >
            {isSaved ? texts.savedSearch : texts.saveSearch}
          </button>
        </li>
      )}
      {saved
        .filter((each) => each.address !== address)
        .map((each) => (
          <li key={each.address}>
            <a class="chip" href={each.address}>
              {each.title}
            </a>
          </li>
        ))}
    </>
  );
}
