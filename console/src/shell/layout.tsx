import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { me, signOut } from '../app/api.ts';
import { shownEnvironment } from '../app/environment.ts';
import { check, unreachableSince } from '../app/reachable.ts';
import { href, place } from '../app/router.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Mark } from '../ui/mark.tsx';
import { isRail, toggleRail } from './choices.ts';
import { openKeys } from './keys.tsx';
import { Navigation } from './navigation-list.tsx';
import { openPalette } from './palette.tsx';
import { TabBar } from './tab-bar.tsx';
import { layoutTexts } from './texts.ts';
import { nextTheme, theme } from './theme.ts';

/** The Mac has its shortcuts on another key. */
const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

/** The frame of every page of somebody who is signed in. */
export function Layout({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const address = place.value;
  useEffect(() => setOpen(false), [address]);
  const person = me.value;
  if (!person) return null;
  return (
    <div class={isRail.value ? 'shell rail' : 'shell'}>
      <header class={isOpen ? 'nav open' : 'nav'}>
        <a
          class="skip"
          href={href(...address.segments)}
          onClick={(event) => {
            event.preventDefault();
            document.querySelector<HTMLElement>('main h1')?.focus();
          }}
        >
          {layoutTexts.skip}
        </a>
        <a class="nav-brand" href="#/" title={person.tenant.name}>
          <Mark />
          <span>
            {layoutTexts.product}
            <small>{person.tenant.name}</small>
          </span>
        </a>
        <div class="nav-body">
          <button type="button" class="find" onClick={openPalette} title={layoutTexts.find}>
            <Icon name="search" />
            <span>{layoutTexts.find}</span> <kbd class="keys">{layoutTexts.paletteKeys[isMac ? 1 : 0]}</kbd>
          </button>
          <Navigation />
          <Foot name={person.user.name} email={person.user.email} />
        </div>
      </header>
      <div class="column">
        <ProductionBar />
        <OfflineBar />
        <main class="main">{children}</main>
      </div>
      <TabBar isMenuOpen={isOpen} onMenu={() => setOpen(!isOpen)} />
    </div>
  );
}

function Foot({ name, email }: { name: string; email: string }) {
  return (
    <div class="nav-foot">
      <a class="nav-me" href={href('me')} title={email}>
        <span class="face" aria-hidden="true">
          {initialsOf(name || email)}
        </span>
        <span>
          {name || email}
          {name === '' ? null : <small>{email}</small>}
        </span>
      </a>
      <div class="row">
        <FootButton icon={THEME_ICONS[theme.value]} text={layoutTexts.theme(theme.value)} onClick={nextTheme} />
        <FootButton icon="help" text={layoutTexts.keys.title} onClick={openKeys} />
        <FootButton
          icon="panel"
          text={isRail.value ? layoutTexts.widen : layoutTexts.narrow}
          class="rail-toggle"
          onClick={toggleRail}
        />
        <Button isSmall onClick={() => signOut()}>
          {layoutTexts.signOut}
        </Button>
      </div>
    </div>
  );
}

const THEME_ICONS = { system: 'contrast', light: 'sun', dark: 'moon' } as const;

function FootButton({
  icon,
  text,
  onClick,
  class: className = '',
}: {
  icon: Parameters<typeof Icon>[0]['name'];
  text: string;
  onClick: () => void;
  class?: string;
}) {
  return (
    <button type="button" class={`icon-button ${className}`} aria-label={text} title={text} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** At most two letters for a name or an address. */
function initialsOf(name: string): string {
  const parts = name.replace(/@.*/, '').split(/[^\p{L}\p{N}]+/u);
  return parts
    .filter(Boolean)
    .slice(0, 2)
    .map((part) => part.charAt(0).toUpperCase())
    .join('');
}

/** One message for all that fails meanwhile. What was loaded before stays readable. */
function OfflineBar() {
  const since = unreachableSince.value;
  if (since === null) return null;
  return (
    <section class="offline-bar" aria-label={layoutTexts.offline}>
      <Icon name="offline" />
      <span role="status">{layoutTexts.offlineSince(since)}</span>
      <Button isSmall onClick={() => void check()}>
        {layoutTexts.tryNow}
      </Button>
    </section>
  );
}

/** Stays in sight on every page about production. */
function ProductionBar() {
  const shown = shownEnvironment.value;
  if (shown?.environment !== 'production') return null;
  return (
    <section class="production-bar" aria-label={layoutTexts.production}>
      <Icon name="shield" />
      <strong>{layoutTexts.production}</strong>
      <span>{layoutTexts.productionText(shown.name)}</span>
    </section>
  );
}
