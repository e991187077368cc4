import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const STORED = 'coffer-theme';
const moreContrast = matchMedia('(prefers-contrast: more)');

export const theme = signal<Theme>('system');

/** Colours follow the system unless the person chose, and contrast always does. */
export function applyStoredTheme(): void {
  const stored = localStorage.getItem(STORED);
  apply(THEMES.find((each) => each === stored) ?? 'system');
  moreContrast.addEventListener('change', applyContrast);
  applyContrast();
}

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(STORED, next);
  apply(next);
}

function apply(chosen: Theme): void {
  theme.value = chosen;
  setAtRoot('theme', chosen === 'system' ? null : chosen);
}

function applyContrast(): void {
  setAtRoot('contrast', moreContrast.matches ? 'more' : null);
}

function setAtRoot(name: 'theme' | 'contrast', value: string | null): void {
  const { dataset } = document.documentElement;
  if (value === null) delete dataset[name];
  else dataset[name] = value;
}
