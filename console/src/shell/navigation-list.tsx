import { useEffect, useRef } from 'preact/hooks';
import { type Check, useMay } from '../app/capabilities.ts';
import { href, place } from '../app/router.ts';
import { Icon } from '../ui/icon.tsx';
import { closedGroups, isRail, toggleGroup } from './choices.ts';
import { NAVIGATION, type NavigationEntry, type NavigationPage, navigationEntries } from './navigation.ts';
import { layoutTexts } from './texts.ts';
import { loadCounts, waitingAt } from './waiting.ts';

export function Navigation() {
  const entries = navigationEntries();
  const checks = Object.fromEntries(
    entries.flatMap(({ path, check }) => (check === null ? [] : [[path, check]])),
  ) as Record<string, Check>;
  const may = useMay(checks);
  const isShown = ({ path, check }: NavigationEntry) => check === null || may[path] === true;
  const [current = ''] = place.value.segments;
  useEffect(loadCounts, []);
  const ref = useRef<HTMLElement>(null);
  const shownCount = entries.filter(isShown).length;
  useEffect(() => {
    ref.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: 'nearest' });
  }, [current, shownCount]);
  return (
    <nav ref={ref} aria-label={layoutTexts.navigation}>
      {NAVIGATION.map(({ name, title, entries: own }) => {
        const shown = own.filter(isShown);
        if (shown.length === 0) return null;
        // The page that is open is never hidden, and a rail has no heads to open groups by.
        const isOpen = title === null || isRail.value || !closedGroups.value.has(name);
        const seen = isOpen ? shown : shown.filter(({ path }) => path === current || waitingAt(path) !== null);
        return (
          <div key={name} class={`nav-group ${name}`}>
            {title === null ? null : (
              <h2>
                <button type="button" aria-expanded={isOpen} onClick={() => toggleGroup(name)}>
                  <Icon name="chevronDown" />
                  {title}
                </button>
              </h2>
            )}
            <ul>
              {seen.map((entry) => (
                <Entry key={entry.path} entry={entry} isCurrent={entry.path === current} />
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function Entry({ entry: { path, title, icon }, isCurrent }: { entry: NavigationPage; isCurrent: boolean }) {
  return (
    <li>
      <a href={href(path)} aria-current={isCurrent ? 'page' : undefined} title={isRail.value ? title : undefined}>
        <Icon name={icon} />
        <span>{title}</span>
        <Count path={path} />
      </a>
    </li>
  );
}

export function Count({ path }: { path: string }) {
  const waiting = waitingAt(path);
  if (waiting === null) return null;
  return (
    <span class={waiting.isBad ? 'count bad' : 'count'}>
      {waiting.count} <span class="visually-hidden">{waiting.text}</span>
    </span>
  );
}
