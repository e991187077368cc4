import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { me, signOut } from '../app/api.ts';
import { type Check, useMay } from '../app/capabilities.ts';
import { href, place } from '../app/router.ts';
import { loadWaiting, waitingForMe } from '../approvals/waiting.ts';
import { Button } from '../ui/button.tsx';
import { Mark } from '../ui/mark.tsx';
import { NAVIGATION, type NavigationEntry } from './navigation.ts';
import { openPalette } from './palette.tsx';
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
    <div class="shell">
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
        <div class="nav-top">
          <a class="nav-brand" href="#/">
            <Mark /> {layoutTexts.product}
          </a>
          <span class="nav-toggle">
            <button type="button" class="button small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {layoutTexts.menu}
            </button>
          </span>
        </div>
        <div class="nav-tenant" title={person.tenant.name}>
          {person.tenant.name}
        </div>
        <div class="nav-body">
          <Button onClick={openPalette}>
            {layoutTexts.find} <kbd class="keys">{layoutTexts.paletteKeys[isMac ? 1 : 0]}</kbd>
          </Button>
          <Navigation />
          <div class="nav-foot">
            <a href={href('me')} class="soft">
              {person.user.email}
            </a>
            <div class="row">
              <Button isSmall onClick={nextTheme}>
                {layoutTexts.theme(theme.value)}
              </Button>
              <Button isSmall onClick={() => signOut()}>
                {layoutTexts.signOut}
              </Button>
            </div>
          </div>
        </div>
      </header>
      <main class="main">{children}</main>
    </div>
  );
}

function Navigation() {
  const entries = NAVIGATION.flatMap((section) => section.entries);
  const checks = Object.fromEntries(
    entries.flatMap(({ path, check }) => (check === null ? [] : [[path, check]])),
  ) as Record<string, Check>;
  const may = useMay(checks);
  const isShown = ({ path, check }: NavigationEntry) => check === null || may[path] === true;
  const [current = ''] = place.value.segments;
  const waitingCount = waitingForMe.value;
  useEffect(() => {
    // It is a reminder, so a failure is no news.
    loadWaiting().catch(() => {});
  }, []);
  const ref = useRef<HTMLElement>(null);
  const shownCount = entries.filter(isShown).length;
  useEffect(() => {
    ref.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: 'nearest' });
  }, [current, shownCount]);
  return (
    <nav ref={ref} aria-label={layoutTexts.navigation}>
      {NAVIGATION.map(({ title, entries: own }) => {
        const shown = own.filter(isShown);
        if (shown.length === 0) return null;
        return (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {shown.map(({ path, title: text }) => (
                <li key={path}>
                  <a href={href(path)} aria-current={path === current ? 'page' : undefined}>
                    {text}
                    {path === 'approvals' && waitingCount > 0 ? (
                      <span class="badge accent">
                        {waitingCount} <span class="visually-hidden">{layoutTexts.waiting(waitingCount)}</span>
                      </span>
                    ) : null}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
