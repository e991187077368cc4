import { href, place } from '../app/router.ts';
import { Icon } from '../ui/icon.tsx';
import { Count } from './navigation-list.tsx';
import { openPalette } from './palette.tsx';
import { layoutTexts } from './texts.ts';

const TABS = [
  { path: '', title: layoutTexts.pages.home, icon: 'home' },
  { path: 'vaults', title: layoutTexts.pages.vaults, icon: 'vaults' },
  { path: 'approvals', title: layoutTexts.pages.approvals, icon: 'approvals' },
] as const;

/** At the thumb of a phone: where people go there, and all else behind the last. */
export function TabBar({ isMenuOpen, onMenu }: { isMenuOpen: boolean; onMenu: () => void }) {
  const [current = ''] = place.value.segments;
  return (
    <nav class="tab-bar" aria-label={layoutTexts.tabBar}>
      {TABS.map(({ path, title, icon }) => (
        <a key={path} href={href(path)} aria-current={path === current ? 'page' : undefined}>
          <Icon name={icon} />
          {title}
          <Count path={path} />
        </a>
      ))}
      <button type="button" onClick={openPalette}>
        <Icon name="search" />
        {layoutTexts.find}
      </button>
      <button type="button" aria-expanded={isMenuOpen} onClick={onMenu}>
        <Icon name="menu" />
        {layoutTexts.menu}
      </button>
    </nav>
  );
}
