import { href } from '../app/router.ts';
import { Icon } from '../ui/icon.tsx';
import { activityTexts as texts } from './activity-texts.ts';
import { weeksFrom } from './weeks.ts';

/** Something that happens to a secret at a time. */
export interface DueSecret {
  readonly vault: string;
  readonly path: string;
  readonly environment: string;
  readonly at: string;
  readonly kind: 'rotation' | 'expiry';
}

const DAY_MS = 86_400_000;
const SHOWN = 2;
/** Until then production is drawn at full strength: something is about to happen. */
const SOON_MS = 2 * DAY_MS;
const WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'short' });
const DATE = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

export default function Calendar({ due, now = new Date() }: { due: readonly DueSecret[]; now?: Date }) {
  const weeks = weeksFrom(now);
  const byDay = Map.groupBy(due, ({ at }) => new Date(at).toDateString());
  const isEmpty = !weeks.flat().some((day) => byDay.has(day.toDateString()));
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.rotations}</h2>
        <span class="row soft">
          <span class="row">
            <Icon name="rotate" /> {texts.rotates}
          </span>
          <span class="row">
            <Icon name="certificate" /> {texts.ends}
          </span>
        </span>
      </div>
      {isEmpty ? (
        <p>{texts.nothingDue}</p>
      ) : (
        <table class="calendar">
          <caption class="visually-hidden">{texts.calendar}</caption>
          <thead>
            <tr>
              {weeks[0]?.map((day) => (
                <th key={day.getDay()} scope="col">
                  {WEEKDAY.format(day)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {weeks.map((week) => (
              <tr key={week[0]?.toISOString()}>
                {week.map((day) => (
                  <Day key={day.toISOString()} day={day} now={now} due={byDay.get(day.toDateString()) ?? []} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Day({ day, now, due }: { day: Date; now: Date; due: readonly DueSecret[] }) {
  const isToday = day.toDateString() === now.toDateString();
  const isPast = !isToday && day < now;
  return (
    <td class={`${isPast ? 'past' : ''}${due.length === 0 ? ' free' : ''}`}>
      <div class={isToday ? 'day today' : 'day'}>
        <span class="day-name">{WEEKDAY.format(day)} </span>
        {day.getDate() === 1 ? DATE.format(day) : day.getDate()}
        {isToday ? <span class="visually-hidden"> {texts.today}</span> : null}
      </div>
      {due.slice(0, SHOWN).map((each) => (
        <DueLink key={`${each.vault}/${each.path} ${each.kind}`} due={each} now={now} />
      ))}
      {due.length > SHOWN ? <div class="faint">{texts.others(due.length - SHOWN)}</div> : null}
    </td>
  );
}

function DueLink({ due: { vault, path, environment, at, kind }, now }: { due: DueSecret; now: Date }) {
  const isSoon = Date.parse(at) - now.getTime() < SOON_MS;
  const what = kind === 'rotation' ? texts.rotates : texts.ends;
  return (
    <a
      class={`due env ${environment}${isSoon ? '' : ' quiet'}`}
      href={href('vaults', vault, 'secret', path)}
      title={`${vault}/${path}: ${what}`}
    >
      <Icon name={kind === 'rotation' ? 'rotate' : 'certificate'} />
      <span class="visually-hidden">{what}: </span>
      <span class="due-name">{`${vault}/${path}`}</span>
    </a>
  );
}
